"""Auto-CoT: demonstrations chosen from a pool, with reasoning that the model writes itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from skr_core.answering import generate
from skr_core.flow import Flow, gather
from skr_core.ports import LanguageModel
from skr_core.prompts.baselines import STEP_BY_STEP, ask
from skr_core.types import Demonstration, Usage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from skr_core.ports import Vectors

STEPS = 20
"""Of k-means; the pools are small, and a few steps more or less choose the same."""


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

    k-means over unit vectors, begun with points far from each other, the same for the same seed.

    Example:
        >>> pool = np.array([[1, 0], [0.9, 0.1], [0, 1]], dtype=np.float32)
        >>> len(most_diverse(pool, 2))
        2
    """
    count = min(count, len(pool))
    if count == 0:
        return []
    first = int(np.random.default_rng(seed).integers(len(pool)))
    chosen = [first]
    while len(chosen) < count:  # the farthest from all that are chosen
        nearest = (pool @ pool[chosen].T).max(axis=1)
        nearest[chosen] = np.inf
        chosen.append(int(nearest.argmin()))
    centres = pool[chosen]
    for _ in range(STEPS):
        cluster = (pool @ centres.T).argmax(axis=1)
        centres = np.stack(
            [
                pool[cluster == each].mean(axis=0) if (cluster == each).any() else centres[each]
                for each in range(count)
            ]
        )
    picked: dict[int, None] = {}
    for centre in centres:
        order = np.argsort(((pool - centre) ** 2).sum(axis=1), kind="stable")
        picked[next(int(place) for place in order if int(place) not in picked)] = None
    return list(picked)


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
        Demonstration(question, f"{STEP_BY_STEP} {' '.join(reply.text.split())}")
        for question, reply in zip(questions, replies, strict=True)
    ]
    return demonstrations, sum((reply.usage for reply in replies), Usage())
