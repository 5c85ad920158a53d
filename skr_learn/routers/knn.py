"""KNNRouter: what happened to the nearest recorded questions (SKR §3.2, Figure 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import InputError
from skr_core.models.embedders import HashingEmbedder
from skr_core.types import Effect, Neighbour
from skr_learn.records import Record, question_key
from skr_learn.routers.base import Arrays, Floats, Learnt, QuestionRouter

if TYPE_CHECKING:
    from skr_core.ports import Embedder, Vectors

Rule = Literal["paper", "benefit"]

PAPER_K = range(3, 11)
"""SKR §4 takes k from 3 to 10, by the size of the data set."""
BENEFIT_K = range(10, 101)
"""A quarter of the records within these: a mean benefit is mostly noise, so many are needed."""
TRIED = 2_000
"""Records on which k is chosen: comparing each of 100,000 with all would take minutes."""
SHOWN = 10
"""Neighbours that a decision names."""
PRODUCTS = 2**22
"""Similarities held at a time, 16 MB."""


class KNNRouter(QuestionRouter):
    """Compares a question with those on record; make one with `fit`.

    Rule ``paper``: with l known among the k nearest, a question is known iff l/(k-l) >= m/n, where
    m and n are the numbers of known and unknown questions on record; records that no answer
    got right do not count. The score is the share of unknown neighbours minus that of all records.

    Rule ``benefit``: the mean measured benefit of retrieval over the k nearest, weighted by
    similarity, against a threshold. All records count.

    Attributes:
        rule: One of the two.
        k: Neighbours that are asked, fewer where there are not as many.

    Example:
        >>> known = [
        ...     Record.of(f"What is {n} plus 1?", direct=("", 1), single=("", 0)) for n in range(4)
        ... ]
        >>> unknown = [
        ...     Record.of(f"Who is CEO of {x} Inc?", direct=("", 0), single=("", 1)) for x in "AB"
        ... ]
        >>> router = KNNRouter.fit(known + unknown, k=2)
        >>> decision = router.decide("Who is CEO of C Inc?")
        >>> decision.retrieve, decision.neighbours[0].effect
        (True, 'helps')
    """

    kind: ClassVar[str] = "knn"

    def __init__(
        self, learnt: Learnt, vectors: Vectors, *, rule: Rule, k: int, **common: Any
    ) -> None:
        super().__init__(learnt, **common)
        if rule not in get_args(Rule):
            raise InputError(f"no rule {rule!r}: give one of {', '.join(get_args(Rule))}")
        if k < 1:
            raise InputError(f"k must be at least 1, not {k}")
        if vectors.ndim != 2 or len(vectors) != len(learnt.texts):
            raise ValueError("there is not one vector for each question")
        self.rule, self.k = rule, k
        # One dimension after the other: of a few words only a few are read.
        self._vectors = np.asfortranarray(vectors)

    @classmethod
    def fit(
        cls,
        records: Sequence[Record],
        *,
        embedder: Embedder | None = None,
        rule: Rule = "paper",
        k: int | None = None,
        threshold: float = 0.0,
    ) -> Self:
        """Remember the records.

        Args:
            records: The records.
            embedder: Turns questions into vectors; a `HashingEmbedder` by default.
            rule: Either rule, see above.
            k: Neighbours that are asked. Chosen by leave-one-out from 3 to 10 for the paper's rule,
                by the number of records for the other.
            threshold: The score above which retrieval happens.

        Raises:
            InputError: There is no such rule, `k` is not positive, or no record can be used.
        """
        embedder = embedder or HashingEmbedder()
        learnt = Learnt.of(records, informative=rule == "paper")
        vectors = embedder.embed(learnt.texts)
        if k is None and rule == "paper":
            k = paper_k(learnt, vectors)
        elif k is None:
            k = min(max(len(vectors) // 4, BENEFIT_K.start), BENEFIT_K.stop - 1)
        return cls(learnt, vectors, rule=rule, k=k, threshold=threshold, embedder=embedder)

    @property
    def _informative(self) -> bool:
        return self.rule == "paper"

    def _learn(self, learnt: Learnt, kept: NDArray[np.bool_]) -> None:
        vectors, new = self._vectors[kept], learnt.texts[kept.sum() :]
        if new and self.embedder is not None:
            vectors = np.concatenate([vectors, self.embedder.embed(new)])
        self._vectors = np.asfortranarray(vectors)

    def _judge(self, given: Vectors) -> tuple[Floats, tuple[NDArray[np.int64], Floats]]:
        found, cosines = nearest(self._vectors, given, self.k)
        benefit = self._learnt.benefit[found]
        if self.rule == "paper":
            unknown = (benefit > 0).sum(axis=1)
            scores = paper_score(unknown, benefit.shape[1], self._learnt.unknown)
        else:
            weights = np.maximum(cosines, 1e-6)  # unlike all: all count the same
            scores = (weights * benefit).sum(axis=1) / weights.sum(axis=1)
        return scores, (found, cosines)

    def _explain(
        self, score: float, evidence: tuple[NDArray[np.int64], Floats]
    ) -> tuple[str, tuple[Neighbour, ...]]:
        found, cosines = (each[0] for each in evidence)
        benefit = self._learnt.benefit[found].tolist()
        if self.rule == "paper":
            reason = (
                f"searching helped on {sum(each > 0 for each in benefit)} of {len(found)} similar "
                f"questions, and on {self._learnt.unknown.mean():.0%} of all"
            )
        else:
            reason = (
                f"on {len(found)} similar questions searching changed the chance of a right answer "
                f"by {100 * score:+.0f} points, and is done above {100 * self.threshold:+.0f}"
            )
        texts = [self._learnt.texts[place] for place in found[:SHOWN]]
        shown = zip(texts, cosines.tolist(), benefit, strict=False)
        return reason, tuple(neighbour(*each) for each in shown)

    def _state(self) -> tuple[dict[str, Any], Arrays]:
        return {"rule": self.rule, "k": self.k}, {"vectors": self._vectors}

    @classmethod
    def _restored(cls, parameters: Mapping[str, Any], arrays: Arrays, **common: Any) -> Self:
        vectors, k = arrays["vectors"], int(parameters["k"])
        if vectors.dtype.kind != "f" or not np.isfinite(vectors).all():
            raise ValueError("the vectors are not numbers")
        return cls(vectors=vectors, rule=parameters["rule"], k=k, **common)


def nearest(vectors: Vectors, asked: Vectors, k: int) -> tuple[NDArray[np.int64], Floats]:
    """Return the k most similar vectors of each that is asked for; of equals the earlier one.

    Args:
        vectors: Those to search, of length one, shape (n, d).
        asked: Those to find neighbours of, of length one, shape (m, d).
        k: How many; fewer are found where there are fewer vectors.

    Returns:
        Indices and cosines, best first, shape (m, min(k, n)) each.

    Example:
        >>> found, cosines = nearest(np.eye(3), np.eye(3)[[1]], 2)
        >>> found.tolist(), cosines.tolist()
        ([[1, 0]], [[1.0, 0.0]])
    """
    k = min(k, len(vectors))
    found, cosines = np.empty((len(asked), k), dtype=np.int64), np.empty((len(asked), k))
    used = asked.any(axis=0)  # few of hashed words, and all of most embedders
    if used.mean() < 0.5:
        asked, vectors = asked[:, used], vectors.T[used].T
    block = max(1, PRODUCTS // len(vectors))
    for start in range(0, len(asked), block):
        some = asked[start : start + block]
        # A question alone has one thread: several would wait for each other, and for those of its
        # embedding, longer than they work.
        products = some @ vectors.T if len(some) > 1 else np.einsum("ij,kj->ik", some, vectors)
        # Rounded, because one question and many are multiplied in different orders: what is equal
        # has to be so in both, or a question would be judged differently among others.
        products = products.clip(-1.0, 1.0).round(5)
        for row, similar in enumerate(products, start):
            reached = np.flatnonzero(similar >= np.partition(similar, -k)[-k])
            best = reached[np.argsort(-similar[reached], kind="stable")[:k]]
            found[row], cosines[row] = best, similar[best]
    return found, cosines


def paper_score(unknown: NDArray[Any], k: int, all_unknown: NDArray[np.bool_]) -> Floats:
    """The share of unknown neighbours minus that of all records: above 0 iff l/(k-l) < m/n.

    In whole numbers up to the last division, so that equality is exact. Where every record is
    unknown the paper's fraction would call each question known; here each is unknown.

    Args:
        unknown: Neighbours that needed references, k - l, shape (n,).
        k: Neighbours.
        all_unknown: Which of all records needed them, shape (m + n,).

    Example:
        >>> paper_score(np.array([0, 1, 2]), 2, np.array([True, False])).tolist()
        [-0.5, 0.0, 0.5]
    """
    n = int(all_unknown.sum())
    m = len(all_unknown) - n
    if m == 0:
        return np.ones(len(unknown))
    return np.asarray((unknown * m - (k - unknown) * n) / (k * (m + n)), dtype=np.float64)


def paper_k(learnt: Learnt, vectors: Vectors) -> int:
    """The k from 3 to 10 by which most questions would have been answered right, each left out."""
    tried = np.random.default_rng(0).permutation(len(vectors))[:TRIED]
    groups = np.unique([question_key(text) for text in learnt.texts], return_inverse=True)[1]
    # Equal questions are nearest and do not count, so as many more are searched.
    found, _ = nearest(vectors, vectors[tried], PAPER_K.stop - 1 + int(np.bincount(groups).max()))
    same = groups[found] == groups[tried][:, None]
    order = np.argsort(same, axis=1, kind="stable")  # others first, still by similarity
    unknown = learnt.unknown[np.take_along_axis(found, order, axis=1)]

    def gained(k: int) -> float:
        some = unknown[:, :k]
        retrieve = paper_score(some.sum(axis=1), some.shape[1], learnt.unknown) > 0
        return float(learnt.benefit[tried][retrieve].sum())

    return max(PAPER_K, key=gained)


def neighbour(question: str, similarity: float, benefit: float) -> Neighbour:
    """Return a record as evidence.

    Example:
        >>> neighbour("Who?", 0.5, 1.0).effect
        'helps'
    """
    effect: Effect = "helps" if benefit > 0 else "hurts" if benefit < 0 else "same"
    return Neighbour(str(question), float(similarity), effect, float(benefit))
