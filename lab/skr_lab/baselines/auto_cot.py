"""Auto-CoT: demonstrations chosen from a pool, with reasoning that the model writes itself."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from skr_core.answering import generate
from skr_core.errors import extra
from skr_core.flow import Flow, call, gather
from skr_core.ports import Embedder, LanguageModel
from skr_core.references.passages import one_line
from skr_core.replies.certainty import conclusion
from skr_core.types import NO_USAGE, Demonstration, Usage
from skr_lab.baselines.answering import Once
from skr_lab.baselines.prompts import ANSWER_LEAD, STEP_BY_STEP, ask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from skr_core.ports import Vectors

STARTS = 10
"""Starts of k-means, of which the best is kept."""


class Pool:
    """Questions that demonstrations are made of.

    Their embeddings, their clusters and the reasoning of each are made once, whoever asks first:
    which demonstrations are shown may depend on the question, how one of them reads never does.

    Args:
        model: The model that writes the reasoning.
        embedder: The embedder of questions.
        questions: The questions to choose from.

    Example:
        >>> from skr_core.flow import run
        >>> from skr_core.models.embedders import HashingEmbedder
        >>> from skr_core.testing import ScriptedModel
        >>> model = ScriptedModel(["It is a capital. So the answer is Paris."])
        >>> pool = Pool(model, HashingEmbedder(), ["Capital of France?", "Capital of Italy?"])
        >>> shown, spent = run(pool.similar("Capital of Italy?", 1))
        >>> shown[0].question, spent.calls
        ('Capital of France?', 1)
        >>> run(pool.similar("Capital of Spain?", 2))[1].calls
        1
    """

    def __init__(self, model: LanguageModel, embedder: Embedder, questions: Sequence[str]) -> None:
        self._questions = list(dict.fromkeys(questions))
        self._embedder = embedder
        embed = partial(call, embedder.embed, embedder.aembed, self._questions)
        self._vectors: Once[Vectors] = Once(embed)
        self._clusters: dict[int, Once[list[int]]] = {}
        self._written = {
            question: Once(partial(reasoned, model, question)) for question in self._questions
        }

    def similar(self, question: str, count: int) -> Flow[tuple[list[Demonstration], Usage]]:
        """The questions nearest to one, without itself; and what writing new reasoning cost."""
        vectors, _ = yield from self._vectors.value()
        (asked,) = yield from call(self._embedder.embed, self._embedder.aembed, [question])
        others = [place for place, each in enumerate(self._questions) if each != question]
        nearest = most_similar(asked, vectors[others], count)
        return (yield from self._demonstrated([others[place] for place in nearest]))

    def diverse(self, question: str, count: int) -> Flow[tuple[list[Demonstration], Usage]]:
        """One question of each cluster, the same for all that is asked; never what is asked."""
        once = self._clusters.setdefault(count, Once(partial(self._diverse, count)))
        chosen, _ = yield from once.value()
        others = [place for place in chosen if self._questions[place] != question]
        return (yield from self._demonstrated(others))

    def _diverse(self, count: int) -> Flow[list[int]]:
        vectors, _ = yield from self._vectors.value()
        return most_diverse(vectors, count)

    def _demonstrated(self, places: Sequence[int]) -> Flow[tuple[list[Demonstration], Usage]]:
        made = yield from gather(
            [self._written[self._questions[place]].value() for place in places]
        )
        spent = sum((usage for (_, usage), is_new in made if is_new), NO_USAGE)
        return [demonstration for (demonstration, _), _ in made], spent


def reasoned(model: LanguageModel, question: str) -> Flow[tuple[Demonstration, Usage]]:
    """Let the model write a chain of thought for a question, as Zhang et al. 2023 do.

    Where the reasoning ends without an answer, that is asked for with a second call, as in
    zero-shot chain of thought.

    Returns:
        The demonstration, and what writing it cost.
    """
    reply = yield from generate(model, ask(question, lead=STEP_BY_STEP))
    thought, spent = f"{STEP_BY_STEP} {one_line(reply.text)}", reply.usage
    if conclusion(reply.text) is None:
        answer = yield from generate(model, ask(question, lead=f"{thought}\n{ANSWER_LEAD}"))
        thought = f"{thought} {ANSWER_LEAD} {one_line(answer.text)}"
        spent += answer.usage
    return Demonstration(question, thought), spent


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
        count: The number of clusters; there are fewer places where the pool has fewer.
        seed: The seed of k-means, which gives the same clusters for the same seed.

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
