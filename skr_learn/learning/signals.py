"""Signals and Training: what is known before retrieval, and what was measured, as arrays."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import InputError
from skr_core.types import Action, Stamp
from skr_learn.learning.answer_features import DRAFT_FEATURES, draft_features
from skr_learn.learning.observed import Observed
from skr_learn.learning.outcomes import ActionTable
from skr_learn.learning.question_features import QUESTION_FEATURES, question_features
from skr_learn.learning.rows import Floats, Rows, embed_texts
from skr_learn.self_knowledge.records import SelfKnowledge

if TYPE_CHECKING:
    from skr_core.ports import Embedder
    from skr_learn.learning.rows import Matrix

NO_DRAFT = "none"
"""Embedded in place of an empty answer, so that all of them are alike."""


def texts_of(observed: Sequence[Observed], drafts: bool) -> list[str]:
    """The texts to embed: the questions, followed by the drafts where a router looks at them."""
    questions = [each.question for each in observed]
    return questions + [each.draft or NO_DRAFT for each in observed] if drafts else questions


@dataclass(frozen=True)
class Signals:
    """What is known of n questions before retrieval.

    Attributes:
        question: Embeddings, shape (n, d).
        features: Shape (n, 32), or (n, 60) with the drafts'; (n, 0) where they are left out.
        draft: Embeddings of the direct answers; None where the questions alone are looked at.
        confidence: In the direct answers, shape (n,), NaN where not stated; None as above.
    """

    question: Rows
    features: Floats
    draft: Rows | None = None
    confidence: Floats | None = None

    @classmethod
    def of(
        cls,
        observed: Sequence[Observed],
        embedder: Embedder,
        *,
        drafts: bool = True,
        features: bool = True,
    ) -> Signals:
        """Embed and measure.

        Args:
            observed: The questions, with their direct answers where `drafts` is set.
            embedder: For questions and answers.
            drafts: Look at the direct answers too.
            features: Measure them; without drafts a router may do with the vectors alone.

        Example:
            >>> from skr_core.models.embedders import HashingEmbedder
            >>> Signals.of([Observed("Who?", "Ada")], HashingEmbedder()).features.shape
            (1, 60)
        """
        vectors = embed_texts(embedder, texts_of(observed, drafts))
        return cls.of_vectors(observed, vectors, drafts=drafts, features=features)

    @classmethod
    def of_vectors(
        cls, observed: Sequence[Observed], vectors: Matrix, *, drafts: bool, features: bool = True
    ) -> Signals:
        """Signals from observations and the vectors of their `texts_of`."""
        n, rows = len(observed), Rows(vectors)
        if not (drafts or features):
            return cls(rows, np.zeros((n, 0)))
        asked = np.array([question_features(each.question) for each in observed])
        asked = asked.reshape(n, len(QUESTION_FEATURES))
        if not drafts:
            return cls(rows, asked)
        said = [
            draft_features(each.question, each.draft or "", each.reasoning) for each in observed
        ]
        stated = [np.nan if each.confidence is None else each.confidence for each in observed]
        return cls(
            rows[:n],
            np.hstack([asked, np.array(said).reshape(n, len(DRAFT_FEATURES))]),
            rows[n:],
            np.array(stated, dtype=np.float64),
        )

    def __len__(self) -> int:
        return len(self.question)

    def __getitem__(self, chosen: Any) -> Signals:
        return Signals(
            self.question[chosen],
            self.features[chosen],
            None if self.draft is None else self.draft[chosen],
            None if self.confidence is None else self.confidence[chosen],
        )

    @property
    def without_drafts(self) -> Signals:
        """The signals of the questions alone."""
        return Signals(self.question, self.features[:, : len(QUESTION_FEATURES)])

    @contextmanager
    def compared_once(self) -> Iterator[None]:
        """Within this block parts of up to 10,000 signals are not multiplied anew in every fold."""
        with ExitStack() as stack:
            for rows in (self.question, self.draft):
                if rows is not None:
                    stack.enter_context(rows.multiplied_once())
            yield

    def concatenated(self, more: Signals) -> Signals:
        """These signals followed by more of the same kind."""
        return Signals(
            self.question.concatenated(more.question),
            np.concatenate([self.features, more.features]),
            self.draft.concatenated(more.draft) if self.draft and more.draft else None,
            None
            if self.confidence is None or more.confidence is None
            else np.concatenate([self.confidence, more.confidence]),
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The signals as plain arrays, for a file."""
        found = self.question.arrays("question") | {"features": self.features}
        if self.draft is not None and self.confidence is not None:
            found |= self.draft.arrays("draft") | {"confidence": self.confidence}
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Signals:
        """Signals from what `arrays` returned."""
        question = Rows.from_arrays("question", arrays)
        if "confidence" not in arrays:
            return cls(question, arrays["features"])
        draft = Rows.from_arrays("draft", arrays)
        return cls(question, arrays["features"], draft, arrays["confidence"])


