"""The sections of the page: sentences first, then drawings, figures and the worst questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from skr_app.report.drawings import Forest, Scatter, drawing_of
from skr_app.report.findings import (
    AGAINST,
    findings_of_replay,
    findings_of_result,
)
from skr_app.report.tables import Result, Row, capital, figures, in_words, is_share
from skr_learn import RoutingCurve, Summary
from skr_learn.curve import COST_LABELS
from skr_learn.figures import svg
from skr_learn.metrics import Interval, bootstrap
from skr_learn.summary import Figures

FILLED = "A filled mark: the interval leaves 0 out."
BAND = "The band is the 95 % interval."


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
    """A drawing with its title.

    Attributes:
        title: The measure or system that it shows.
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
        folded: Whether it is shown only when a reader unfolds it.
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
        name: The name of its folder or file.
        kind: The command or experiment.
        title: The question that it answers.
        findings: The findings in sentences; the first stands in the contents.
        blocks: The drawings and tables behind them.
        settings: The settings of the run, by name.
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


def _drawn(title: str, drawing: Drawn | None, remark: str = "") -> Block:
    """A block of one drawing, or an empty one."""
    return Block(title, [Chart.of("", drawing)] if drawing else [], remark=remark)


def _gains(rows: Sequence[tuple[str, Interval]]) -> Forest | None:
    """Differences of shares, where there are any."""
    return Forest(rows, share=True, signed=True) if rows else None


def non_empty(blocks: Sequence[Block]) -> list[Block]:
    """The blocks that have a drawing or a table."""
    return [each for each in blocks if each.charts or each.tables]


def tables_of(result: Result) -> list[Table]:
    """A table for each measure, so that no row is wider than a telephone."""
    tables = []
    for measure in result.measures:
        cells = cells_of(result.rows, measure)
        signed = measure in AGAINST
        share = is_share(measure, [cell for _, cell in cells])
        tables.append(_table(in_words(measure), cells, share, signed))
        cells = _paired(result, measure)
        if cells:
            tables.append(_table(f"{in_words(measure)}, paired", cells, share, True))
    return tables


def cells_of(rows: Sequence[Row], measure: str) -> list[tuple[str, Interval]]:
    """The figures of a measure, by the names of the rows that have it."""
    return [(row.name, row.cells[measure]) for row in rows if measure in row.cells]


def _paired(result: Result, measure: str) -> list[tuple[str, Interval]]:
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


WORST = 20
"""The questions that are shown in full."""
ANSWERS = "answer_accuracy"
"""The measure that says which answers are wrong."""
_COST = ("calls", "prompt_tokens", "completion_tokens", "usd")


def section_of_result(
    name: str,
    result: Result,
    scores: Sequence[Mapping[str, Any]] = (),
    curve: RoutingCurve | None = None,
) -> Section:
    """The section of an evaluation or an experiment.

    Args:
        name: The name of its folder or file.
        result: The result.
        scores: Every answer with its values, as a run's ``scores.jsonl`` holds them.
        curve: The curve of its router's calibration.
    """
    plotted = [each for each in result.plotted if each in result.measures] or result.measures[:1]
    charts = [Chart.of(in_words(each), drawing_of(result, each)) for each in plotted]
    bad = worst(scores, decides=plotted[0] if plotted else ANSWERS)
    blocks = [
        Block("Means with their 95 % intervals", charts),
        Block(
            "Differences on the same questions, paired",
            _differences(result, plotted),
            remark=FILLED,
        ),
        _drawn("Accuracy against cost", _against_cost(result)),
        _drawn("The router's calibration", curve, BAND),
        Block("Accuracy by rounds", _by_rounds(scores)),
        Block("Cost of a question", _costs(result.rows, plotted)),
        Block("All figures", tables=tables_of(result), folded=True),
    ]
    return Section(
        name,
        result.experiment,
        capital(result.title),
        findings_of_result(result),
        non_empty(blocks),
        result.settings,
        result.notes,
        str(bad[0]["system"]) if bad else "",
        bad,
    )


