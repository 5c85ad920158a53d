"""The result of a run, as tables for people and programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skr_app.output import console, escape, figure, print_json, print_table
from skr_learn.evaluate import Judged, difference, mean, measures_of
from skr_learn.metrics import Interval


@dataclass(frozen=True, slots=True)
class Row:
    """One condition of an experiment.

    Attributes:
        name: The name of the condition.
        cells: The mean of each measure with its interval.
        at: The number that the condition stands for, such as references given: rows that have one
            are drawn as a line over it.
        line: The line that it belongs to, where there are several.
    """

    name: str
    cells: Mapping[str, Interval]
    at: float | None = None
    line: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two conditions on the same questions, paired.

    Attributes:
        name: The name of the condition.
        against: The name of the condition that it is compared with.
        cells: The mean difference of each measure with its interval.
    """

    name: str
    against: str
    cells: Mapping[str, Interval]


@dataclass(frozen=True, slots=True)
class Result:
    """The result of an evaluation or an experiment.

    Attributes:
        experiment: The name of the experiment.
        title: The question that it asks, in words.
        settings: The settings of the run, by name.
        rows: One for each condition.
        comparisons: Pairs of conditions on the same questions.
        plotted: The measures that the plot shows, the one that decides first.
        notes: Remarks that a reader has to know.
        over: The thing that the rows' `at` counts, in words for an axis.
    """

    experiment: str
    title: str
    settings: Mapping[str, str]
    rows: tuple[Row, ...]
    comparisons: tuple[Comparison, ...] = ()
    plotted: tuple[str, ...] = ("answer_accuracy",)
    notes: tuple[str, ...] = field(default=())
    over: str = ""

    @property
    def measures(self) -> list[str]:
        """Every measure of any row, in order."""
        return list(dict.fromkeys(measure for row in self.rows for measure in row.cells))


def row_of(name: str, judged: Sequence[Judged], measures: Sequence[str] | None = None) -> Row:
    """The means of a condition, of all measures or of those named that it has.

    Args:
        name: The name of the condition.
        judged: The answers of the condition, judged.
        measures: The names of measures; None takes all.

    Example:
        >>> from skr_core.questions import Question
        >>> judged = [Judged(Question("1", "Who?", ("Ada",)), None, {"usd": 2.0, "calls": 1.0})]
        >>> row_of("loop", judged, ["usd"]).cells["usd"].mean
        2.0
    """
    present = measures_of(judged)
    chosen = present if measures is None else [each for each in measures if each in present]
    return Row(name, {measure: mean(judged, measure) for measure in chosen})


def compare(
    name: str,
    judged: Sequence[Judged],
    against: str,
    other: Sequence[Judged],
    measures: Sequence[str] | None = None,
) -> Comparison:
    """The paired differences of two conditions, for the measures that both have.

    Args:
        name: The name of the condition.
        judged: The answers of the condition, judged.
        against: The name of the other condition.
        other: The answers of the other condition to the same questions, in the same order.
        measures: Names of measures; None takes all.

    Example:
        >>> from skr_core.questions import Question
        >>> who = Question("1", "Who?", ("Ada",))
        >>> dear, cheap = [[Judged(who, None, {"usd": usd})] for usd in (3.0, 1.0)]
        >>> compare("loop", dear, "single", cheap).cells["usd"].mean
        2.0
    """
    both = [each for each in measures_of(judged) if each in set(measures_of(other))]
    chosen = both if measures is None else [each for each in measures if each in both]
    cells = {measure: difference(judged, other, measure) for measure in chosen}
    return Comparison(name, against, cells)


def to_markdown(result: Result) -> str:
    """The tables of a result: means with their 95 % intervals, n, and what failed.

    Example:
        >>> row = Row("always", {"answer_accuracy": Interval(0.5, 0.25, 0.75, 4, 1)})
        >>> print(to_markdown(Result("demo", "Does it pay?", {"model": "small"}, (row,))))
        # demo: Does it pay?
        <BLANKLINE>
        model: small
        <BLANKLINE>
        | | answer_accuracy | n | n_failed |
        |---|---:|---:|---:|
        | always | 0.500 (0.250 to 0.750) | 4 | 1 |
        <BLANKLINE>
    """
    measures = result.measures
    lines = [f"# {result.experiment}: {result.title}", ""]
    lines += [f"{name}: {value}" for name, value in result.settings.items()]
    lines += ["", _row("", [*measures, "n", "n_failed"]), _rule(len(measures) + 2)]
    for row in result.rows:
        cells = [shown(row.cells.get(measure)) for measure in measures]
        lines.append(_row(row.name, [*cells, *counts(row.cells)]))
    if result.comparisons:
        measures = list(dict.fromkeys(each for row in result.comparisons for each in row.cells))
        lines += ["", "Differences on the same questions, paired:", ""]
        lines += [_row("", [*measures, "n", "n_failed"]), _rule(len(measures) + 2)]
        for each in result.comparisons:
            cells = [shown(each.cells.get(measure), signed=True) for measure in measures]
            lines.append(_row(f"{each.name} − {each.against}", [*cells, *counts(each.cells)]))
    lines += ["", *result.notes] if result.notes else []
    return "\n".join(lines) + "\n"


def shown(interval: Interval | None, *, signed: bool = False) -> str:
    """A mean with its interval; nothing where nothing could be judged.

    Example:
        >>> shown(Interval(0.5, 0.25, 0.75, 4)), shown(None), shown(Interval(2500.0, 2400, 2600, 9))
        ('0.500 (0.250 to 0.750)', '–', '2,500 (2,400 to 2,600)')
    """
    if interval is None or not interval.n:
        return "–"
    largest = max(abs(interval.mean), abs(interval.low), abs(interval.high))
    digits = 0 if largest >= 1000 else 1 if largest >= 10 else 3
    digits = 5 if 0 < largest < 0.01 else digits
    form = f"{'+' if signed else ''},.{digits}f"
    return figure(interval.mean, interval.low, interval.high, form)


