"""The sections of calibrations and replays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skr_app.report import findings
from skr_app.report.drawing import Forest, Scatter
from skr_app.report.sections import (
    BAND,
    FILLED,
    Block,
    Chart,
    Section,
    Table,
    held,
    tables_of,
)
from skr_app.report.tables import Result, capital, in_words
from skr_core.plain import from_plain
from skr_learn.calibration.curve import RoutingCurve
from skr_learn.calibration.plotting import COST_LABELS, CurveDrawing
from skr_learn.metrics.statistics import Interval

_RATES = {
    "retrievals": "retrievals a question",
    "retrieval_rate": "share of the questions retrieved for",
}
_SENT = {
    "beneficial_guidance": "Sent the right way, where retrieval changes whether it is right",
    "accuracy_when_known": "Accuracy of the direct answer, where the router says it is known",
}


def of_curve(
    name: str, curve: RoutingCurve, more: Mapping[str, Mapping[str, Any]] | None = None
) -> Section:
    """The section of a calibration.

    Args:
        name: Of its file.
        curve: Accuracy against cost.
        more: What else was calibrated, such as an arbiter, each with its ``sentence`` and, where it
            has one, its ``gain``.
    """
    more = more or {}
    gains = [(f"{curve.router} − {curve.best_constant}", curve.against_constant)]
    gains += [
        (f"with {in_words(each)} − without", from_plain(Interval, found["gain"]))
        for each, found in more.items()
        if "gain" in found
    ]
    constants = [(f"always {action}", cell) for action, cell in curve.constants.items()]
    means = Forest([*constants, (f"{curve.router}, as chosen", curve.chosen)], True)
    worth = Forest(list(curve.compared.items()), share=True, signed=True)
    unit = COST_LABELS[curve.unit]
    spent = [("always " + action, cost) for action, cost in curve.constant_costs.items()]
    spent.append((f"{curve.router}, as chosen", curve.chosen_cost))
    shares = [[f"share answered by {each}", f"{100 * of:.0f} %"]
              for each, of in curve.shares.items()]  # fmt: skip
    points = zip(curve.costs, curve.accuracy, curve.low, curve.high, curve.random_line,
                 curve.oracle, strict=True)  # fmt: skip
    blocks = [
        Block(
            f"Accuracy against cost, n {curve.chosen.n:,}",
            [Chart.of("", CurveDrawing(curve))],
            remark=BAND,
        ),
        Block("Accuracy with its 95 % interval", [Chart.of("", means)]),
        Block(
            "Accuracy gained on the same questions, paired",
            [Chart.of("", Forest(gains, share=True, signed=True))],
            remark=FILLED,
        ),
        Block(
            "The routers that were tried",
            [Chart.of("", worth)] if curve.compared else [],
            remark="Accuracy less price times cost, over that of drawing the same actions at "
            f"random: the mean over all prices. {FILLED}",
        ),
        *_guidance(
            {
                measure: [(name, getattr(each, measure)) for name, each in curve.guidance.items()]
                for measure in _SENT
            }
        ),
        Block(
            "All figures",
            tables=[
                Table(["", unit], [[each, f"{cost:.2f}"] for each, cost in spent] + shares),
                Table(
                    [unit, "accuracy", "95 % interval", "at random", "oracle"],
                    [
                        [
                            f"{cost:.2f}",
                            f"{mean:.3f}",
                            f"{low:.3f} to {high:.3f}",
                            f"{line:.3f}",
                            f"{best:.3f}",
                        ]
                        for cost, mean, low, high, line, best in points
                    ],
                ),
            ],
            folded=True,
        ),
    ]
    said = [str(each["sentence"]) for each in more.values()]
    settings = {"records": f"{curve.chosen.n:,}", "cost": unit, "router": curve.router}
    found = [*findings.of_curve(curve), *said]
    return Section(name, "calibrate", "Does routing pay?", found, held(blocks), settings)


def of_replay(name: str, overall: Result, groups: Mapping[str, Result]) -> Section:
    """The section of a replay.

    Args:
        name: Of its file.
        overall: A row for each router, over all questions.
        groups: The same for each group of questions.
    """
    policies = [row for row in overall.rows if row.name != "oracle"]
    learnt = [row for row in policies if row.name not in {"always", "never", "multistep"}]
    named = {row.name: row for row in learnt or policies}
    first = named.get("recommended") or max(
        named.values(), key=lambda row: row.cells["accuracy"].mean
    )
    told = [first.name, *(each for each in ("arbiter", "ladder") if each in named)]
    cost = "retrievals" if "retrievals" in first.cells else "retrieval_rate"
    points = [
        (row.name, row.cells[cost].mean, row.cells["accuracy"])
        for row in overall.rows
        if cost in row.cells
    ]
    accuracies = [(row.name, row.cells["accuracy"]) for row in overall.rows]
    gains: dict[str, list[tuple[str, Interval]]] = {}
    for measure in findings.AGAINST:
        rows = [(row.name, row.cells[measure]) for row in learnt if measure in row.cells]
        if rows and not any(set(rows) <= set(shown) for shown in gains.values()):
            gains[measure] = rows
    by_group = [
        (group, row.cells["against_constant"])
        for group, result in groups.items()
        for row in result.rows
        if row.name == first.name and "against_constant" in row.cells
    ]
    blocks = [
        Block(
            f"Accuracy against cost, n {first.cells['accuracy'].n:,}",
            [Chart.of("", Scatter(points, "accuracy", _RATES[cost]))],
        ),
        Block("Accuracy with its 95 % interval", [Chart.of("", Forest(accuracies, share=True))]),
        *(
            Block(
                f"Accuracy gained {findings.AGAINST[measure]}, paired",
                [Chart.of("", Forest(rows, share=True, signed=True))],
                remark=FILLED,
            )
            for measure, rows in gains.items()
        ),
        *_guidance(
            {
                measure: [(row.name, row.cells[measure]) for row in overall.rows
                          if measure in row.cells]
                for measure in _SENT
            }
        ),
        Block(
            f"{capital(in_words(first.name))} {findings.AGAINST['against_constant']}, by group",
            [Chart.of("", Forest(by_group, share=True, signed=True))] if by_group else [],
            remark=FILLED,
        ),
        Block("All figures", tables=tables_of(overall), folded=True),
        *(Block(f"All figures: {group}", tables=tables_of(result), folded=True)
          for group, result in groups.items()),
    ]  # fmt: skip
    return Section(
        name,
        "replay",
        "What would routers have done on recorded answers?",
        findings.of_replay(overall, list(dict.fromkeys(told))),
        held(blocks),
        overall.settings,
        overall.notes,
    )


def _guidance(measured: Mapping[str, Sequence[tuple[str, Interval]]]) -> list[Block]:
    """Whether routers send questions the right way, by measure and router."""
    judged = {
        title: [(name, cell) for name, cell in measured[measure] if cell.n]
        for measure, title in _SENT.items()
    }
    return [
        Block(title, [Chart.of("", Forest(rows, share=True))])
        for title, rows in judged.items()
        if rows
    ]
