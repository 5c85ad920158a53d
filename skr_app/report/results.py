"""The section of an evaluation or an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skr_app.report import findings
from skr_app.report.drawing import Forest, Scatter, drawing_of
from skr_app.report.sections import BAND, FILLED, Block, Chart, Section, held, tables_of
from skr_app.report.tables import Result, Row, capital, in_words, is_share
from skr_learn.calibration.curve import RoutingCurve
from skr_learn.calibration.plotting import CurveDrawing
from skr_learn.metrics.statistics import Interval, bootstrap

WORST = 20
"""Questions shown in full."""
ANSWERS = "answer_accuracy"
"""What says which answers are wrong."""
_COST = ("calls", "prompt_tokens", "completion_tokens", "usd")


def of_result(
    name: str,
    result: Result,
    scores: Sequence[Mapping[str, Any]] = (),
    curve: RoutingCurve | None = None,
) -> Section:
    """The section of an evaluation or an experiment.

    Args:
        name: Of its folder or file.
        result: The table.
        scores: Every answer with its values, as a run's ``scores.jsonl`` holds them.
        curve: Of its router's calibration.
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
        Block("Accuracy against cost", _against_cost(result)),
        Block(
            "The router's calibration",
            [] if curve is None else [Chart.of("", CurveDrawing(curve))],
            remark=BAND,
        ),
        Block("Accuracy by rounds", _by_rounds(scores)),
        Block("Cost of a question", _costs(result.rows, plotted)),
        Block("All figures", tables=tables_of(result), folded=True),
    ]
    return Section(
        name,
        result.experiment,
        capital(result.title),
        findings.of_result(result),
        held(blocks),
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
        count: How many answers at most.
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
        rows = [
            (f"{each.name} − {each.against}", each.cells[measure])
            for each in result.comparisons
            if measure in each.cells and each.cells[measure].n
        ]
        if rows:
            share = is_share(measure, [cell for _, cell in rows])
            charts.append(Chart.of(in_words(measure), Forest(rows, share, signed=True)))
    return charts


def _against_cost(result: Result) -> list[Chart]:
    """Accuracy against prompt tokens, where systems differ in both."""
    points = [
        (row.name, row.cells["prompt_tokens"].mean, row.cells["answer_accuracy"])
        for row in result.rows
        if {"prompt_tokens", "answer_accuracy"} <= row.cells.keys() and row.at is None
    ]
    if not 1 < len(points) <= 12:
        return []
    return [Chart.of("", Scatter(points, "answer accuracy", "prompt tokens a question"))]


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
        cells = [(row.name, row.cells[measure]) for row in rows if measure in row.cells]
        if cells and measure not in plotted:
            charts.append(Chart.of(in_words(measure), Forest(cells, share=False)))
    return charts
