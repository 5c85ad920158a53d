"""The graph of neighbours: it overlooks few, stays in its file, and leads nowhere outside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from skr_core import load_router
from skr_core.errors import DataError, InputError
from skr_core.files.arrays import read_arrays, write_arrays
from skr_core.routers.saving import read_saved
from skr_learn.learning import Rows
from skr_learn.learning.graph import LINKS, NeighbourGraph
from skr_learn.learning.nearest import nearest
from skr_learn.learning.searched import GROWTH, SearchedRows
from skr_learn.routers import KNNRouter
from tests.skr_learn.learning.test_nearest import unit_rows
from tests.skr_learn.routers.facts import UNKNOWN, firm, records, river, unknown

MATRIX = unit_rows(3000, 16)
ASKED = unit_rows(200, 16, seed=1)


class DenseEmbedder:
    """Counts letters."""

    name = "letters"

    def embed(self, texts: list[str]) -> np.ndarray:
        counts = [[text.lower().count(each) for each in map(chr, range(97, 123))] for text in texts]
        rows = np.array(counts, dtype=np.float32).reshape(len(texts), 26) + 1e-3
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    async def aembed(self, texts: list[str]) -> np.ndarray:
        return self.embed(texts)


@pytest.fixture(scope="module")
def graph() -> NeighbourGraph:
    return NeighbourGraph.of(MATRIX, 10)


def test_it_finds_nearly_all_that_comparing_with_each_finds(graph: NeighbourGraph):
    truth, similarity = nearest(Rows(MATRIX), Rows(ASKED), 10)
    found, cosines = graph.search(Rows(ASKED), 10)
    assert np.mean([np.isin(a, b).mean() for a, b in zip(truth, found, strict=True)]) >= 0.98
    same = truth == found
    assert np.allclose(similarity[same], cosines[same], atol=1e-6)
    assert (np.diff(cosines, axis=1) <= 0).all()


def test_the_same_rows_make_the_same_graph(graph: NeighbourGraph):
    again = NeighbourGraph.of(MATRIX, 10)
    assert np.array_equal(graph.links, again.links)
    assert (graph.entry, graph.width) == (again.entry, again.width)


def test_more_than_it_reaches_is_compared_with_each():
    apart = np.eye(40, dtype=np.float32)[np.repeat(np.arange(40), 30)]
    found, _ = NeighbourGraph.of(apart, 3).search(Rows(apart[[700]]), 1200)
    assert sorted(found[0]) == list(range(1200))


def test_a_graph_from_a_file_finds_the_same_in_the_file(graph: NeighbourGraph, tmp_path: Path):
    digest = write_arrays(tmp_path / "a.npz", {"rows": MATRIX, **graph.arrays()})
    arrays = read_arrays(tmp_path / "a.npz", digest)
    loaded = NeighbourGraph.from_arrays(arrays["rows"], arrays)
    for mine, theirs in zip(
        graph.search(Rows(ASKED), 5), loaded.search(Rows(ASKED), 5), strict=True
    ):
        assert np.array_equal(mine, theirs)
    assert np.shares_memory(loaded.matrix, arrays["rows"])


def changed(array: np.ndarray, place: int, value: int) -> np.ndarray:
    array = array.copy()
    array[place] = value
    return array


HOSTILE = {
    "a link outside": lambda a: {"graph_links": changed(a["graph_links"], 3, 3000)},
    "a link below": lambda a: {"graph_links": changed(a["graph_links"], 3, -2)},
    "links of another kind": lambda a: {"graph_links": a["graph_links"].astype(np.int64)},
    "too few links": lambda a: {"graph_links": a["graph_links"][:-1]},
    "links as a table": lambda a: {"graph_links": a["graph_links"][:, None]},
    "a row on no level": lambda a: {"graph_levels": changed(a["graph_levels"], 0, 0)},
    "a row on a million levels": lambda a: {"graph_levels": changed(a["graph_levels"], 0, 10**6)},
    "too few levels": lambda a: {"graph_levels": a["graph_levels"][:-1]},
    "an entry outside": lambda a: {"graph_search": changed(a["graph_search"], 0, 3000)},
    "an entry below the top": lambda a: {
        "graph_search": changed(a["graph_search"], 0, int(np.argmin(a["graph_levels"])))
    },
    "no width": lambda a: {"graph_search": changed(a["graph_search"], 1, 0)},
    "a width without end": lambda a: {"graph_search": changed(a["graph_search"], 1, 2**40)},
    "one number": lambda a: {"graph_search": a["graph_search"][:1]},
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_graph_that_leads_outside_is_refused(graph: NeighbourGraph, kind: str):
    arrays = graph.arrays()
    NeighbourGraph.from_arrays(MATRIX, arrays)
    with pytest.raises(ValueError, match=r".+"):
        NeighbourGraph.from_arrays(MATRIX, {**arrays, **HOSTILE[kind](arrays)})


def test_a_link_to_a_row_that_is_not_on_its_level_is_refused(graph: NeighbourGraph):
    row = int(np.flatnonzero(graph.levels > 1)[0])
    upper = int((LINKS * (1 + graph.levels[:row].astype(int))).sum()) + 2 * LINKS
    links = changed(graph.links, upper, int(np.argmin(graph.levels)))
    with pytest.raises(ValueError, match="not on its level"):
        NeighbourGraph.from_arrays(MATRIX, {**graph.arrays(), "graph_links": links})


@pytest.mark.parametrize("rows", [MATRIX[:-1], MATRIX.astype(np.float64), MATRIX.T, MATRIX[0]])
def test_rows_of_another_kind_are_refused(graph: NeighbourGraph, rows: np.ndarray):
    with pytest.raises(ValueError, match=r".+"):
        NeighbourGraph.from_arrays(rows, graph.arrays())


def test_what_is_added_is_found_beside_the_graph_and_then_in_a_new_one():
    searched, more = SearchedRows.of(Rows(MATRIX), 5, True), unit_rows(400, 16, seed=2)
    few = int(GROWTH * len(MATRIX))
    grown = searched.grown(Rows(more[: few - 1]), 5)
    assert grown.graph is searched.graph
    assert grown.rows is searched.rows
    again = grown.grown(Rows(more[few - 1 :]), 5)
    assert again.added is None
    for each, size in ((grown, few - 1), (again, 400)):
        found, cosines = each.search(Rows(more[:size]), 5)
        assert (found[:, 0] == len(MATRIX) + np.arange(size)).mean() > 0.99
        assert (np.diff(cosines, axis=1) <= 0).all()
        assert len(each) == len(MATRIX) + size


def test_what_was_added_is_saved():
    grown = SearchedRows.of(Rows(MATRIX), 5, True).grown(Rows(ASKED), 5)
    loaded = SearchedRows.from_arrays(grown.arrays(), True)
    assert len(loaded) == len(grown)
    assert np.array_equal(loaded.search(Rows(ASKED), 5)[0], grown.search(Rows(ASKED), 5)[0])


def test_a_router_with_a_graph_decides_as_one_without_also_from_a_file_and_grown(tmp_path: Path):
    some, embedder = records(30), DenseEmbedder()
    exact = KNNRouter.fit(some, embedder=embedder, rule="benefit", k=5)
    router = KNNRouter.fit(some, embedder=embedder, rule="benefit", k=5, approximate=True)
    router.save(tmp_path)
    assert "graph_links" in read_saved(tmp_path).arrays
    loaded = load_router(tmp_path, embedder=embedder)
    more = [unknown(each) for each in UNKNOWN]
    asked = [river("Omega"), firm("Omega"), firm("Acme")]
    for _ in range(2):
        for question in asked:
            expected = exact.decide(question)
            assert router.decide(question).score == pytest.approx(expected.score)
            assert loaded.decide(question).neighbours == router.decide(question).neighbours
        for each in (exact, router, loaded):
            each.update(more)


def test_a_hostile_graph_of_a_router_is_refused_in_a_line(tmp_path: Path):
    router = KNNRouter.fit(records(30), embedder=DenseEmbedder(), approximate=True)
    router.save(tmp_path)
    saved = read_saved(tmp_path)
    saved.arrays["graph_links"][:] = 2**30  # type: ignore[index]
    saved.write(tmp_path)
    with pytest.raises(DataError, match="lead outside") as caught:
        load_router(tmp_path, embedder=DenseEmbedder())
    assert "\n" not in str(caught.value)


def test_sparse_rows_have_no_graph():
    with pytest.raises(InputError, match="sparse"):
        KNNRouter.fit(records(9), approximate=True)