@dataclass(frozen=True)
class Training:
    """Records of self-knowledge as arrays.

    Attributes:
        signals: What was known before retrieval.
        table: Score and cost of each action.
        records: Themselves, as an array of objects, shape (n,).
        groups: Equal numbers for equal questions, shape (n,): they stay on the same side of every
            split, because a router that was fitted on a question cannot be judged by it.
        stamp: What all records share; a field in which they differ is empty.
    """

    signals: Signals
    table: ActionTable
    records: NDArray[np.object_]
    groups: NDArray[np.int64]
    stamp: Stamp

    @classmethod
    def of(
        cls,
        records: Sequence[SelfKnowledge],
        embedder: Embedder,
        *,
        drafts: bool = True,
        table: ActionTable | None = None,
    ) -> Training:
        """Embed and measure what the records' questions and direct answers show.

        Args:
            records: Of self-knowledge.
            embedder: For questions and answers.
            drafts: Look at the direct answers too.
            table: Their outcomes; by default those of the actions that every record holds.

        Raises:
            InputError: There is no record.
        """
        if not records:
            raise InputError("a router is fitted on records of self-knowledge; none were given")
        observed = [Observed.in_record(record) for record in records]
        kept = np.empty(len(records), dtype=object)
        kept[:] = records
        return cls(
            Signals.of(observed, embedder, drafts=drafts),
            ActionTable.of(records) if table is None else table,
            kept,
            groups_of(records),
            shared_stamp(records),
        )

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, chosen: Any) -> Training:
        return replace(
            self,
            signals=self.signals[chosen],
            table=self.table[chosen],
            records=self.records[chosen],
            groups=self.groups[chosen],
        )

    @property
    def questions(self) -> NDArray[np.object_]:
        """Their texts, shape (n,)."""
        return np.array([record.question for record in self.records], dtype=object)

    @property
    def direct(self) -> Floats:
        """Scores of the direct answers, shape (n,)."""
        return self.table.scores[:, 0]

    @property
    def retrieved(self) -> Floats:
        """Scores of the best retrieving action, shape (n,)."""
        return self.table.scores[:, self.table.retrieving]

    @property
    def benefit(self) -> Floats:
        """Score of the best retrieving action minus that of the direct answer, shape (n,)."""
        return self.retrieved - self.direct

    @property
    def without_drafts(self) -> Training:
        """The same records with the signals of their questions alone."""
        return replace(self, signals=self.signals.without_drafts)

    def of_actions(self, actions: Sequence[Action]) -> Training:
        """The same records with the outcomes of some actions alone."""
        return replace(self, table=self.table.of_actions(actions))

    @property
    def informative(self) -> Training:
        """Without the records that no answer got right (SKR §3.1)."""
        return self[np.flatnonzero((self.direct > 0) | (self.retrieved > 0))]

    @property
    def unknown(self) -> NDArray[np.bool_]:
        """Which direct answers are worse than the ones with retrieval (SKR equation 4)."""
        return self.direct < self.retrieved


def shared_stamp(records: Sequence[SelfKnowledge]) -> Stamp:
    """What all records were made with; a field in which they differ is empty.

    Example:
        >>> answers = {"direct": ("", 0), "single": ("", 0)}
        >>> a = SelfKnowledge.of("a?", stamp=Stamp(model="m", retriever="r"), **answers)
        >>> b = SelfKnowledge.of("b?", stamp=Stamp(model="m", retriever="s"), **answers)
        >>> shared_stamp([a, b]).model, shared_stamp([a, b]).retriever
        ('m', '')
    """
    values = {f.name: {getattr(each.stamp, f.name) for each in records} for f in fields(Stamp)}
    return Stamp(**{name: min(found) for name, found in values.items() if len(found) == 1})


def groups_of(records: Sequence[SelfKnowledge]) -> NDArray[np.int64]:
    """Equal numbers for equal questions, shape (n,).

    Example:
        >>> who = {"direct": ("", 0), "single": ("", 0)}
        >>> asked = [SelfKnowledge.of(text, **who) for text in ("Who?", "When?", "who")]
        >>> groups_of(asked).tolist()
        [1, 0, 1]
    """
    words = [" ".join(re.findall(r"\w+", record.question.lower())) for record in records]
    groups: NDArray[np.int64] = np.unique(words, return_inverse=True)[1]
    return groups
