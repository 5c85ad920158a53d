"""What commands print: one JSON object, or text for people with progress on standard error."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import orjson
from rich import markup
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

from skr_core.plain import to_plain
from skr_core.texts import encodable

console = Console(highlight=False, emoji=False)
"""For results, on standard output."""

messages = Console(stderr=True, highlight=False, emoji=False)
"""For progress and remarks, so that results can be piped."""

Advance = Callable[[int, int | None], None]
"""Told how much is done, and of how much where that is known."""


def printable(text: str) -> str:
    """A text of somebody else's, without what would steer the terminal or hide from the eye.

    Control and format characters go, but for line ends and tabs: a passage could recolour what
    stands above it, or write backwards.

    Example:
        >>> printable("red: \\x1b[31m, backwards: \\u202e")
        'red: [31m, backwards: '
    """
    return "".join(
        each
        for each in encodable(text)
        if each in "\n\t" or unicodedata.category(each) not in ("Cc", "Cf")
    )


def escape(text: str) -> str:
    """`printable`, and none of it taken for Rich's markup."""
    return markup.escape(printable(text))


def print_json(value: Any) -> None:
    """Print a value, dataclasses included, as one JSON object."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE
    sys.stdout.write(orjson.dumps(to_plain(value), option=options).decode())


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
