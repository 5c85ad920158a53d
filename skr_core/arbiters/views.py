"""Views: questions with their answers as arrays, for the two regressions of an estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skr_core.arbiters.answers import Seen, stated
from skr_core.arbiters.comparing import margin_features, own_features, pair_features
from skr_core.errors import extra
from skr_core.learning.question_features import question_features
from skr_core.learning.rows import Floats, Rows, embed_texts
from skr_core.learning.signals import NO_DRAFT, Signals
from skr_core.types import Action

if TYPE_CHECKING:
    from skr_core.learning.rows import Matrix
    from skr_core.ports import Embedder


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
    ) -> Self:
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
    ) -> Self:
        """The same from the vectors of `texts_seen`."""
        n, count = len(seen), len(actions)
        matrices = [vectors[part * n : (part + 1) * n] for part in range(count + 1)]
        asked = np.array([question_features(each.question) for each in seen])
        reasons = [each.first.reasoning for each in seen]
        own = [
            np.column_stack(
                [
                    [
                        own_features(each.question, each.answers[action], reasoning)
                        + (margin_features(each.answers[action]) if margins else [])
                        for each, reasoning in zip(seen, reasons, strict=True)
                    ],
                    _cosines(matrices[0], matrices[1 + place]),
                ]
            )
            for place, action in enumerate(actions)
        ]
        pairs = {
            (i, j): np.column_stack(
                [
                    [
                        pair_features(each.answers[actions[i]].text, each.answers[actions[j]].text)
                        for each in seen
                    ],
                    _cosines(matrices[1 + i], matrices[1 + j]),
                ]
            )
            for i in range(count)
            for j in range(count)
            if i != j
        }
        features = [asked, *own, *(pair for (i, j), pair in pairs.items() if i < j)]
        rows = [
            np.column_stack(
                [
                    np.full(n, float(place)),
                    asked,
                    own[place],
                    *(
                        part
                        for other in range(count)
                        if other != place
                        for part in (own[other], pairs[place, other])
                    ),
                    *(pair for (i, j), pair in pairs.items() if i < j and place not in (i, j)),
                ]
            )
            for place in range(count)
        ]
        signals = Signals(
            Rows(matrices[0]),
            np.nan_to_num(np.column_stack(features)),
            Rows(_stacked(matrices[1:])),
            np.array([stated(each.first.confidence) for each in seen]),
        )
        return cls(signals, np.nan_to_num(np.array(rows), nan=-1.0))

    def __len__(self) -> int:
        return len(self.signals)

    def __getitem__(self, chosen: Any) -> Views:
        return Views(self.signals[chosen], self.rows[:, chosen])


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
