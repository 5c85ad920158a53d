"""Deciding by the nearest records beside numpy's product.

The records of a kNN router are vectors of 384 numbers that are made up around a thousand topics;
the question's is given, so that no embedding is in the figures. The peers do the same search:
numpy's product with `argpartition`; the search of semantic-router's local index, which takes the
norm of every vector for each question; scikit-learn's NearestNeighbors. A decision is made with one
thread, because those of the embedding wait for others, where numpy's product has every processor;
a batch has them too. From 100,000 records a
router follows a graph by default (`skr-rag[nearest]`), which finds about 99 of 100 neighbours;
its peer is the same product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rows import LeftOut, Row, medians
from skr_core.types import Stamp
from skr_learn.learning import Observed, Rows, Signals
from skr_learn.learning.graph import can_make_graphs
from skr_learn.learning.searched import SearchedRows
from skr_learn.routers import KNNRouter

SIZES = (1_000, 10_000, 100_000, 1_000_000)
GRAPHS = (100_000, 1_000_000)
WIDTH, TOPICS, K = 384, 1_000, 10
BATCH = 64
MS = 1_000

Vectors = NDArray[np.float32]


def rows(quick: bool) -> Iterator[Row]:
    """By the number of records."""
    if not can_make_graphs():
        raise LeftOut("faiss is not installed: pip install skr-rag[nearest]")
    sizes = (300, 1_000) if quick else SIZES
    matrix = made_up(max(sizes))
    asked = near_to(matrix[: min(sizes)], BATCH)
    for size in sizes:
        router = router_of(matrix[:size], asked, approximate=False)
        yield from exact(router, matrix[:size], asked, 3 if quick or size > 100_000 else 9)
        if size in GRAPHS:
            router = router_of(matrix[:size], asked, approximate=True)
            yield from one_by_one(router, matrix[:size], asked, "a decision, along a graph", 9)


def exact(router: KNNRouter, matrix: Vectors, asked: Vectors, turns: int) -> Iterator[Row]:
    """Single decisions, and 64 at once."""
    yield from one_by_one(router, matrix, asked, "a decision", turns)
    size = len(matrix)
    observed = [Observed(str(place)) for place in range(BATCH)]
    neighbours = fitted_neighbours(matrix)

    def signals() -> Signals:
        return Signals.of(observed, router.embedder, drafts=False, features=router.features)

    ways: dict[str, Callable[[], Any]] = {
        "ours": lambda: router.scores(signals()),
        "numpy's product": lambda: by_product(matrix, asked),
        "scikit-learn's NearestNeighbors": lambda: neighbours.kneighbors(asked, K),
    }
    seconds = medians(ways, turns, calls=calls_in_a_turn(size))
    for peer in list(ways)[1:]:
        what = f"a decision of {BATCH} at once"
        ours, theirs = (MS * seconds[name] / BATCH for name in ("ours", peer))
        yield Row(what, ours, "ms", peer, theirs, size, "records")


def one_by_one(
    router: KNNRouter, matrix: Vectors, asked: Vectors, what: str, turns: int
) -> Iterator[Row]:
    """Decisions on one question after the other."""
    calls = 3 * calls_in_a_turn(len(matrix))

    def each(work: Callable[[int], Any]) -> Callable[[], Any]:
        places = cycle(range(BATCH))
        return lambda: work(next(places))

    ways = {
        "ours": each(lambda place: router.decide(str(place))),
        "numpy's product": each(lambda place: by_product(matrix, asked[[place]])),
        "semantic-router's way": each(lambda place: by_norms(matrix, asked[place])),
    }
    seconds = medians(ways, turns, calls=calls)
    for peer in list(ways)[1:]:
        ours, theirs = MS * seconds["ours"], MS * seconds[peer]
        yield Row(what, ours, "ms", peer, theirs, len(matrix), "records")


def calls_in_a_turn(size: int) -> int:
    """One is too short to be measured among few records."""
    return 10 if size <= 10_000 else 1


def made_up(count: int) -> Vectors:
    """Unit vectors around topics."""
    draw = np.random.default_rng(11)
    topics = draw.standard_normal((TOPICS, WIDTH), dtype=np.float32)
    matrix = topics[draw.integers(0, TOPICS, count)]
    for start in range(0, count, 50_000):
        some = matrix[start : start + 50_000]
        some += draw.standard_normal(some.shape, dtype=np.float32)
        some /= np.linalg.norm(some, axis=1, keepdims=True)
    return matrix


def near_to(matrix: Vectors, count: int) -> Vectors:
    """Questions, each near to a record."""
    draw = np.random.default_rng(12)
    noise = draw.standard_normal((count, WIDTH), dtype=np.float32)
    asked = matrix[draw.integers(0, len(matrix), count)] + 0.03 * noise
    return asked / np.linalg.norm(asked, axis=1, keepdims=True)


def router_of(matrix: Vectors, asked: Vectors, *, approximate: bool) -> KNNRouter:
    """A router whose embedder knows the vectors of the questions "0", "1" and so on."""
    numbers = np.arange(len(matrix))
    return KNNRouter(
        SearchedRows.of(Rows(matrix), K, approximate),
        np.where(numbers % 2, 1.0, -1.0),
        numbers.astype(str).astype(object),
        rule="benefit",
        k=K,
        embedder=Given(asked),
        stamp=Stamp(),
        actions=("direct", "single"),
        price=0.0,
    )


class Given:
    """An embedder whose vectors are there."""

    name = "given"

    def __init__(self, vectors: Vectors) -> None:
        self.vectors = vectors

    def embed(self, texts: Sequence[str]) -> Vectors:
        """By the numbers that the texts are."""
        return self.vectors[[int(text) for text in texts]]

    async def aembed(self, texts: Sequence[str]) -> Vectors:
        """The same."""
        return self.embed(texts)


def by_product(matrix: Vectors, asked: Vectors) -> NDArray[np.int64]:
    """The nearest K of each, in no order."""
    products = asked @ matrix.T
    return np.argpartition(products, len(matrix) - K, axis=1)[:, -K:]


def by_norms(matrix: Vectors, asked: Vectors) -> NDArray[np.int64]:
    """As semantic-router searches its local index."""
    similar = np.dot(matrix, asked) / (np.linalg.norm(matrix, axis=1) * np.linalg.norm(asked))
    return np.argpartition(similar, -K)[-K:]


def fitted_neighbours(matrix: Vectors) -> Any:
    """scikit-learn's, which compares with each record too."""
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(n_neighbors=K, algorithm="brute", metric="cosine").fit(matrix)
