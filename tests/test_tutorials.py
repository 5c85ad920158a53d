"""The tutorials are what their scripts show: each runs again, offline, and says the same."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from scripts.tutorials import NOTEBOOKS, ROOT, SCRIPTS, build, differences, lines, notebook_of

NAMES = sorted(path.stem for path in SCRIPTS.glob("*.py"))
PICTURE = 60_000
"""Bytes, at most."""

# A notebook is read by people elsewhere, and rebuilt without a change.
PASSING = re.compile(r"/(?:home|root|tmp|work|Users)/|0x[0-9a-f]{6,}|\d\d:\d\d:\d\d|\d seconds?\b")


def kept(name: str) -> nbformat.NotebookNode:
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)


def test_each_script_has_its_notebook() -> None:
    assert len(NAMES) == 5
    assert sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_holds_the_cells_of_its_script(name: str) -> None:
    script, notebook = notebook_of(SCRIPTS / f"{name}.py"), kept(name)
    assert [each.source for each in notebook.cells] == [each.source for each in script.cells]
    assert 15 <= len(notebook.cells) <= 25
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
    assert targets, "each ends with where to read on"
    assert [each for each in targets if not (NOTEBOOKS / each).is_file()] == []


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
    shown = next(each for each in notebook.cells if each.get("outputs"))
    shown.outputs[0]["text"] = "something else"
    assert "+stdout: something else" in differences(kept(NAMES[0]), notebook)


@pytest.mark.data
@pytest.mark.integration
def test_the_figures_of_the_published_replies_are_those_of_the_table(data_dir: Path) -> None:
    name = next(each for each in NAMES if each.endswith("reproduce_a_table"))
    over_the_data = "\n".join(lines(build(SCRIPTS / f"{name}.py", {"SKR_DATA": str(data_dir)})))
    told = next(each.source for each in kept(name).cells if "here (n 256) | paper" in each.source)
    rows = [line for line in told.splitlines() if re.match(r"\| [a-z_]+ \|", line)]
    assert len(rows) == 7
    assert [row for row in rows if row not in over_the_data] == []
