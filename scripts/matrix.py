"""The page of what an app carries through each drop-in, written from the tests that show it.

Usage: python -m scripts.matrix
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.parity.matrix import CARRIED, CELLS, DROP_INS, Cell, NotApplicable, Refused, Shown

PAGE = Path(__file__).resolve().parents[1] / "docs" / "matrix.md"
HEAD = """\
# What an app carries through

Written by `make docs` from [tests/parity/matrix.py](../tests/parity/matrix.py), which names the
tests of each cell; do not edit it. **Both** means tested, sync and async. What is refused is
refused at construction, by name. A dash stands where there is nothing to carry.
"""


def page() -> str:
    """The page, as it is kept."""
    told = [f"| {name} | {meaning} |" for name, meaning in CARRIED.items()]
    return "\n".join([HEAD, "| what | means |", "|---|---|", *told, *sections()]) + "\n"


def sections() -> Iterator[str]:
    """A table for each framework, with its notes."""
    for framework, drop_ins in DROP_INS.items():
        notes: list[str] = []
        yield from ("", f"## {framework}", "")
        yield f"| drop-in | {' | '.join(CARRIED)} |"
        yield f"|---|{'---|' * len(CARRIED)}"
        for drop_in in drop_ins:
            cells = (_shown(CELLS[framework, drop_in, each], notes) for each in CARRIED)
            yield f"| `{drop_in}` | {' | '.join(cells)} |"
        yield ""
        yield from (f"{number}. {note}" for number, note in enumerate(notes, start=1))


def _shown(cell: Cell, notes: list[str]) -> str:
    """A cell, whose note has the number that it has among all notes."""
    match cell:
        case Shown():
            return "**both**"
        case Refused():
            (option,) = cell.options
            return f"refused {_numbered(f'`{option}=`: {cell.words}', notes)}"
        case NotApplicable():
            return f"– {_numbered(cell.why, notes)}"
    return "open"


def _numbered(note: str, notes: list[str]) -> str:
    if note not in notes:
        notes.append(note)
    return f"({notes.index(note) + 1})"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
