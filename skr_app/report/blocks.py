"""What a section of a report is made of: drawings and tables under headings, and two pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

from skr_app.report.drawings import AgainstCost, Forest
from skr_app.report.findings import AGAINST
from skr_app.report.tables import Result, Row, figures, in_words, is_share
from skr_learn import RoutingCurve
from skr_learn.figures import png, svg
from skr_learn.metrics import TOLD, Interval, Reliability

FILLED = "A filled mark: the interval leaves 0 out."


class Drawn(Protocol):
    """A drawing that knows its height in inches."""

    @property
    def height(self) -> float:
        """Inches that it takes."""
        ...

    def __call__(self, figure: Any) -> None:
        """Draw it on an empty figure."""
        ...


@dataclass(frozen=True)
class Chart:
    """A drawing with its title.

    Attributes:
        title: The measure or system that it shows; empty where its block shows nothing else.
        drawing: What is drawn.
        told: What it shows, for whoever does not see it.
    """

    title: str
    drawing: Drawn
    told: str = ""

    @cached_property
    def svg(self) -> str:
        """The drawing for a page."""
        return svg(self.drawing, self.drawing.height)

    @property
    def png(self) -> bytes:
        """The drawing for a notebook."""
        return png(self.drawing, self.drawing.height)


@dataclass(frozen=True, slots=True)
class Table:
    """Figures, a name before each row.

    Attributes:
        headings: The headings of the columns.
        rows: The cells of each row.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a section under one heading.

    Attributes:
        title: The heading.
        charts: The drawings.
        tables: The tables.
        remark: A hint on how to read them.
        first: Whether it stands right below the verdict; the others are folded away.
    """

    title: str
    charts: Sequence[Chart] = ()
    tables: Sequence[Table] = ()
    remark: str = ""
    first: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """One run on the page.

    Attributes:
        name: The name of its folder or file.
        kind: The command or experiment.
        title: The question that it answers.
        findings: The findings in sentences; the first stands in the contents.
        blocks: The drawings and tables behind them.
        settings: What was judged on what, by name.
        notes: Remarks that a reader has to know.
        worst_of: The system whose worst answers follow.
        worst: The worst answers, as rows of ``scores.jsonl``.
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


def drawn(title: str, drawing: Drawn | None, remark: str = "") -> Block:
    """A block of one drawing, or an empty one."""
    return Block(title, [Chart("", drawing)] if drawing else [], remark=remark)


def with_about(section: Section, about: Mapping[str, str]) -> Section:
    """A section with more of what was judged on what."""
    return replace(section, settings={**section.settings, **about})


def cost_picture(drawing: RoutingCurve | AgainstCost | None) -> Block:
    """The first picture."""
    if drawing is None:
        return Block("Accuracy against cost")
    told = ", ".join(f"{name} {each.mean:.0%} at {at:.3g}" for name, at, each in drawing.marks)
    bound = "Nothing that chooses among these answers gets above the dotted line. "
    has_oracle = isinstance(drawing, RoutingCurve) or drawing.oracle[0]
    n = drawing.marks[0][2].n
    return Block(
        f"Accuracy against cost, n {n:,}",
        [Chart("", drawing, f"Right answers and their cost: {told}.")],
        remark="Higher is better, further left is cheaper. "
        f"{bound if has_oracle else ''}Bars, bands and “likely” are 95 % intervals.",
        first=True,
    )


def risk_picture(found: Reliability | None) -> Block:
    """The second picture, with its figures; where answers have no chance, why there is none."""
    title = "Risk against coverage"
    if found is None:
        said = "These answers carry no chance to be right, so that none can be held back by it. "
        return Block(title, remark=f"{said}Those of a policy that was calibrated do.", first=True)
    rows = [
        [
            f"{each.share:.0%}",
            f"{1 - each.accuracy.mean:.0%} ({1 - each.accuracy.high:.0%} to "
            f"{1 - each.accuracy.low:.0%})",
            "–" if each.share == 1 else f"{each.chance:.0%}",
        ]
        for each in map(found.surest_of, (*TOLD, 1.0))
    ]
    told = ", ".join(f"{wrong} wrong where {share} are answered" for share, wrong, _ in rows)
    return Block(
        title,
        [Chart("", found, f"{told}.")],
        [Table(["answered", "wrong (95 %)", "chance from"], rows)],
        "Where only the surest questions are answered, fewer answers are wrong.",
        first=True,
    )


def gains_of(rows: Sequence[tuple[str, Interval]]) -> Forest | None:
    """Differences of shares, where there are any."""
    return Forest(rows, share=True, signed=True) if rows else None


def non_empty(blocks: Sequence[Block]) -> list[Block]:
    """The blocks that have a drawing or a table."""
    return [each for each in blocks if each.charts or each.tables or each.first]


def tables_of(result: Result) -> list[Table]:
    """A table for each measure, so that no row is wider than a telephone."""
    tables = []
    for measure in result.measures:
        cells = cells_of(result.rows, measure)
        signed = measure in AGAINST
        share = is_share(measure, [cell for _, cell in cells])
        tables.append(_table(in_words(measure), cells, share, signed))
        cells = paired(result, measure)
        if cells:
            tables.append(_table(f"{in_words(measure)}, paired", cells, share, True))
    return tables


def cells_of(rows: Sequence[Row], measure: str) -> list[tuple[str, Interval]]:
    """The figures of a measure, by the names of the rows that have it."""
    return [(row.name, row.cells[measure]) for row in rows if measure in row.cells]


def paired(result: Result, measure: str) -> list[tuple[str, Interval]]:
    """The paired differences of a measure, by the names of both conditions."""
    return [
        (f"{each.name} − {each.against}", each.cells[measure])
        for each in result.comparisons
        if measure in each.cells
    ]


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