def accuracy_by_rounds(scores: Sequence[Mapping[str, Any]]) -> dict[str, dict[int, Interval]]:
    """For each system, the accuracy of the questions that ended after so many rounds.

    Example:
        >>> row = {"system": "loop", "rounds": [{}, {}], "values": {"answer_accuracy": 1.0}}
        >>> accuracy_by_rounds([row])["loop"][2].mean
        1.0
    """
    groups: dict[str, dict[int, list[float]]] = {}
    for row in scores:
        value = row["values"].get("answer_accuracy")
        if value is not None:
            system = groups.setdefault(str(row["system"]), {})
            system.setdefault(len(row.get("rounds") or ()), []).append(float(value))
    return {
        system: {rounds: bootstrap(group[rounds]) for rounds in sorted(group)}
        for system, group in groups.items()
    }


def worst(
    scores: Sequence[Mapping[str, Any]], count: int = WORST, *, decides: str = ANSWERS
) -> list[Mapping[str, Any]]:
    """The best system's worst answers: failed, wrong, little found, much spent.

    Args:
        scores: Rows of ``scores.jsonl``.
        count: The number of answers at most.
        decides: The measure of a run that judges no answers, such as one of reflectors.

    Example:
        >>> rows = [{"system": "loop", "id": n, "values": {"answer_accuracy": n}} for n in (1, 0)]
        >>> [row["id"] for row in worst(rows)]
        [0]
    """
    decides = ANSWERS if any(ANSWERS in row["values"] for row in scores) else decides
    scores = [row for row in scores if decides in row["values"]]
    if not scores:
        return []
    right: dict[str, list[float]] = {}
    for row in scores:
        right.setdefault(str(row["system"]), []).append(row["values"][decides] or 0.0)
    # Of equals the last, which is what the others are compared with.
    best = max(reversed(right), key=lambda system: sum(right[system]) / len(right[system]))

    def badness(row: Mapping[str, Any]) -> tuple[float, ...]:
        values = row["values"]
        accuracy, found = values[decides], values.get("title_recall")
        unknown = -1.0
        return (
            unknown if accuracy is None else accuracy,
            unknown if found is None else found,
            values.get("token_f1") or 0.0,
            -float(len(row.get("rounds") or ())),
        )

    rows = [row for row in scores if row["system"] == best]
    bad = [row for row in rows if row["values"][decides] != 1.0]
    return sorted(bad, key=badness)[:count]


def _differences(result: Result, plotted: Sequence[str]) -> list[Chart]:
    charts = []
    for measure in plotted:
        rows = [each for each in _paired(result, measure) if each[1].n]
        if rows:
            share = is_share(measure, [cell for _, cell in rows])
            charts.append(Chart.of(in_words(measure), Forest(rows, share, signed=True)))
    return charts


def _against_cost(result: Result) -> Scatter | None:
    """Accuracy against prompt tokens, where systems differ in both."""
    points = [
        (row.name, row.cells["prompt_tokens"].mean, row.cells["answer_accuracy"])
        for row in result.rows
        if {"prompt_tokens", "answer_accuracy"} <= row.cells.keys() and row.at is None
    ]
    if not 1 < len(points) <= 12:
        return None
    return Scatter(points, "answer accuracy", "prompt tokens a question")


def _by_rounds(scores: Sequence[Mapping[str, Any]]) -> list[Chart]:
    return [
        Chart.of(
            in_words(system),
            Forest(
                [(f"{n} round{'' if n == 1 else 's'}", cell) for n, cell in rounds.items()],
                share=True,
            ),
        )
        for system, rounds in accuracy_by_rounds(scores).items()
        if len(rounds) > 1
    ]


def _costs(rows: Sequence[Row], plotted: Sequence[str]) -> list[Chart]:
    charts = []
    for measure in _COST:
        cells = cells_of(rows, measure)
        if cells and measure not in plotted:
            charts.append(Chart.of(in_words(measure), Forest(cells, share=False)))
    return charts


