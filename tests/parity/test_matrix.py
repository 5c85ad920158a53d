"""What the matrix says of each drop-in holds: its tests are there, its refusals are raised."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import matrix as script
from tests.parity.matrix import (
    CARRIED,
    CELLS,
    DROP_INS,
    OF_LANGCHAIN,
    OF_LLAMAINDEX,
    Refused,
    Shown,
)

ROOT = Path(__file__).resolve().parents[2]
REFUSED = {key: cell for key, cell in CELLS.items() if isinstance(cell, Refused)}


def test_the_tests_that_are_named_are_there(request: pytest.FixtureRequest) -> None:
    named = {
        each
        for cell in CELLS.values()
        if isinstance(cell, Shown)
        for each in (cell.sync, cell.awaited)
    }
    missing = not_among(named, [item.nodeid for item in request.session.items])
    if missing:  # this run has not all of the tests
        files = sorted({each.partition("::")[0] for each in missing})
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
        told = subprocess.run([*command, *files], cwd=ROOT, capture_output=True, text=True)
        missing = not_among(missing, told.stdout.splitlines())
    assert not missing


def not_among(named: set[str], ids: list[str]) -> set[str]:
    return {each for each in named if not any(known.startswith(each) for known in ids)}


@pytest.mark.parametrize("key", REFUSED, ids=" ".join)
def test_what_is_refused_is_refused_at_construction(key: tuple[str, str, str]) -> None:
    framework, drop_in, _ = key
    refused = REFUSED[key]
    with pytest.raises(refused.error, match=re.escape(refused.words)):
        DROP_INS[framework][drop_in](**refused.options)


def test_each_drop_in_can_be_made() -> None:
    for drop_ins in DROP_INS.values():
        for make in drop_ins.values():
            assert make() is not None


def test_no_cell_is_of_something_else() -> None:
    for framework, columns in (("LangChain", OF_LANGCHAIN), ("LlamaIndex", OF_LLAMAINDEX)):
        assert list(columns) == list(CARRIED)
        for cells in columns.values():
            assert cells.keys() <= DROP_INS[framework].keys()


def test_no_cell_is_open() -> None:
    assert [" ".join(key) for key, cell in CELLS.items() if cell is None] == []


def test_the_page_is_as_it_is_kept() -> None:
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), "run  make docs"
