"""Runs as one HTML page: it asks nothing of the network, and reads on a telephone.

Everything from a run is escaped, because passages and models' answers are hostile.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from skr_core.evaluation.report.drawing import STYLE, bars, curve
from skr_core.evaluation.report.tables import Comparison, Result, Row, shown
from skr_core.metrics.statistics import Interval, bootstrap
from skr_core.texts import encodable

WORST = 20
"""Questions shown in full."""
LONGEST = 600
"""Characters of an answer that are shown."""
_COST = ("calls", "prompt_tokens", "completion_tokens", "usd")


@dataclass(frozen=True, slots=True)
class ReportedRun:
    """What a run's folder holds.

    Attributes:
        name: Of the folder.
        result: The table.
        scores: Every answer with its values, as a run's ``scores.jsonl`` holds them.
        plot: A PNG; empty where there is none.
        curve: Share retrieved and accuracy, where the run has a routing curve.
    """

    name: str
    result: Result
    scores: Sequence[Mapping[str, Any]] = ()
    plot: bytes = b""
    curve: Sequence[tuple[float, float]] = field(default=())


def report_page(runs: Sequence[ReportedRun], title: str = "skr report") -> str:
    """The runs as one page of HTML, in text that UTF-8 holds.

    Args:
        runs: Shown one under the other.
        title: Of the page.

    Example:
        >>> page = report_page([ReportedRun("<b>", Result("demo", "Does it pay?", {}, ()))])
        >>> "<h2>demo: Does it pay?</h2>" in page, "&lt;b&gt;" in page, "<b>" in page
        (True, True, False)
    """
    body = "\n".join(map(_section, runs))
    return encodable(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        # Nothing is loaded and nothing runs, whatever a passage holds.
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'; img-src data:\">\n"
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n<h1>{escape(title)}</h1>\n{body}\n</body>\n</html>\n"
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


def worst(scores: Sequence[Mapping[str, Any]], count: int = WORST) -> list[Mapping[str, Any]]:
    """The best system's worst answers: failed, wrong, little found, much spent.

    Args:
        scores: Rows of ``scores.jsonl``.
        count: How many answers at most.

    Example:
        >>> rows = [{"system": "loop", "id": n, "values": {"answer_accuracy": n}} for n in (1, 0)]
        >>> [row["id"] for row in worst(rows)]
        [0]
    """
    if not scores:
        return []
    right: dict[str, list[float]] = {}
    for row in scores:
        right.setdefault(str(row["system"]), []).append(row["values"].get("answer_accuracy") or 0.0)
    # Of equals the last, which is what the others are compared with.
    best = max(reversed(right), key=lambda system: sum(right[system]) / len(right[system]))

    def badness(row: Mapping[str, Any]) -> tuple[float, ...]:
        values = row["values"]
        accuracy, found = values.get("answer_accuracy"), values.get("title_recall")
        unknown = -1.0
        return (
            unknown if accuracy is None else accuracy,
            unknown if found is None else found,
            values.get("token_f1") or 0.0,
            -float(len(row.get("rounds") or ())),
        )

    rows = [row for row in scores if row["system"] == best]
    bad = [row for row in rows if row["values"].get("answer_accuracy", 0.0) != 1.0]
    return sorted(bad, key=badness)[:count]


def _section(run: ReportedRun) -> str:
    result = run.result
    settings = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>"
        for name, value in result.settings.items()
    )
    parts = [
        f"<section>\n<h2>{escape(result.experiment)}: {escape(result.title)}</h2>",
        f'<p class="run">{escape(run.name)}</p><dl>{settings}</dl>',
        *(f"<p>{escape(note)}</p>" for note in result.notes),
        _means(result.rows, [each for each in result.plotted if each in result.measures]),
    ]
    if run.plot:
        data = base64.b64encode(run.plot).decode()
        parts.append(f'<img alt="means and intervals" src="data:image/png;base64,{data}">')
    others = [each for each in result.measures if each not in result.plotted]
    if others:
        table = _means(result.rows, others)
        parts.append(f"<details><summary>All other measures</summary>{table}</details>")
    if result.comparisons:
        parts.append("<h3>Differences on the same questions, paired</h3>")
        parts += [_difference(each) for each in result.comparisons]
    points = list(run.curve)
    constants = _rates(result.rows)
    if points or len(constants) > 1:
        parts.append("<h3>Accuracy by share of questions retrieved for</h3>")
        parts.append(curve(points, constants))
    parts += [_rounds(run.scores), _costs(result.rows), _worst(run.scores), "</section>"]
    return "\n".join(filter(None, parts))


def _means(rows: Sequence[Row], measures: Sequence[str]) -> str:
    """A table as cards: one block a measure, so that no row is wider than a telephone."""
    blocks = []
    for measure in measures:
        cells = [(row.name, row.cells[measure]) for row in rows if measure in row.cells]
        lines = "".join(
            f"<tr><th>{escape(_words(name))}</th><td>{escape(shown(cell))}</td>"
            f"<td>{cell.n}{_failures(cell)}</td></tr>"
            for name, cell in cells
        )
        head = f"<tr><th>{escape(_words(measure))}</th><th>mean (95 %)</th><th>n</th></tr>"
        blocks.append(f"<table><thead>{head}</thead><tbody>{lines}</tbody></table>")
    return f'<div class="tables">{"".join(blocks)}</div>'


def _difference(comparison: Comparison) -> str:
    lines = "".join(
        f"<tr><th>{escape(_words(measure))}</th>"
        f'<td class="{_direction(cell)}">{escape(shown(cell, signed=True))}</td>'
        f"<td>{cell.n}{_failures(cell)}</td></tr>"
        for measure, cell in comparison.cells.items()
    )
    name = f"{_words(comparison.name)} − {_words(comparison.against)}"
    return (
        f"<details><summary>{escape(name)}</summary><table><tbody>{lines}</tbody></table></details>"
    )


def _rounds(scores: Sequence[Mapping[str, Any]]) -> str:
    groups = accuracy_by_rounds(scores)
    if not any(rounds for group in groups.values() for rounds in group):
        return ""
    drawn = "".join(
        f"<h4>{escape(_words(system))}</h4>"
        + bars(
            [
                (f"{rounds} round{'' if rounds == 1 else 's'}", cell.mean, f"{cell.n} questions")
                for rounds, cell in group.items()
            ]
        )
        for system, group in groups.items()
    )
    return f"<h3>Accuracy by rounds</h3>{drawn}"


def _costs(rows: Sequence[Row]) -> str:
    blocks = []
    for measure in _COST:
        cells = [(row.name, row.cells[measure]) for row in rows if measure in row.cells]
        if not cells:
            continue
        most = max(cell.mean for _, cell in cells) or 1.0
        drawn = bars(
            [(_words(name), cell.mean / most, shown(cell)) for name, cell in cells], percent=False
        )
        blocks.append(f"<h4>{escape(_words(measure))} a question</h4>{drawn}")
    return f"<h3>Cost</h3>{''.join(blocks)}" if blocks else ""


def _worst(scores: Sequence[Mapping[str, Any]]) -> str:
    rows = worst(scores)
    if not rows:
        return ""
    shown_rows = "".join(map(_question, rows))
    heading = f"The worst {len(rows)} questions of {escape(_words(str(rows[0]['system'])))}"
    return f"<h3>{heading}</h3>{shown_rows}"


def _question(row: Mapping[str, Any]) -> str:
    answer = row.get("answer")
    text = "(failed)" if answer is None else str(answer)
    text = text if len(text) <= LONGEST else f"{text[:LONGEST].rstrip()} …"
    rounds = "".join(
        f"<li>{escape('; '.join(map(str, each.get('queries') or ())) or 'given')}"
        f"<br><small>{each.get('found', 0)} new references. {escape(str(each.get('verdict', '')))}"
        f" {escape('; '.join(map(str, each.get('errors') or ())))}</small></li>"
        for each in row.get("rounds") or ()
    )
    gold = "; ".join(map(str, row.get("gold") or ()))
    found = "; ".join(map(str, row.get("references") or ()))
    return (
        f"<details><summary>{escape(str(row['question']))}</summary>"
        f"<p><b>Right:</b> {escape(gold)}</p><p><b>Said:</b> {escape(text)}</p>"
        f"<p><b>Ended:</b> {escape(str(row.get('stop_reason', '')))}</p><ol>{rounds}</ol>"
        f"<p><small><b>References:</b> {escape(found)}</small></p></details>"
    )


def _rates(rows: Sequence[Row]) -> list[tuple[str, float, float]]:
    return [
        (_words(row.name), row.cells["retrieved"].mean, row.cells["answer_accuracy"].mean)
        for row in rows
        if {"retrieved", "answer_accuracy"} <= row.cells.keys()
        and row.name in {"never", "always", "adaptive"}
    ]


def _failures(cell: Interval) -> str:
    return f' <span class="failed">+ {cell.n_failed} failed</span>' if cell.n_failed else ""


def _direction(cell: Interval) -> str:
    return "up" if cell.low > 0 else "down" if cell.high < 0 else ""


def _words(name: str) -> str:
    return name.replace("_", " ")
