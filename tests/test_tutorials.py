"""The tutorials are what their scripts show: each runs again, offline, and says the same."""

from __future__ import annotations

import base64
import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from scripts.docs.links import ON_GITHUB
from scripts.tutorials import (
    NOTEBOOKS,
    ROOT,
    SCRIPTS,
    build,
    differences,
    lines,
    notebook_of,
    solutions_of,
)

NAMES = sorted(path.stem for path in SCRIPTS.glob("*.py"))
PICTURE = 80_000
"""Bytes, at most."""

# A notebook is read by people elsewhere, and rebuilt without a change.
PASSING = re.compile(r"/(?:home|root|tmp|work|Users)/|0x[0-9a-f]{6,}|\d\d:\d\d:\d\d|\d seconds?\b")


def kept(name: str) -> nbformat.NotebookNode:
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)


def test_each_script_has_its_notebook() -> None:
    assert len(NAMES) == 6
    assert sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_holds_the_cells_of_its_script(name: str) -> None:
    script, notebook = notebook_of(SCRIPTS / f"{name}.py"), kept(name)
    assert [each.source for each in notebook.cells] == [each.source for each in script.cells]
    assert 15 <= len(notebook.cells) <= 27
    assert notebook.metadata == script.metadata


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_holds_nothing_of_the_machine(name: str) -> None:
    notebook = kept(name)
    assert not PASSING.search("\n".join(lines(notebook)))
    for cell in notebook.cells:
        assert not cell.metadata
        for output in cell.get("outputs", ()):
            assert output.output_type != "error"
            assert output.get("name") != "stderr", output.text
            if picture := output.get("data", {}).get("image/png"):
                assert len(base64.b64decode(picture)) < PICTURE


@pytest.mark.parametrize("name", NAMES)
def test_what_a_notebook_points_to_is_there(name: str) -> None:
    told = "\n".join(each.source for each in kept(name).cells if each.cell_type == "markdown")
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", told)
    assert len(targets) > 1, "each ends with where to read on"
    assert [each for each in targets if not (NOTEBOOKS / each).is_file()] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_says_what_it_brings_opens_elsewhere_and_ends_with_exercises(name: str) -> None:
    notebook = kept(name)
    first = notebook.cells[0].source
    assert re.search(r"^\*\*At the end\*\* .*\*\*Time:\*\* \d+\s+minutes\.", first, re.M | re.S)
    place = ON_GITHUB.removeprefix("https://github.com/") + f"docs/tutorials/{name}.ipynb"
    assert f"(https://colab.research.google.com/github/{place})" in first
    assert 'if find_spec("skr_' in notebook.cells[1].source, "elsewhere it installs first"
    assert len(solutions_of(notebook)) == 2
    assert any("image/png" in each.get("data", {}) for each in shown_by(notebook))


def shown_by(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [output for cell in notebook.cells for output in cell.get("outputs", ())]


QUOTED = re.compile(r"^> - \*\*\w+:\*\* (.*(?:\n>   .*)*)", re.MULTILINE)


@pytest.mark.data
def test_what_is_quoted_of_a_recorded_trace_stands_in_it(data_dir: Path) -> None:
    with gzip.open(data_dir / "multistep_traces.jsonl.gz", "rt", encoding="utf-8") as file:
        traces = [as_words(strings(json.loads(line))) for line in file]
    for name in [each for each in NAMES if not each.endswith("the_papers")]:
        told = "\n".join(each.source for each in kept(name).cells if each.cell_type == "markdown")
        quotes = [as_words(quote.replace("\n>", " ")) for quote in QUOTED.findall(told)]
        assert len(quotes) >= 4
        for quote in quotes:
            assert any(quote in trace for trace in traces), quote


def strings(value: object) -> str:
    """All texts in a value read from JSON."""
    if isinstance(value, dict):
        return " ".join(map(strings, value.values()))
    return " ".join(map(strings, value)) if isinstance(value, list) else str(value)


def as_words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.integration
@pytest.mark.parametrize("name", NAMES)
def test_a_tutorial_shows_what_is_kept_of_it(name: str) -> None:
    checked = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "tutorials.py"), "--check", name],
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_another_text_is_told() -> None:
    notebook = kept(NAMES[0])
    assert differences(notebook, kept(NAMES[0])) == []
    shown = next(each for each in shown_by(notebook) if each.output_type == "stream")
    shown["text"] = "something else"
    assert "+stdout: something else" in differences(kept(NAMES[0]), notebook)


@pytest.mark.data
@pytest.mark.integration
def test_the_figures_of_the_published_replies_are_those_of_the_table(data_dir: Path) -> None:
    name = next(each for each in NAMES if each.endswith("the_papers"))
    over_the_data = "\n".join(lines(build(SCRIPTS / f"{name}.py", {"SKR_DATA": str(data_dir)})))
    told = "\n".join(each.source for each in kept(name).cells if each.cell_type == "markdown")
    rows = [line for line in told.splitlines() if re.match(r"\| (?:[a-z_]+|[\d to]+) \|", line)]
    assert len(rows) == 7 + 1 + 4  # beside the paper's, a heading, and by the number of searches
    assert [row for row in rows if row not in over_the_data and "questions" not in row] == []
