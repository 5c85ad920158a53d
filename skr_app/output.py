"""What commands print: one JSON object, or text for people with progress on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import orjson
from rich import markup
from rich.cells import cell_len
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from skr_core.cleaning import cleaned
from skr_core.files import encodable_json
from skr_core.plain import to_plain

console = Console(highlight=False, emoji=False)
"""For results, on standard output."""

messages = Console(stderr=True, highlight=False, emoji=False)
"""For progress and remarks, so that results can be piped."""

Advance = Callable[[int, int | None], None]
"""Told how much is done, and of how much where that is known."""


def escape(text: str) -> str:
    """A text of somebody else's, cleaned, and none of it taken for Rich's markup."""
    return markup.escape(cleaned(text))


def counted(number: int, noun: str) -> str:
    """A number of things.

    Example:
        >>> counted(1, "record"), counted(200, "record")
        ('1 record', '200 records')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def print_json(value: Any) -> None:
    """Print a value, dataclasses included, as one JSON object, in UTF-8 whatever the locale."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE
    sys.stdout.flush()
    sys.stdout.buffer.write(orjson.dumps(encodable_json(to_plain(value)), option=options))
    sys.stdout.buffer.flush()


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "") -> None:
    """Print a table of figures so that no figure is folded, however narrow the terminal is.

    What does not fit as it stands is turned, with a column for each row; what does not fit either
    way is printed in parts, each with the names of the rows before it.

    Args:
        headings: Of the columns; the first stands over the names.
        rows: What is compared: a name, then a figure for each further heading.
        title: Printed above the table.
    """
    as_it_stands = [list(headings), *map(list, rows)]
    turned = [list(column) for column in zip(*as_it_stands, strict=True)]
    best = next((each for each in (as_it_stands, turned) if _width(each) <= console.width), None)
    if title:
        console.print(escape(title), style="italic")
    for place, part in enumerate(_parts(as_it_stands) if best is None else [best]):
        if place:
            console.print()
        table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
        table.add_column(escape(part[0][0]), max_width=None if best else console.width // 2)
        for heading in part[0][1:]:
            table.add_column(escape(heading), justify="right")
        for row in part[1:]:
            table.add_row(*map(escape, row))
        console.print(table)


_GAP = 2
"""Blanks between two columns."""


def _width(cells: Sequence[Sequence[str]]) -> int:
    return sum(map(_column_width, zip(*cells, strict=True)))


def _column_width(column: Sequence[str]) -> int:
    return max(map(cell_len, column)) + _GAP


def _parts(cells: Sequence[Sequence[str]]) -> Iterator[list[list[str]]]:
    """As many columns at a time as fit beside the names, one at least; long names are folded."""
    names, *columns = zip(*cells, strict=True)
    room = console.width - min(_column_width(names), console.width // 2)
    part: list[Sequence[str]] = []
    for column in columns:
        if part and sum(map(_column_width, [*part, column])) > room:
            yield [list(row) for row in zip(names, *part, strict=True)]
            part = []
        part.append(column)
    if part:
        yield [list(row) for row in zip(names, *part, strict=True)]


@contextmanager
def progress(label: str) -> Iterator[Advance]:
    """Show a progress bar on standard error; where that is no terminal, its last state."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=messages) as bars:
        task = bars.add_task(label, total=None)

        def advance(done: int, total: int | None) -> None:
            bars.update(task, completed=done, total=total)

        yield advance
