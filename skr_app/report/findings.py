"""The findings of a run in sentences: a difference, its interval, and its cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skr_app.report.tables import (
    Comparison,
    Result,
    capital,
    figures,
    in_words,
    is_share,
    series_of,
)
from skr_learn.metrics import Interval

MOST = 3
"""The sentences about one result, at most."""
PAIRS = (("adaptive", "always"), ("loop", "single_shot"))
"""Comparisons that come first: does the router pay, does the loop?"""
AGAINST = {
    "over_best": "against the best constant policy",
    "over_always": "against always retrieving once",
}
"""The policies that a replay compares a router with, by the name of the difference."""
_COSTS = ("prompt_tokens", "calls")


def findings_of_result(result: Result) -> list[str]:
    """The findings of a result, about the first of its plotted measures that it has.

    Example:
        >>> from skr_app.report import Row
        >>> always, adaptive = (
        ...     {"answer_accuracy": Interval(mean, 0.4, 0.6, 500), "prompt_tokens": tokens}
        ...     for mean, tokens in
        ...     [(0.502, Interval(1000, 900, 1100, 500)), (0.5, Interval(620, 600, 640, 500))])
        >>> paired = {"answer_accuracy": Interval(-0.002, -0.009, 0.005, 500)}
        >>> rows = (Row("always", always), Row("adaptive", adaptive))
        >>> pairs = (Comparison("adaptive", "always", paired),)
        >>> findings_of_result(Result("evaluate", "", {}, rows, pairs))[0]
        'Routing saves 38 % of the prompt tokens at -0.2 points (-0.9 to +0.5) of answer accuracy, \
against always retrieving, n 500.'
    """
    measures = [each for each in result.plotted if each in result.measures] or result.measures
    if not measures:
        return []
    measure = measures[0]
    compared = [each for each in result.comparisons if _judged(each.cells.get(measure))]
    ordered = sorted(
        compared,
        key=lambda each: (
            PAIRS.index(_pair(each)) if _pair(each) in PAIRS else len(PAIRS),
            -abs(each.cells[measure].mean),
        ),
    )
    found = _along(result, measure) + [_difference(result, each, measure) for each in ordered]
    return found[:MOST] or _highest(result, measure)


def findings_of_replay(result: Result, names: Sequence[str]) -> list[str]:
    """The findings of a replay about some of its routers.

    Args:
        result: The result for all questions, as `read_section` makes it of a replay.
        names: The names of the routers' rows.
    """
    rows = {row.name: row.cells for row in result.rows}
    return [_replayed(name, rows[name]) for name in names]


def _replayed(name: str, cells: Mapping[str, Interval]) -> str:
    changes: dict[str, str] = {}  # where two policies are the same one, one difference is enough
    for measure, words in AGAINST.items():
        if measure in cells:
            changes.setdefault(figures(cells[measure], share=True, signed=True), words)
    accuracy, rate = cells["accuracy"], cells.get("retrieval_rate")
    often = f" and retrieves for {100 * rate.mean:.0f} %" if rate else ""
    return (
        f"The router {in_words(name)} answers {100 * accuracy.mean:.1f} % "
        f"of {accuracy.n:,} questions right{often}: "
        f"{'; '.join(f'{change} {words}' for change, words in changes.items())}."
    )


def _pair(comparison: Comparison) -> tuple[str, str]:
    return comparison.name, comparison.against


def _judged(cell: Interval | None) -> bool:
    return cell is not None and cell.n > 0


def _difference(result: Result, comparison: Comparison, measure: str) -> str:
    cell = comparison.cells[measure]
    rows = {row.name: row.cells for row in result.rows}
    one, other = rows.get(comparison.name, {}), rows.get(comparison.against, {})
    both = [each[measure] for each in (one, other) if _judged(each.get(measure))]
    share = is_share(measure, [cell, *both])
    change, words = figures(cell, share=share, signed=True), in_words(measure)
    cost = next((each for each in _COSTS if _spent(one, each) and _spent(other, each)), None)
    if _pair(comparison) == PAIRS[0] and cost:
        saved = 1 - one[cost].mean / other[cost].mean
        verb = "saves" if saved >= 0 else "costs further"
        return (
            f"Routing {verb} {100 * abs(saved):.0f} % of the {in_words(cost)} at {change} of "
            f"{words}, against always retrieving, n {cell.n:,}."
        )
    relation = "is higher than" if cell.low > 0 else "is lower than" if cell.high < 0 else None
    text = (
        f"{capital(words)} of {in_words(comparison.name)} "
        f"{relation or 'cannot be told from'} that of {in_words(comparison.against)}: {change}"
    )
    if len(both) == 2:
        mean, base = (figures(each, share=share).partition(" (")[0] for each in both)
        text += f", {mean} against {base}"
    return f"{text}, n {cell.n:,}{_cost_beside(one, other, cost)}."


def _spent(cells: Mapping[str, Interval], measure: str) -> bool:
    return measure in cells and cells[measure].mean > 0


def _cost_beside(
    one: Mapping[str, Interval], other: Mapping[str, Interval], cost: str | None
) -> str:
    if cost is None:
        return ""
    ratio = one[cost].mean / other[cost].mean
    if 0.95 < ratio < 1.05:
        return f", for as many {in_words(cost)}"
    if ratio < 1:
        return f", for {100 * (1 - ratio):.0f} % fewer {in_words(cost)}"
    return f", for {ratio:.{0 if ratio >= 10 else 1}f} times the {in_words(cost)}"


def _along(result: Result, measure: str) -> list[str]:
    """The change of a measure from the first to the last point of each line."""
    series, _ = series_of(result, measure)
    words, found = in_words(measure), []
    for name, points in series.items():
        (start, first), (end, last) = (
            pick(points, key=lambda each: each[0]) for pick in (min, max)
        )
        if start == end:
            continue
        share = is_share(measure, [first, last])
        of = "" if name == words else f" of {in_words(name)}"
        found.append(
            f"{capital(words)}{of} goes from {figures(first, share=share)} at "
            f"{_number(start)} {result.over} to {figures(last, share=share)} at "
            f"{_number(end)}, n {last.n:,}."
        )
    return found


def _number(at: float) -> str:
    return f"{at:,.1f}".removesuffix(".0")


def _highest(result: Result, measure: str) -> list[str]:
    rows: Sequence[tuple[str, Interval]] = [
        (row.name, row.cells[measure]) for row in result.rows if _judged(row.cells.get(measure))
    ]
    if not rows:
        return []
    name, cell = max(rows, key=lambda each: each[1].mean)
    share = is_share(measure, [each for _, each in rows])
    of = "Highest" if len(rows) > 1 else "Measured"
    return [
        f"{of} {in_words(measure)}: {in_words(name)}, {figures(cell, share=share)}, n {cell.n:,}."
    ]
