"""Signals and Training: what is known before retrieval, and what happened then, as arrays."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import InputError
from skr_core.learning.answer_features import DRAFT_FEATURES, draft_features
from skr_core.learning.observed import Observed
from skr_core.learning.question_features import QUESTION_FEATURES, question_features
from skr_core.learning.rows import Floats, Rows, TextEmbedder
from skr_core.self_knowledge.records import SelfKnowledge, Stamp

if TYPE_CHECKING:
    from skr_core.learning.rows import Matrix

NO_DRAFT = "none"
"""Embedded in the place of an empty answer, so that all of them are alike."""


def texts_of(observed: Sequence[Observed], drafts: bool) -> list[str]:
    """What has to be embedded: the questions, followed by the drafts where they are looked at."""
    questions = [each.question for each in observed]
    return questions + [each.draft or NO_DRAFT for each in observed] if drafts else questions


@dataclass(frozen=True)
class Signals:
    """What is known of n questions before retrieval.

    Attributes:
        question: Embeddings, shape (n, d).
        features: Shape (n, 34), or (n, 62) with the drafts'.
        draft: Embeddings of the direct answers; None where the questions alone are looked at.
        confidence: In the direct answers, shape (n,), NaN where not stated; None as above.
    """

    question: Rows
    features: Floats
    draft: Rows | None = None
    confidence: Floats | None = None

    @classmethod
    def of(
        cls, observed: Sequence[Observed], embedder: TextEmbedder, *, drafts: bool = True
    ) -> Signals:
        """Embed and measure.

        Args:
            observed: The questions, with their direct answers where `drafts` is set.
            embedder: For questions and answers.
            drafts: Look at the direct answers too.

        Example:
            >>> from skr_core.models.ngrams import NgramEmbedder
            >>> Signals.of([Observed("Who?", "Ada")], NgramEmbedder()).features.shape
            (1, 62)
        """
        return cls.of_vectors(observed, embedder.embed(texts_of(observed, drafts)), drafts=drafts)

    @classmethod
    def of_vectors(cls, observed: Sequence[Observed], vectors: Matrix, *, drafts: bool) -> Signals:
        """Measure, when the vectors of `texts_of` are there already."""
        n, rows = len(observed), Rows(vectors)
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
        """The same questions, looked at alone."""
        return Signals(self.question, self.features[:, : len(QUESTION_FEATURES)])

    def and_also(self, more: Signals) -> Signals:
        """These followed by more of the same kind."""
        return Signals(
            self.question.and_also(more.question),
            np.concatenate([self.features, more.features]),
            self.draft.and_also(more.draft) if self.draft and more.draft else None,
            None
            if self.confidence is None or more.confidence is None
            else np.concatenate([self.confidence, more.confidence]),
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """As plain arrays, for a file."""
        found = self.question.arrays("question") | {"features": self.features}
        if self.draft is not None and self.confidence is not None:
            found |= self.draft.arrays("draft") | {"confidence": self.confidence}
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Signals:
        """What `arrays` was made of."""
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
        direct: Scores of the direct answers, shape (n,).
        augmented: Scores of the augmented answers, shape (n,).
        questions: Their texts.
        groups: Equal numbers for equal questions, shape (n,): they are never parted, because a
            question judged by a router that saw it elsewhere is not unseen.
        stamp: What all records share; a field in which they differ is empty.
    """

    signals: Signals
    direct: Floats
    augmented: Floats
    questions: NDArray[np.object_]
    groups: NDArray[np.int64]
    stamp: Stamp

    @classmethod
    def of(
        cls, records: Sequence[SelfKnowledge], embedder: TextEmbedder, *, drafts: bool = True
    ) -> Training:
        """Embed and measure what the records' questions and direct answers show.

        Raises:
            InputError: There is no record.
        """
        if not records:
            raise InputError("a router is fitted on records of self-knowledge; none were given")
        observed = [Observed.in_record(record) for record in records]
        texts = [record.question for record in records]
        return cls(
            Signals.of(observed, embedder, drafts=drafts),
            np.array([record.direct_score for record in records]),
            np.array([record.augmented_score for record in records]),
            np.array(texts, dtype=object),
            np.unique([_words(text) for text in texts], return_inverse=True)[1],
            shared_stamp(records),
        )

    def __len__(self) -> int:
        return len(self.direct)

    def __getitem__(self, chosen: Any) -> Training:
        return Training(
            self.signals[chosen],
            self.direct[chosen],
            self.augmented[chosen],
            self.questions[chosen],
            self.groups[chosen],
            self.stamp,
        )

    @property
    def benefit(self) -> Floats:
        """Augmented minus direct score, shape (n,)."""
        return self.augmented - self.direct

    @property
    def without_drafts(self) -> Training:
        """The same records, their questions looked at alone."""
        return Training(
            self.signals.without_drafts,
            self.direct,
            self.augmented,
            self.questions,
            self.groups,
            self.stamp,
        )

    @property
    def telling(self) -> Training:
        """Without the records that neither answer got right (SKR §3.1)."""
        return self[np.flatnonzero((self.direct > 0) | (self.augmented > 0))]

    @property
    def unknown(self) -> NDArray[np.bool_]:
        """Which direct answers are worse than the augmented ones (SKR equation 4)."""
        return self.direct < self.augmented


def shared_stamp(records: Sequence[SelfKnowledge]) -> Stamp:
    """What all records were made with; a field in which they differ is empty.

    Example:
        >>> a = SelfKnowledge("a?", (), "", "", 0, 0, Stamp(model="m", retriever="r"))
        >>> b = SelfKnowledge("b?", (), "", "", 0, 0, Stamp(model="m", retriever="s"))
        >>> shared_stamp([a, b]).model, shared_stamp([a, b]).retriever
        ('m', '')
    """
    values = {f.name: {getattr(each.stamp, f.name) for each in records} for f in fields(Stamp)}
    return Stamp(**{name: min(found) for name, found in values.items() if len(found) == 1})


def _words(question: str) -> str:
    return " ".join(re.findall(r"\w+", question.lower()))
