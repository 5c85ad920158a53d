"""The section of an evaluation or an experiment: pictures, differences and the worst questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skr_app.report.blocks import (
    FILLED,
    Block,
    Chart,
    Section,
    cells_of,
    cost_picture,
    non_empty,
    paired,
    risk_picture,
    tables_of,
)
from skr_app.report.drawings import AgainstCost, Forest, drawing_of
from skr_app.report.findings import NAMED, findings_of_result
from skr_app.report.tables import Result, capital, in_words, is_share
from skr_learn.costs import ActionTable
from skr_learn.curve import frontier_with
from skr_learn.metrics import Interval, Reliability, bootstrap

WORST = 20
"""The questions that are shown in full."""
ANSWERS = "answer_accuracy"
"""The measure that says which answers are wrong."""
TOKENS = "prompt_tokens"
"""What a system costs."""


def section_of_result(
    name: str,
    result: Result,
    scores: Sequence[Mapping[str, Any]] = (),
) -> Section:
    """The section of an evaluation or an experiment.

    Args:
        name: The name of its folder or file.
        result: The result.
        scores: Every answer with its values, as a run's ``scores.jsonl`` holds them.
    """
    plotted = [each for each in result.plotted if each in result.measures] or result.measures[:1]
    charts = [Chart(in_words(each), drawing_of(result, each)) for each in plotted]
    decides = plotted[0] if plotted else ANSWERS
    bad = worst(scores, decides=decides)
    cost = cost_picture(_against_cost(result, scores, decides))
    blocks = [
        cost,
        *([risk_picture(_reliability(scores, decides))] if result.experiment == "evaluate" else ()),
        Block("Means with their 95 % intervals", charts, first=not cost.charts),
        Block(
            "Differences on the same questions, paired",
            _differences(result, plotted),
            remark=FILLED,
        ),
        Block("Accuracy by rounds", _by_rounds(scores)),
        Block("All figures", tables=tables_of(result)),
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
        rows = [each for each in paired(result, measure) if each[1].n]
        if rows:
            share = is_share(measure, [cell for _, cell in rows])
            charts.append(Chart(in_words(measure), Forest(rows, share, signed=True)))
    return charts


def _against_cost(
    result: Result, scores: Sequence[Mapping[str, Any]], decides: str
) -> AgainstCost | None:
    """What decides against prompt tokens, where several systems have both.

    Of answers there is an oracle too: for each question the cheapest of those that are right.
    """
    if not is_share(decides, [cell for _, cell in cells_of(result.rows, decides)]):
        return None
    needed, label = (decides, TOKENS), f"{in_words(TOKENS)} a question"
    marks = [
        (NAMED.get(row.name, in_words(row.name)), row.cells[TOKENS].mean, row.cells[decides])
        for row in result.rows
        if {*needed} <= row.cells.keys() and row.at is None and row.cells[decides].n
    ]
    if not 1 < len(marks) <= 12:
        return None
    answered: dict[str, dict[Any, list[float]]] = {}
    for row in scores:
        if None not in (found := [row["values"].get(each) for each in needed]):
            answered.setdefault(row["system"], {})[row["id"], row["question"]] = found
    common = set.intersection(*map(set, answered.values())) if answered else set()
    if len(common) != max(each.n for _, _, each in marks) or len(answered) != len(marks):
        return AgainstCost(marks, label)  # some failed, so that no choice among all is known
    both = np.array([[each[key] for key in sorted(common)] for each in answered.values()])
    names: Any = tuple(answered)
    table = ActionTable(names, *both.T[[0, 1, 1]])
    return AgainstCost(marks, label, frontier_with(table, [cost for _, cost, _ in marks]))


def _reliability(scores: Sequence[Mapping[str, Any]], decides: str) -> Reliability | None:
    """How true the chances of the answers are that have one."""
    pairs = [
        (row["chance"], row["values"][decides])
        for row in scores
        if row.get("chance") is not None and row["values"].get(decides) is not None
    ]
    return Reliability.of(*np.array(pairs, dtype=np.float64).T) if pairs else None


def _by_rounds(scores: Sequence[Mapping[str, Any]]) -> list[Chart]:
    return [
        Chart(
            in_words(system),
            Forest(
                [(f"{n} round{'' if n == 1 else 's'}", cell) for n, cell in rounds.items()],
                share=True,
            ),
        )
        for system, rounds in accuracy_by_rounds(scores).items()
        if len(rounds) > 1
    ]
