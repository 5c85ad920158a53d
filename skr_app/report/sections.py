"""What the page shows of a run: sentences first, then drawings, figures and the worst questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from skr_app.report import findings
from skr_app.report.drawing import figures
from skr_app.report.tables import Result, in_words, is_share
from skr_learn.figures import svg
from skr_learn.metrics.statistics import Interval

FILLED = "A filled mark: the interval leaves 0 out."
BAND = (
    "The band is the 95 % interval. At random: the best mixture of constant policies at that cost."
)
_SIGNED = {*findings.AGAINST, "area_gain"}
"""Measures of a replay that are differences."""


class Drawn(Protocol):
    """A drawing that knows its height in inches."""

    @property
    def height(self) -> float:
        """Inches that it takes."""
        ...

    def __call__(self, figure: Any) -> None:
        """Draw it on an empty figure."""
        ...


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing with what it shows.

    Attributes:
        title: What it shows.
        svg: The drawing, as `skr_learn.figures.svg` makes it.
    """

    title: str
    svg: str

    @classmethod
    def of(cls, title: str, drawn: Drawn) -> Chart:
        """Draw it."""
        return cls(title, svg(drawn, drawn.height))


@dataclass(frozen=True, slots=True)
class Table:
    """Figures, a name before each row.

    Attributes:
        headings: Of the columns.
        rows: Their cells.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Block:
    """What belongs together in a section.

    Attributes:
        title: Its heading.
        charts: Its drawings.
        tables: Its tables.
        remark: How to read them.
        folded: Shown when it is asked for.
    """

    title: str
    charts: Sequence[Chart] = ()
    tables: Sequence[Table] = ()
    remark: str = ""
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """One run on the page.

    Attributes:
        name: Of its folder or file.
        kind: What was run.
        title: The question that it answers.
        findings: What was found, in sentences; the first stands in the contents.
        blocks: What it rests on.
        settings: What it was made with.
        notes: What a reader has to know.
        worst_of: The system whose worst answers follow.
        worst: These, as rows of ``scores.jsonl``.
    """

    name: str
    kind: str
    title: str
    findings: Sequence[str]
    blocks: Sequence[Block] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    worst_of: str = ""
    worst: Sequence[Mapping[str, Any]] = ()


def held(blocks: Sequence[Block]) -> list[Block]:
    """Those that hold anything."""
    return [each for each in blocks if each.charts or each.tables]


def tables_of(result: Result) -> list[Table]:
    """A table for each measure, so that no row is wider than a telephone."""
    tables = []
    for measure in result.measures:
        cells = [(row.name, row.cells[measure]) for row in result.rows if measure in row.cells]
        signed = measure in _SIGNED
        share = is_share(measure, [cell for _, cell in cells])
        tables.append(_table(in_words(measure), cells, share, signed))
        cells = [
            (f"{each.name} − {each.against}", each.cells[measure])
            for each in result.comparisons
            if measure in each.cells
        ]
        if cells:
            tables.append(_table(f"{in_words(measure)}, paired", cells, share, True))
    return tables


def _table(heading: str, cells: Sequence[tuple[str, Interval]], share: bool, signed: bool) -> Table:
    return Table(
        [heading, "points (95 %)" if share and signed else "mean (95 %)", "n"],
        [
            [
                in_words(name),
                figures(cell, share=share, signed=signed).replace(" points", "") if cell.n else "–",
                f"{cell.n:,} + {cell.n_failed} failed" if cell.n_failed else f"{cell.n:,}",
            ]
            for name, cell in cells
        ],
    )
