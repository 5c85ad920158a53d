"""The findings of a run in sentences: in counts where it counts, with interval and cost."""

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
SAME = 0.02
"""Two points: where the interval leaves no larger difference, two systems are as good."""
FEWEST = 10
"""Questions below which an interval by resampling is not to be trusted."""
LESS = 0.95
"""Share of another's cost below which less is spent."""
RIGHT = frozenset(("answer_accuracy", "accuracy", "exact_match", "judged_right"))
"""Measures of which each question has all or nothing, so that answers can be counted."""
NAMED = {
    "adaptive": "the router",
    "always": "always searching",
    "loop": "the loop",
    "never": "no search",
    "single_shot": "one search",
}
AGAINST = {
    "over_best": "against the best constant policy",
    "over_always": "against always retrieving once",
}
"""The policies that a replay compares a router with, by the name of the difference."""
UNCOUNTED = frozenset(("cost", "usd"))
_COSTS = ("prompt_tokens", "cost", "calls")


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
        'As good for less: 250 of 500 right with the router and 251 with always searching \
(-0.9 to +0.5 points), for 38% fewer prompt tokens.'
    """
    measures = [each for each in result.plotted if each in result.measures] or result.measures
    if not measures:
        return []
    measure = measures[0]
    compared = [each for each in result.comparisons if _judged(each.cells.get(measure))]
    constant = [row for row in result.rows if row.name != "adaptive" and measure in row.cells]
    best = max(constant, key=lambda row: row.cells[measure].mean, default=None)
    # Whether the router pays, and the loop, comes first.
    pairs = [("adaptive", best.name if best else ""), ("loop", "single_shot")]
    ordered = sorted(
        compared,
        key=lambda each: (
            pairs.index(_pair(each)) if _pair(each) in pairs else len(pairs),
            -abs(each.cells[measure].mean),
        ),
    )
    found = _along(result, measure) + [_difference(result, each, measure) for each in ordered]
    return found[:MOST] or _highest(result, measure)


def _pair(comparison: Comparison) -> tuple[str, str]:
    return comparison.name, comparison.against


def _judged(cell: Interval | None) -> bool:
    return cell is not None and cell.n > 0


def _difference(result: Result, comparison: Comparison, measure: str) -> str:
    cell = comparison.cells[measure]
    rows = {row.name: row.cells for row in result.rows}
    one, other = rows.get(comparison.name, {}), rows.get(comparison.against, {})
    both = [each[measure] for each in (one, other) if _judged(each.get(measure))]
    cost = next((each for each in _COSTS if _spent(one, each) and _spent(other, each)), None)
    spent = _cost_beside(one, other, cost, result.settings.get("cost", ""))
    if measure in RIGHT and [each.n for each in both] == [cell.n] * 2:
        return _counted(comparison, both, cell, spent)
    share = is_share(measure, [cell, *both])
    change, words = figures(cell, share=share, signed=True), in_words(measure)
    relation = "is higher than" if cell.low > 0 else "is lower than" if cell.high < 0 else None
    text = (
        f"{capital(words)} of {in_words(comparison.name)} "
        f"{relation or 'cannot be told from'} that of {in_words(comparison.against)}: {change}"
    )
    if len(both) == 2:
        mean, base = (figures(each, share=share).partition(" (")[0] for each in both)
        text += f", {mean} against {base}"
    return f"{text}, n {cell.n:,}{spent}."


def _counted(comparison: Comparison, both: Sequence[Interval], gain: Interval, spent: str) -> str:
    """A difference of right answers, counted; in points where it cannot be told."""
    name, against = _named(comparison.name), _named(comparison.against)
    n = gain.n
    right, before = (round(n * each.mean) for each in both)
    low, high = round(n * gain.low), round(n * gain.high)
    one_round = gain.high < 0 and _pair(comparison) == ("loop", "single_shot")
    advice = " Answer with --max-rounds 1." if one_round else ""
    if n >= FEWEST and (gain.low > 0 or gain.high < 0):
        return (
            f"{'Better' if gain.mean > 0 else 'Worse'}: {right:,} of {n:,} right with {name} "
            f"instead of {before:,} with {against} (likely {low:+,} to {high:+,}){spent}.{advice}"
        )
    points = f"({100 * gain.low:+.1f} to {100 * gain.high:+.1f}"
    if n >= FEWEST and max(-gain.low, gain.high) <= SAME:
        lead = "As good for less" if " fewer " in spent or " less " in spent else "As good"
        return (
            f"{lead}: {right:,} of {n:,} right with {name} and {before:,} with {against} "
            f"{points} points){spent}."
        )
    scored = f"{100 * abs(gain.mean):.1f} points {'higher' if gain.mean > 0 else 'lower'} than"
    beside = f"{scored} {against} {points})" if gain.mean else f"as {against} did"
    return (
        f"No clear difference: {name} scored {beside}, {right:,} and {before:,} of {n:,} right"
        f"{spent}. {n:,} questions are too few to tell."
    )


def _named(name: str) -> str:
    return NAMED.get(name, in_words(name))


def _spent(cells: Mapping[str, Interval], measure: str) -> bool:
    return measure in cells and cells[measure].mean > 0


def _cost_beside(
    one: Mapping[str, Interval], other: Mapping[str, Interval], cost: str | None, unit: str
) -> str:
    if cost is None:
        return ""
    ratio = one[cost].mean / other[cost].mean
    noun = in_words(unit or "cost" if cost == "cost" else cost)
    if LESS < ratio < 1 / LESS:
        return f", for as {'much' if noun in UNCOUNTED else 'many'} {noun}"
    if ratio < 1:
        few = "less" if noun in UNCOUNTED else "fewer"
        return f", for {1 - ratio:.0%} {few} {noun}"
    return f", for {ratio:.{0 if ratio >= 10 else 1}f} times the {noun}"


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
    if measure in RIGHT:
        most = "Most are right with" if len(rows) > 1 else "Right with"
        return [
            f"{most} {_named(name)}: {round(cell.n * cell.mean):,} of {cell.n:,} "
            f"(likely {cell.low:.0%} to {cell.high:.0%})."
        ]
    of = "Highest" if len(rows) > 1 else "Measured"
    return [
        f"{of} {in_words(measure)}: {in_words(name)}, {figures(cell, share=share)}, n {cell.n:,}."
    ]
