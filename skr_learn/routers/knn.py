"""KNNRouter: what happened to the nearest recorded questions (SKR §3.2, Figure 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import InputError
from skr_core.models.embedders import HashingEmbedder
from skr_core.ports import Embedder
from skr_core.types import Action, Effect, Neighbour
from skr_learn.learning.nearest import ASKED, nearest
from skr_learn.learning.rows import Floats, Rows
from skr_learn.learning.searched import SearchedRows
from skr_learn.learning.signals import Signals, Training
from skr_learn.routers.fitted import FittedRouter, pack_texts, scored, unpack_texts
from skr_learn.self_knowledge.records import SelfKnowledge

Rule = Literal["paper", "benefit"]

PAPER_K = range(3, 11)
"""SKR §4 takes k from 3 to 10, by the size of the data set."""
BENEFIT_K = range(10, 101)
"""A quarter of the records within these: a mean benefit is mostly noise, so many are needed."""
TRIED = 2_000
"""Records on which k is chosen: comparing each of 100,000 with all would take an hour."""
SHOWN = 10
"""Neighbours that a decision names."""


class KNNRouter(FittedRouter):
    """Compares a question with those on record; make one with `fit`.

    Rule ``paper``: with l known among the k nearest, a question is known iff l/(k-l) >= m/n, where
    m and n are the numbers of known and unknown questions on record; records that no answer
    got right do not count. The score is the share of unknown neighbours minus that of all records.

    Rule ``benefit``: the mean measured benefit of retrieval over the k nearest, weighted by
    similarity, against a threshold. All records count.

    Retrieving is the best retrieving action of the records, ``single`` or ``loop``.

    Example:
        >>> known = [
        ...     SelfKnowledge.of(f"What is {n} plus 1?", direct=("", 1), single=("", 0))
        ...     for n in range(4)
        ... ]
        >>> unknown = [
        ...     SelfKnowledge.of(f"Who is CEO of {x} Inc?", direct=("", 0), single=("", 1))
        ...     for x in "AB"
        ... ]
        >>> router = KNNRouter.fit(known + unknown, k=2)
        >>> decision = router.decide("Who is CEO of C Inc?")
        >>> decision.retrieve, decision.neighbours[0].effect
        (True, 'helps')
    """

    kind: ClassVar[str] = "knn"
    features: ClassVar[bool] = False

    def __init__(
        self,
        rows: SearchedRows,
        benefit: Floats,
        questions: NDArray[np.object_],
        *,
        rule: Rule,
        k: int,
        **parts: Any,
    ) -> None:
        super().__init__(**parts)
        self.rule, self.k = rule, k
        self._rows, self._benefit, self._questions = rows, benefit, questions
        self._last: tuple[Rows, tuple[NDArray[np.int64], Floats]] | None = None

    @classmethod
    def fit(
        cls,
        records: Sequence[SelfKnowledge],
        *,
        embedder: Embedder | None = None,
        rule: Rule = "paper",
        k: int | None = None,
        threshold: float = 0.0,
        approximate: bool | None = None,
    ) -> Self:
        """Remember the records.

        Args:
            records: Of self-knowledge.
            embedder: For the questions; a `HashingEmbedder` by default.
            rule: See above.
            k: Neighbours that are asked, fewer where there are not as many. Chosen by leave-one-out
                from 3 to 10 for the paper's rule, by the number of records for the other.
            threshold: Retrieval happens where the score is above it.
            approximate: Search along a graph, which finds about 99 of 100 neighbours, in place of
                comparing with every record. By default from 100,000 records, where the embedder
                is dense and ``skr-rag[nearest]`` installed.

        Raises:
            InputError: There is no such rule, `k` is not positive, or no record can be used; or a
                graph is asked for with an embedder that has a sparse form.
            MissingDependency: It is asked for, and the extra is not installed.
        """
        if rule not in get_args(Rule):
            raise InputError(f"no rule {rule!r}: give one of {', '.join(get_args(Rule))}")
        if k is not None and k < 1:
            raise InputError(f"k must be at least 1, not {k}")
        embedder = embedder or HashingEmbedder()
        training = Training.of(records, embedder, drafts=False)
        return cls.of_training(
            training, embedder, rule=rule, k=k, threshold=threshold, approximate=approximate
        )

    @classmethod
    def of_training(
        cls,
        training: Training,
        embedder: Embedder,
        *,
        rule: Rule = "paper",
        k: int | None = None,
        threshold: float = 0.0,
        approximate: bool | None = None,
    ) -> Self:
        """The same as `fit`, when the records have been embedded already."""
        if rule == "paper":
            training = training.informative
            if not len(training):
                raise InputError("no answer is right on any record, so nothing is known")
            chosen = k or paper_k(training)
        else:
            chosen = k or min(max(len(training) // 4, BENEFIT_K.start), BENEFIT_K.stop - 1)
        return cls(
            SearchedRows.of(training.signals.question, chosen, approximate),
            training.benefit,
            training.questions,
            rule=rule,
            k=chosen,
            embedder=embedder,
            stamp=training.stamp,
            actions=training.table.pair.actions,
            price=threshold,
            unit=training.table.unit,
        )

    def expected(self, signals: Signals) -> tuple[Floats, Floats]:
        """The score of the rule for retrieval, at a cost of 1."""
        return scored(self._score(*self._nearest(signals)))

    def _score(self, nearest: NDArray[np.int64], similarity: Floats) -> Floats:
        benefit = self._benefit[nearest]
        if self.rule == "benefit":
            weights = np.maximum(similarity, 1e-6)  # unlike all: all count the same
            weighted: Floats = (weights * benefit).sum(axis=1) / weights.sum(axis=1)
            return weighted
        return paper_score((benefit > 0).sum(axis=1), benefit.shape[1], self._benefit > 0)

    def _reason(self, signals: Signals, score: float, threshold: float, action: Action) -> str:
        benefit = self._benefit[self._nearest(signals)[0][0]]
        if self.rule == "paper":
            return (
                f"{int((benefit > 0).sum())} of the {len(benefit)} nearest questions needed "
                f"references, where {float((self._benefit > 0).mean()):.0%} of all did"
            )
        return (
            f"retrieval changed the accuracy of the {len(benefit)} nearest questions "
            f"by {score:+.3f}, and pays above {threshold:+.3f}"
        )

    def _neighbours(self, signals: Signals) -> tuple[Neighbour, ...]:
        found, similarity = (each[0, :SHOWN] for each in self._nearest(signals))
        shown = (self._questions[found], similarity.tolist(), self._benefit[found].tolist())
        return tuple(map(neighbour, *shown))

    def _nearest(self, signals: Signals) -> tuple[NDArray[np.int64], Floats]:
        """Indices and cosines of the records that are asked, shape (n, k) each."""
        asked, last = signals.question, self._last
        if last is not None and last[0] is asked:
            return last[1]
        found = self._rows.search(asked, self.k)
        # A decision needs them for its score, for its reason and as its evidence.
        self._last = (asked, found) if len(asked) == 1 else None
        return found

    def _learn(self, training: Training) -> None:
        training = training[np.flatnonzero(np.isfinite(training.benefit))]
        if self.rule == "paper":
            training = training.informative
        self._rows, self._last = self._rows.grown(training.signals.question, self.k), None
        self._benefit = np.concatenate([self._benefit, training.benefit])
        self._questions = np.concatenate([self._questions, training.questions])

    def _saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        arrays: dict[str, NDArray[Any]] = {
            "benefit": self._benefit,
            "questions": pack_texts(self._questions),
        }
        parameters = {"rule": self.rule, "k": self.k, "approximate": self._rows.approximate}
        return parameters, arrays | self._rows.arrays()

    @classmethod
    def _restored(
        cls, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], **parts: Any
    ) -> Self:
        return cls(
            SearchedRows.from_arrays(arrays, parameters.get("approximate")),
            arrays["benefit"],
            unpack_texts(arrays["questions"]),
            rule=parameters["rule"],
            k=parameters["k"],
            **parts,
        )


def paper_score(unknown: NDArray[Any], k: int, all_unknown: NDArray[np.bool_]) -> Floats:
    """The share of unknown neighbours minus that of all records: above 0 iff l/(k-l) < m/n.

    In whole numbers up to the last division, so that equality is exact. Where every record is
    unknown the paper's fraction would call each question known; here each is unknown.

    Args:
        unknown: Neighbours that needed references, k - l, shape (n,).
        k: Neighbours.
        all_unknown: Of all records, shape (m + n,).

    Example:
        >>> paper_score(np.array([0, 1, 2]), 2, np.array([True, False])).tolist()
        [-0.5, 0.0, 0.5]
    """
    n = int(all_unknown.sum())
    m = len(all_unknown) - n
    if m == 0:
        return np.ones(len(unknown))
    return np.asarray((unknown * m - (k - unknown) * n) / (k * (m + n)), dtype=np.float64)


def paper_k(training: Training) -> int:
    """The k from 3 to 10 by which most questions would have been answered right, each left out."""
    some = np.random.default_rng(0).permutation(len(training))[:TRIED]
    rows, most = training.signals.question, PAPER_K.stop - 1
    unknown = training.unknown
    right = dict.fromkeys(PAPER_K, 0.0)
    # Equal questions are nearest and do not count, so as many more are searched.
    spare = int(np.bincount(training.groups).max())
    for start in range(0, len(some), ASKED):
        asked = some[start : start + ASKED]
        found, _ = nearest(rows, rows[asked], most + spare)
        same = training.groups[found] == training.groups[asked][:, None]
        order = np.argsort(same, axis=1, kind="stable")  # others first, still by similarity
        others = np.take_along_axis(found, order, axis=1)
        for k in PAPER_K:
            chosen = others[:, :k]
            retrieve = paper_score(unknown[chosen].sum(axis=1), chosen.shape[1], unknown) > 0
            right[k] += np.where(retrieve, training.retrieved[asked], training.direct[asked]).sum()
    return max(PAPER_K, key=lambda k: right[k])


def neighbour(question: str, similarity: float, benefit: float) -> Neighbour:
    """A record as evidence.

    Example:
        >>> neighbour("Who?", 0.5, 1.0).effect
        'helps'
    """
    effect: Effect = "helps" if benefit > 0 else "hurts" if benefit < 0 else "same"
    return Neighbour(str(question), float(similarity), effect, float(benefit))


def cosines(these: Rows, those: Rows) -> Floats:
    """Cosines, shape (these, those), never beyond ±1 by a rounding error."""
    return np.clip(these.dot(those), -1.0, 1.0)
