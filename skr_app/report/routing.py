"""The sections of a calibration and of a replay."""

from __future__ import annotations

from collections.abc import Mapping

from skr_app.report.blocks import (
    FILLED,
    Block,
    Section,
    Table,
    cost_picture,
    drawn,
    gains_of,
    non_empty,
    risk_picture,
    tables_of,
)
from skr_app.report.drawings import AgainstCost, Forest
from skr_app.report.findings import AGAINST, findings_of_result
from skr_app.report.tables import Comparison, Result, Row, capital, in_words
from skr_learn import RoutingCurve, Summary
from skr_learn.curve import ALWAYS, COST_LABELS
from skr_learn.metrics import Interval
from skr_learn.replaying import GroupResult, Replay
from skr_learn.summary import Figures


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
        cost_picture(curve),
        risk_picture(summary.reliability),
        drawn("Accuracy with its 95 % interval", Forest(accuracies, share=True)),
        drawn("Accuracy gained on the same questions, paired", gains_of(gains), FILLED),
        Block(
            "All figures",
            tables=[
                Table(
                    ["policy", "accuracy", unit, "calls", "retrieved"],
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
            ],
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


def section_of_replay(name: str, found: Replay) -> Section:
    """The section of a replay.

    Args:
        name: The name of its file.
        found: What it found.
    """
    routers = found.overall.routers
    learnt = {each: of for each, of in routers.items() if each not in CONSTANT} or dict(routers)
    first = max(learnt, key=lambda each: (each == "recommended", learnt[each].accuracy.mean))
    overall = _table_of(found.overall)
    by_group = [(group, result.routers[first].over_best) for group, result in found.groups.items()]
    constants = [
        (ALWAYS[action], found.overall.constant_costs[action], each)
        for action, each in found.overall.constants.items()
    ]
    marks = [(in_words(each), of.cost.mean, of.accuracy) for each, of in learnt.items()]
    if {*learnt} <= CONSTANT:
        marks = []
    unit = COST_LABELS.get(found.unit, found.unit)
    blocks = [
        cost_picture(AgainstCost([*marks, *constants], unit, found.overall.frontier)),
        risk_picture(routers[first].reliability),
        drawn(
            "Accuracy with its 95 % interval",
            Forest([(each, of.accuracy) for each, of in routers.items()], share=True),
        ),
        *(
            drawn(
                f"Accuracy gained {words}, paired",
                gains_of([(each, getattr(of, measure)) for each, of in learnt.items()]),
                FILLED,
            )
            for measure, words in AGAINST.items()
        ),
        drawn(
            f"{capital(in_words(first))} {AGAINST['over_best']}, by group",
            gains_of(by_group),
            FILLED,
        ),
        Block("All figures", tables=tables_of(overall)),
        *(
            Block(f"All figures: {group}", tables=tables_of(_table_of(result)))
            for group, result in found.groups.items()
        ),
    ]
    notes = [f"{each}: {of.reliability.sentence}" for each, of in routers.items() if of.reliability]
    if found.left_out:
        notes.append(f"Left out, because they were learnt from: {found.left_out:,} records.")
    if found.assumed_steps is not None:
        notes.append(f"Loops that nobody counted retrieve {found.assumed_steps:g} times.")
    return Section(
        name,
        "replay",
        "What would routers have done on recorded answers?",
        findings_of_result(_beside_best(first, found)),
        non_empty(blocks),
        {"records": f"{found.overall.n:,}", "cost": unit},
        notes,
    )


def _table_of(group: GroupResult) -> Result:
    """A replay's group as a table: a row for each router."""
    rows = [
        Row(name, {each: cell for each, cell in vars(of).items() if isinstance(cell, Interval)})
        for name, of in group.routers.items()
    ]
    return Result("replay", "", {}, tuple(rows), plotted=("accuracy",))


def _beside_best(name: str, found: Replay) -> Result:
    """A router beside the best constant policy, of equals the cheapest."""
    group, router = found.overall, found.overall.routers[name]
    best = max(group.constants, key=lambda each: (
        group.constants[each].mean, -group.constant_costs[each]))  # fmt: skip
    cost = group.constant_costs[best]
    name = "the recommended router" if name == "recommended" else f"the router {name}"
    rows = (
        Row(name, {"accuracy": router.accuracy, "cost": router.cost}),
        Row(ALWAYS[best], {"accuracy": group.constants[best],
                           "cost": Interval(cost, cost, cost, group.n)}),
    )  # fmt: skip
    compared = Comparison(name, ALWAYS[best], {"accuracy": router.over_best})
    return Result("replay", "", {"cost": found.unit}, rows, (compared,), ("accuracy",))


CONSTANT = frozenset(("always", "never", "loop"))
"""The names of routers that do the same for every question."""
