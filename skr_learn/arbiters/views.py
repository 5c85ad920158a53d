"""Views: questions with their answers as arrays, for the two regressions of an estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skr_core.errors import extra
from skr_core.types import Action
from skr_learn.arbiters.answers import Seen, stated
from skr_learn.arbiters.comparing import (
    Reasoning,
    margin_features,
    own_features,
    pair_features,
    turned,
)
from skr_learn.learning.question_features import question_features
from skr_learn.learning.rows import Floats, Rows, embed_texts
from skr_learn.learning.signals import NO_DRAFT, Signals

if TYPE_CHECKING:
    from skr_core.ports import Embedder
    from skr_learn.learning.rows import Matrix
    from skr_learn.self_knowledge.records import SelfKnowledge


def texts_seen(seen: Sequence[Seen], actions: Sequence[Action]) -> list[str]:
    """The texts to embed: the questions, then the answers of each action."""
    answers = [each.answers[action].text or NO_DRAFT for action in actions for each in seen]
    return [each.question for each in seen] + answers


@dataclass(frozen=True)
class Views:
    """n questions with a answers each.

    Attributes:
        signals: Of each question with all of its answers: what the Gaussian process compares.
        rows: Of each answer beside the others, shape (a, n, f): what the trees read.
    """

    signals: Signals
    rows: Floats

    @classmethod
    def of(
        cls,
        seen: Sequence[Seen],
        actions: Sequence[Action],
        embedder: Embedder,
        *,
        margins: bool = False,
    ) -> Views:
        """Embed and measure.

        Args:
            seen: Each with an answer of every action.
            actions: Their order.
            embedder: For questions and answers.
            margins: Look at the answers' likelihoods too.
        """
        vectors = embed_texts(embedder, texts_seen(seen, actions))
        return cls.of_vectors(seen, actions, vectors, margins=margins)

    @classmethod
    def of_vectors(
        cls,
        seen: Sequence[Seen],
        actions: Sequence[Action],
        vectors: Matrix,
        *,
        margins: bool = False,
    ) -> Views:
        """The same from the vectors of `texts_seen`."""
        return Measured(seen, actions, vectors).views(len(actions), margins=margins)

    def __len__(self) -> int:
        return len(self.signals)

    def __getitem__(self, chosen: Any) -> Views:
        return Views(self.signals[chosen], self.rows[:, chosen])


class Measured:
    """What questions and answers show, measured once for views of few and of many of the answers.

    Args:
        seen: n questions, each with an answer of every action.
        actions: Their order.
        vectors: Of `texts_seen`.
    """

    def __init__(self, seen: Sequence[Seen], actions: Sequence[Action], vectors: Matrix) -> None:
        n, count = len(seen), len(actions)
        self._seen, self._actions = seen, actions
        self._vectors = [vectors[part * n : (part + 1) * n] for part in range(count + 1)]
        self._asked = np.array([question_features(each.question) for each in seen])
        reasonings = [Reasoning(each.first.reasoning) for each in seen]
        self._own = [
            np.array(
                [
                    own_features(each.question, each.answers[action], reasoning)
                    for each, reasoning in zip(seen, reasonings, strict=True)
                ]
            )
            for action in actions
        ]
        self._pairs: dict[tuple[int, int], Floats] = {}
        for i, j in combinations(range(count), 2):
            texts = [
                (each.answers[actions[i]].text, each.answers[actions[j]].text) for each in seen
            ]
            pairs = np.array([pair_features(*two) for two in texts])
            cosines = _cosines(self._vectors[1 + i], self._vectors[1 + j])
            self._pairs[i, j] = np.column_stack([pairs, cosines])
            self._pairs[j, i] = np.column_stack([turned(pairs), cosines])

    @classmethod
    def of(
        cls, records: Sequence[SelfKnowledge], actions: Sequence[Action], embedder: Embedder
    ) -> Self:
        """Embed and measure the answers of records; every text once."""
        seen = [Seen.in_record(each, actions) for each in records]
        return cls(seen, actions, embed_texts(embedder, texts_seen(seen, actions)))

    def views(self, count: int, *, margins: bool = False) -> Views:
        """What is seen with the first few answers.

        Args:
            count: How many.
            margins: Look at their likelihoods too.
        """
        n, places = len(self._seen), range(count)
        own = [self._shown(place, margins) for place in places]
        pairs = {two: each for two, each in self._pairs.items() if max(two) < count}
        features = [self._asked, *own, *(each for (i, j), each in pairs.items() if i < j)]
        rows = [
            np.column_stack(
                [
                    np.full(n, float(place)),
                    self._asked,
                    own[place],
                    *(
                        part
                        for other in places
                        if other != place
                        for part in (own[other], pairs[place, other])
                    ),
                    *(each for (i, j), each in pairs.items() if i < j and place not in (i, j)),
                ]
            )
            for place in places
        ]
        signals = Signals(
            Rows(self._vectors[0]),
            np.nan_to_num(np.column_stack(features)),
            Rows(_stacked(self._vectors[1 : 1 + count])),
            np.array([stated(each.first.confidence) for each in self._seen]),
        )
        return Views(signals, np.nan_to_num(np.array(rows), nan=-1.0))

    @property
    def rungs(self) -> list[Views]:
        """What is seen with the first answer, with the first two, and so on."""
        return [self.views(count) for count in range(1, len(self._actions) + 1)]

    @property
    def have_margins(self) -> bool:
        """Whether any answer has its likelihoods."""
        return any(answer.margins for each in self._seen for answer in each.answers.values())

    def _shown(self, place: int, margins: bool) -> Floats:
        """What one answer shows by itself and beside its question, shape (n, f)."""
        said = [self._own[place], _cosines(self._vectors[0], self._vectors[1 + place])]
        if margins:
            action = self._actions[place]
            said[1:1] = [np.array([margin_features(each.answers[action]) for each in self._seen])]
        return np.column_stack(said)


def _cosines(these: Matrix, those: Matrix) -> Floats:
    """Of each row with the same row of another matrix, shape (n,)."""
    if isinstance(these, np.ndarray) and isinstance(those, np.ndarray):
        return np.asarray((these * those).sum(axis=1), dtype=np.float64)
    products: Any = these.multiply(those)  # type: ignore[union-attr]  # both are sparse
    return np.asarray(products.sum(axis=1), dtype=np.float64).ravel()


def _stacked(matrices: Sequence[Matrix]) -> Matrix:
    """The answers' vectors side by side, of unit length together: near where all are."""
    scale = np.float32(1 / np.sqrt(len(matrices)))
    if isinstance(matrices[0], np.ndarray):
        return np.hstack([np.asarray(each) for each in matrices]) * scale
    with extra("learning"):
        from scipy import sparse
    side_by_side: Any = list(matrices)
    return sparse.csr_matrix(sparse.hstack(side_by_side) * scale)
