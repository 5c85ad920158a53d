"""The output of commands: one JSON object, or text for people with progress on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import orjson
from rich import markup
from rich.cells import cell_len
from rich.console import Console, ConsoleDimensions
from rich.panel import Panel
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
from rich.text import Text

from skr_app.extractive import is_extractive
from skr_app.sources import print_sources
from skr_core.cleaning import cleaned
from skr_core.files import encodable_json
from skr_core.plain import from_plain, to_plain
from skr_core.types import Action, Answer, Decision, Usage

WHOLE_LINES = 100_000
"""The width in a pipe, where nothing is folded: grep and awk find whole lines."""


class PlainWhenPiped(Console):
    """Rich's console in a terminal; in a pipe or a file plain lines, whatever COLUMNS says."""

    @property
    def size(self) -> ConsoleDimensions:
        """The characters of a line, and the lines of a screen."""
        found = super().size
        return found if self.is_terminal else ConsoleDimensions(WHOLE_LINES, found.height)

    @size.setter
    def size(self, size: tuple[int, int]) -> None:
        self._width, self._height = size

    def rule(self, title: Any = "", **options: Any) -> None:
        """Draw a line with a title; the title alone in a pipe."""
        if self.is_terminal:
            super().rule(title, **options)
        else:
            self.print(title)


console = PlainWhenPiped(highlight=False, emoji=False)
"""For results, on standard output."""

messages = PlainWhenPiped(stderr=True, highlight=False, emoji=False)
"""For progress and remarks, so that results can be piped."""

STOP_REASONS = {
    "known": "the model knows this by itself",
    "sufficient": "what was found is enough",
    "uncited": "the model says that it found enough, but cites nothing",
    "no_new_queries": "the model had nothing more to search for",
    "no_new_references": "searching found nothing new",
    "confirmed": "what was found confirms what the model knows",
    "not_worth_it": "another search is not worth its cost",
    "max_rounds": "the limit of rounds was reached",
    "max_calls": "the limit of calls was reached",
    "max_tokens": "the limit of tokens was reached",
    "max_spend": "the limit of money was reached",
    "deadline": "the time was up",
    "retriever_failed": "the search failed",
    "model_failed": "the model failed, and this is its best draft",
}
DECIDED: dict[Action, str] = {
    "direct": "From memory",
    "single": "One search",
    "loop": "Search",
}
SERVED: dict[Action, str] = {
    "direct": "The answer from memory",
    "single": "The answer after one search",
    "loop": "The answer after the whole search",
}
BASELINE = (
    "The extractive model is a baseline: it quotes sentences and knows no language. "
    "Give --model for a real one."
)
Advance = Callable[[int, int | None], None]
"""Is given how much is done, and of how much where that is known."""


def escape(text: str) -> str:
    """Somebody else's text, cleaned, with nothing in it that Rich takes for markup."""
    return markup.escape(cleaned(text))


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    Example:
        >>> counted(1, "record"), counted(200, "record")
        ('1 record', '200 records')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def figure(mean: float, low: float, high: float, form: str = ".3f") -> str:
    """A mean with its interval, which is left out where it has no width.

    Example:
        >>> figure(0.5, 0.25, 0.75), figure(1.0, 1.0, 1.0)
        ('0.500 (0.250 to 0.750)', '1.000')
    """
    interval = f" ({low:{form}} to {high:{form}})" if low < high else ""
    return f"{mean:{form}}{interval}"


def print_json(value: Any) -> None:
    """Print a value, dataclasses included, as one JSON object, in UTF-8 whatever the locale."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE
    sys.stdout.flush()
    sys.stdout.buffer.write(orjson.dumps(encodable_json(to_plain(value)), option=options))
    sys.stdout.buffer.flush()


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "") -> None:
    """Print a table of figures so that no figure is folded, however narrow the terminal is.

    What does not fit as it stands is turned, with a column for each row; what does not fit either
    way is printed in parts, each with the names of the rows before it. In a pipe each row is a line
    with tabs between its cells.

    Args:
        headings: The headings of the columns; the first stands over the names.
        rows: The rows: a name, then a figure for each further heading.
        title: The line above the table.
    """
    as_it_stands = [list(headings), *map(list, rows)]
    if not console.is_terminal:
        lines = ["\t".join(" ".join(cleaned(each).split()) for each in row) for row in as_it_stands]
        console.file.write("\n".join([*([cleaned(title)] if title else []), *lines]) + "\n")
        return
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


def show_answer(console: Console, answer: Answer, model: str, *, streamed: bool = False) -> None:
    """Show an answer: how it came about, the text, its sources and its cost.

    Args:
        console: The console to print to.
        answer: The answer.
        model: The model, as --model names it.
        streamed: Leave out what a stream has shown already.
    """
    if not streamed:
        _rounds(console, answer)
        text = Text(cleaned(answer.text) or "(no answer)")
        boxed = Panel(text, title="Answer", title_align="left")
        console.print(boxed if console.is_terminal else text)
    print_sources(console, answer)
    if answer.decision.retrieve and not (answer.grounded or answer.is_partial):
        console.print("[yellow]Not supported by the references.[/yellow]")
    if answer.verdict:
        console.print(f"[dim]Served: {escape(answer.verdict.reason)}[/dim]")
    if answer.chance is not None:
        console.print(f"[dim]{answer.chance:.0%} likely to be right[/dim]")
    usage = answer.total_usage
    rounds = counted(len(answer.rounds), "round")
    console.print(
        f"[dim]Stopped: {STOP_REASONS[answer.stop_reason]} · {rounds} · {spent(usage)}[/dim]"
    )
    if is_extractive(model):
        console.print(f"[dim]{BASELINE}[/dim]")


def show_event(console: Console, event: dict[str, Any]) -> None:
    """Show one event of the graph."""
    kind = event["type"]
    if kind == "route":
        _decision(console, from_plain(Decision, event["decision"]))
    elif kind == "query":
        console.print(f"[cyan]search {event['round']}[/cyan] {escape(event['query'])}")
    elif kind == "references":
        console.print(f"  {len(event['added'])} new references, {event['total']} in hand")
    elif kind == "reflection":
        console.print(f"  {escape(event['reflection']['reason'])}")
    elif kind == "token":
        console.print(Text(cleaned(event["text"])), end="")
    elif kind == "retract":
        console.print("\n  [dim]not the answer: it refuses after all[/dim]")
    elif kind == "answer":
        console.print()


def spent(usage: Usage) -> str:
    """Calls and tokens in words.

    Example:
        >>> spent(Usage(prompt_tokens=1_900, completion_tokens=100, calls=1, estimated=True))
        '1 call · 2,000 tokens (estimated)'
    """
    about = " (estimated)" if usage.estimated else ""
    cached = f" · {usage.cached_calls} from a cache" if usage.cached_calls else ""
    return f"{counted(usage.calls, 'call')} · {usage.total_tokens:,} tokens{about}{cached}"


def _rounds(console: Console, answer: Answer) -> None:
    _decision(console, answer.decision)
    for number, each in enumerate(answer.rounds, start=1):
        for query in each.queries:
            console.print(f"[cyan]search {number}[/cyan] {escape(query)}")
        for error in each.errors:
            console.print(f"  [red]failed[/red] {escape(error)}")
        verdict = f" · {escape(each.reflection.reason)}" if each.reflection else ""
        console.print(f"  {len(each.found)} new references{verdict}")


def _decision(console: Console, decision: Decision) -> None:
    console.print(f"[bold]{DECIDED[decision.action]}[/bold]: {escape(decision.reason)}")
