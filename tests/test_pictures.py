"""The pictures of the documentation are those of the code."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from types import SimpleNamespace

import pytest

from scripts import pictures
from scripts.drawing import rounded
from skr_graphs import create_self_completion_graph

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_a_picture_is_as_it_is_kept(name: str) -> None:
    kept = (pictures.FOLDER / name).read_text(encoding="utf-8")
    assert kept == pictures.PICTURES[name](), "run  make docs"
    assert ET.fromstring(kept).tag.endswith("svg")


def test_the_pictures_of_the_first_page_and_what_they_lead_to_are_there() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    places = re.findall(r'(?:href|src)="([^"]+)"', page)
    assert len(places) == 6
    assert all((ROOT / place).is_file() for place in places)


def test_the_loop_shows_each_node_and_each_edge_of_the_compiled_graph() -> None:
    graph = create_self_completion_graph().compile().get_graph()
    drawn = ET.fromstring(pictures.loop())
    paths = [each for each in drawn.iter() if "arrow" in each.get("class", "")]
    names = [each.text for each in drawn.iter() if each.get("class") == "name"]
    assert len(paths) == len(graph.edges)
    inner = [name for name in graph.nodes if not name.startswith("__")]
    assert sorted(names) == sorted([*inner, "the question", "the answer"])


@pytest.mark.parametrize(
    ("node", "edge", "error"),
    [("verify", None, KeyError), (None, ("answer", "retrieve"), KeyError)],
)
def test_what_the_graph_has_and_the_picture_has_not_is_an_error(
    node: str | None,
    edge: tuple[str, str] | None,
    error: type[Exception],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = create_self_completion_graph().compile().get_graph()
    nodes = {**graph.nodes, **({node: None} if node else {})}
    further = [SimpleNamespace(source=edge[0], target=edge[1])] if edge else []
    changed = SimpleNamespace(nodes=nodes, edges=[*graph.edges, *further])
    compiled = SimpleNamespace(compile=lambda: SimpleNamespace(get_graph=lambda: changed))
    monkeypatch.setattr(pictures, "create_self_completion_graph", lambda: compiled)
    with pytest.raises(error):
        pictures.loop()


def test_what_the_graph_has_no_more_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = {**pictures.STEPS, "verify": pictures.STEPS["merge"]}
    monkeypatch.setattr(pictures, "STEPS", gone)
    with pytest.raises(ValueError, match="verify"):
        pictures.loop()


def test_corners_are_rounded() -> None:
    assert rounded([(0, 0), (0, 20)]) == "M0 0L0 20"
    assert rounded([(0, 0), (0, 20), (40, 20)]) == "M0 0L0 11Q0 20 9 20L40 20"
