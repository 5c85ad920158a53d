"""Auto-CoT: demonstrations chosen from a pool, with reasoning that the model writes itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from skr_core.answering import generate
from skr_core.errors import extra
from skr_core.flow import Flow, gather
from skr_core.ports import LanguageModel
from skr_core.prompts.baselines import STEP_BY_STEP, ask
from skr_core.prompts.parts import one_line
from skr_core.types import Demonstration, Usage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from skr_core.ports import Vectors

STARTS = 10
"""Of k-means, of which the best is kept."""


def most_similar(question: NDArray[np.float32], pool: Vectors, count: int) -> list[int]:
    """Places of the pool's nearest, the nearest last, beside the question (Liu et al. 2022).

    Example:
        >>> pool = np.eye(3, dtype=np.float32)
        >>> most_similar(np.array([0.0, 1.0, 0.1], dtype=np.float32), pool, 2)
        [2, 1]
    """
    order = np.argsort(-(pool @ question), kind="stable")[:count]
    return [int(place) for place in order[::-1]]


def most_diverse(pool: Vectors, count: int, *, seed: int = 0) -> list[int]:
    """The place nearest to the centre of each of so many clusters (Zhang et al. 2023, §4).

    Args:
        pool: Unit vectors, shape (n, d).
        count: Of clusters; there are fewer places where the pool has fewer.
        seed: Of k-means, which gives the same clusters for the same seed.

    Returns:
        Places in the pool, none twice.

    Example:
        >>> pool = np.array([[1, 0], [0.9, 0.1], [0, 1]], dtype=np.float32)
        >>> len(most_diverse(pool, 2))
        2
    """
    count = min(count, len(pool))
    if count <= 0:
        return []
    with extra("learning"):
        from sklearn.cluster import KMeans

    # k-means cannot find more clusters than there are different vectors.
    clusters = min(count, len(np.unique(pool, axis=0)))
    fitted = KMeans(n_clusters=clusters, n_init=STARTS, random_state=seed).fit(pool)
    distances = fitted.transform(pool)
    nearest = [int(place) for place in distances.argmin(axis=0)]
    rest = [place for place in range(len(pool)) if place not in nearest]
    return [*dict.fromkeys(nearest), *rest][:count]


def with_reasoning(
    model: LanguageModel, questions: Sequence[str]
) -> Flow[tuple[list[Demonstration], Usage]]:
    """Let the model write a chain of thought for each question, as Zhang et al. 2023 do.

    Returns:
        The demonstrations, and what writing them cost.
    """
    prompts = [ask(question, lead=STEP_BY_STEP) for question in questions]
    replies = yield from gather([generate(model, prompt) for prompt in prompts])
    demonstrations = [
        Demonstration(question, f"{STEP_BY_STEP} {one_line(reply.text)}")
        for question, reply in zip(questions, replies, strict=True)
    ]
    return demonstrations, sum((reply.usage for reply in replies), Usage())