def section_of_calibration(
    name: str, summary: Summary, compared: Mapping[str, Figures], curve: RoutingCurve
) -> Section:
    """The section of a calibration.

    Args:
        name: The name of its file.
        summary: The summary of what was saved.
        compared: The figures of each candidate, at the rule that it would be served with.
        curve: The curve of accuracy against cost.
    """
    unit = COST_LABELS.get(summary.unit, summary.unit)
    named = {
        f"{summary.router}, as chosen": summary.promised,
        **{f"always {action}": each for action, each in summary.constants.items()},
        **{name: each for name, each in compared.items() if name not in _constants_of(summary)},
    }
    gains = [(f"{summary.router} − always {summary.baseline}", summary.gain)]
    gains += [(f"in the group {group}", gain) for group, (gain, _) in summary.groups.items()]
    accuracies = [(each, figures.accuracy) for each, figures in named.items()]
    blocks = [
        _drawn(f"Accuracy against cost, n {summary.n:,}", curve, BAND),
        _drawn("Accuracy with its 95 % interval", Forest(accuracies, share=True)),
        _drawn("Accuracy gained on the same questions, paired", _gains(gains), FILLED),
        Block(
            "All figures",
            tables=[
                Table(
                    ["", "accuracy", unit, "calls", "retrieved"],
                    [
                        [
                            each,
                            f"{figures.accuracy.mean:.3f}",
                            f"{figures.cost.mean:.3g}",
                            f"{figures.calls.mean:.2f}",
                            f"{figures.retrieved.mean:.0%}",
                        ]
                        for each, figures in named.items()
                    ],
                ),
                Table(
                    [unit, "accuracy", "95 % interval"],
                    [
                        [f"{cost:.3g}", f"{mean:.3f}", f"{low:.3f} to {high:.3f}"]
                        for cost, mean, low, high in zip(
                            curve.costs, curve.accuracy, curve.low, curve.high, strict=True
                        )
                    ],
                ),
            ],
            folded=True,
        ),
    ]
    settings = {"records": f"{summary.n:,}", "cost": unit, "router": summary.router}
    return Section(
        name,
        "calibrate",
        "Does routing pay?",
        summary.sentences,
        non_empty(blocks),
        settings,
        summary.samples,
    )


def _constants_of(summary: Summary) -> set[str]:
    """What constant policies, and what was chosen, are called among the candidates."""
    return {summary.router, *(f"always {action}" for action in summary.constants)}


def section_of_replay(name: str, overall: Result, groups: Mapping[str, Result]) -> Section:
    """The section of a replay.

    Args:
        name: The name of its file.
        overall: A row for each router, over all questions.
        groups: A result as `overall` for each group of questions.
    """
    learnt = [row for row in overall.rows if row.name not in CONSTANT] or list(overall.rows)
    named = {row.name: row for row in learnt}
    first = named.get("recommended") or max(learnt, key=lambda row: row.cells["accuracy"].mean)
    points = [(row.name, row.cells["cost"].mean, row.cells["accuracy"]) for row in overall.rows]
    accuracies = [(row.name, row.cells["accuracy"]) for row in overall.rows]
    by_group = [
        (group, row.cells["over_best"])
        for group, result in groups.items()
        for row in result.rows
        if row.name == first.name
    ]
    blocks = [
        _drawn(
            f"Accuracy against cost, n {first.cells['accuracy'].n:,}",
            Scatter(points, "accuracy", overall.over),
        ),
        _drawn("Accuracy with its 95 % interval", Forest(accuracies, share=True)),
        *(
            _drawn(f"Accuracy gained {words}, paired", _gains(cells_of(learnt, measure)), FILLED)
            for measure, words in AGAINST.items()
        ),
        _drawn(
            f"{capital(in_words(first.name))} {AGAINST['over_best']}, by group",
            _gains(by_group),
            FILLED,
        ),
        Block("All figures", tables=tables_of(overall), folded=True),
        *(
            Block(f"All figures: {group}", tables=tables_of(result), folded=True)
            for group, result in groups.items()
        ),
    ]
    return Section(
        name,
        "replay",
        "What would routers have done on recorded answers?",
        findings_of_replay(overall, [first.name]),
        non_empty(blocks),
        overall.settings,
        overall.notes,
    )


CONSTANT = frozenset(("always", "never", "loop"))
"""The names of routers that do the same for every question."""