COUNTED = frozenset(
    "rounds calls model_calls retrievals cost prompt_tokens completion_tokens total_tokens tokens "
    "removed_markers usd seconds".split()
)
"""Measures that count something, however small the count is."""


def is_share(measure: str, cells: Sequence[Interval]) -> bool:
    """Whether a measure is a share from 0 to 1, or a difference of two.

    Example:
        >>> half = Interval(0.5, 0.4, 0.6, 9)
        >>> is_share("answer_accuracy", [half]), is_share("rounds", [half])
        (True, False)
    """
    return measure not in COUNTED and all(-1 <= end <= 1 for each in cells for end in
                                          (each.low, each.high))  # fmt: skip


def in_words(name: str) -> str:
    """A name of a program's as people write it.

    Example:
        >>> in_words("answer_accuracy")
        'answer accuracy'
    """
    return name.replace("_", " ")


def capital(text: str) -> str:
    """A text as the beginning of a sentence.

    Example:
        >>> capital("which system pays?")
        'Which system pays?'
    """
    return text[:1].upper() + text[1:]


def counts(cells: Mapping[str, Interval]) -> list[str]:
    """Questions judged and failed; a range where the measures differ."""
    found = []
    for name in ("n", "n_failed"):
        values = {getattr(cell, name) for cell in cells.values()} or {0}
        low, high = min(values), max(values)
        found.append(str(low) if low == high else f"{low}–{high}")
    return found


def _row(name: str, cells: Sequence[str]) -> str:
    escaped = (" ".join(cell.replace("|", "\\|").split()) for cell in (name, *cells))
    return "| " + " | ".join(escaped) + " |" if name else "| | " + " | ".join(cells) + " |"


def _rule(columns: int) -> str:
    return "|---|" + "---:|" * columns


def series_of(
    result: Result, measure: str
) -> tuple[dict[str, list[tuple[float, Interval]]], list[tuple[str, Interval]]]:
    """The lines of a measure over the rows' numbers, and the rows that stand for no number."""
    series: dict[str, list[tuple[float, Interval]]] = {}
    levels: list[tuple[str, Interval]] = []
    for row in result.rows:
        if (cell := row.cells.get(measure)) is None or not cell.n:
            continue
        if row.at is None:
            levels.append((row.name, cell))
        else:
            series.setdefault(row.line or in_words(measure), []).append((row.at, cell))
    return series, levels


def figures(cell: Interval, *, share: bool, signed: bool = False) -> str:
    """A mean with its interval where it has one; a difference of shares in points.

    Example:
        >>> figures(Interval(0.05, -0.01, 0.11, 9), share=True, signed=True)
        '+5.0 points (-1.0 to +11.0)'
        >>> figures(Interval(0.5, 0.5, 0.5, 9), share=True)
        '0.500'
    """
    if not (share and signed):
        return shown(cell, signed=signed)
    text = f"{100 * cell.mean:+.1f} points"
    if cell.low < cell.high:
        text += f" ({100 * cell.low:+.1f} to {100 * cell.high:+.1f})"
    return text


def show_result(
    result: Result,
    out: Path | None,
    *,
    json: bool,
    more: Mapping[str, Any],
    labels: Mapping[str, str] | None = None,
    findings: Sequence[str] = (),
) -> None:
    """Print a result for people, or as JSON together with what else belongs to it.

    Args:
        result: The result.
        out: The folder that it was written to.
        json: Print JSON.
        more: The further fields of the JSON.
        labels: The names of measures for people, where they differ.
        findings: What was found in sentences, in place of the differences alone.
    """
    if json:
        print_json({**more, "result": result})
        return
    settings = ", ".join(
        f"{in_words(name)} {value}" if value.isdecimal() else value
        for name, value in result.settings.items()
        if value
    )
    measures = result.measures
    named = [in_words((labels or {}).get(each, each)) for each in measures]
    headings = ["", *named, "questions", "failed"]
    rows = []
    for row in result.rows:
        n, n_failed = (
            max((getattr(cell, count) for cell in row.cells.values()), default=0)
            for count in ("n", "n_failed")
        )
        cells = (_shown_beside(row.cells.get(measure), n) for measure in measures)
        rows.append([row.name, *cells, str(n), str(n_failed)])
    print_table(
        headings,
        rows,
        title=f"{capital(result.title)} {settings}",
    )
    for finding in findings:
        console.print(escape(finding))
    for each in () if findings else result.comparisons:
        plotted = [name for name in result.plotted if name in each.cells]
        for name in plotted[:1]:
            difference = shown(each.cells[name], signed=True)
            line = f"{each.name} − {each.against}: {in_words(name)} {difference}"
            console.print(escape(f"{line}, on the same questions"))
    for note in result.notes:
        console.print(f"[dim]{escape(note)}[/dim]")
    if out is not None:
        # The last two need the extra `plots`.
        files = ("result.json", "result.md", "result.png", "report.html")
        written = ", ".join(name for name in files if (out / name).is_file())
        console.print(f"Written to {escape(str(out))}: {written}")


def _shown_beside(cell: Interval | None, n: int) -> str:
    """A figure, and its own n where it is not that of its row."""
    return f"{shown(cell)}, n {cell.n}" if cell and 0 < cell.n < n else shown(cell)
