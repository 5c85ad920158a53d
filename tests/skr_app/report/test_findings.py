"""The sentences: true to their figures, each with its interval and its n."""

from __future__ import annotations

import pytest

from skr_app.report import Comparison, Result, Row
from skr_app.report import findings_of_result as of_result
from skr_learn.metrics import Interval


def row(name: str, accuracy: float, tokens: float) -> Row:
    cells = {"answer_accuracy": accuracy, "prompt_tokens": tokens}
    return Row(name, {key: Interval(value, value, value, 500) for key, value in cells.items()})


def compared(name: str, against: str, mean: float, low: float, high: float) -> Comparison:
    return Comparison(name, against, {"answer_accuracy": Interval(mean, low, high, 500)})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ((0.086, 0.05, 0.12), "is higher than that of single shot: +8.6 points (+5.0 to +12.0)"),
        ((-0.02, -0.03, -0.01), "is lower than that of single shot: -2.0 points (-3.0 to -1.0)"),
        ((0.01, -0.01, 0.03), "cannot be told from that of single shot: +1.0 points"),
    ],
)
def test_a_difference_is_said_as_surely_as_it_is_known(change, words: str):
    rows = (row("single_shot", 0.634, 1500), row("loop", 0.72, 4050))
    found = of_result(Result("e", "t", {}, rows, (compared("loop", "single_shot", *change),)))
    assert len(found) == 1
    assert words in found[0]
    assert found[0].endswith("0.720 against 0.634, n 500, for 2.7 times the prompt tokens.")


def test_a_router_is_told_first_with_what_it_saves():
    rows = (row("never", 0.3, 100), row("always", 0.5, 1000), row("adaptive", 0.499, 620))
    pairs = (
        compared("always", "never", 0.2, 0.15, 0.25),
        compared("adaptive", "never", 0.199, 0.15, 0.25),
        compared("adaptive", "always", -0.001, -0.009, 0.005),
    )
    first, *others = of_result(Result("evaluate", "t", {}, rows, pairs))
    assert first == (
        "Routing saves 38 % of the prompt tokens at -0.1 points (-0.9 to +0.5) of answer accuracy, "
        "against always retrieving, n 500."
    )
    assert len(others) == 2
    dear = (*rows[:2], row("adaptive", 0.499, 1100))
    assert of_result(Result("evaluate", "t", {}, dear, pairs))[0].startswith(
        "Routing costs further 10 % of the prompt tokens"
    )


def test_no_comparison_and_no_rows():
    found = of_result(Result("e", "t", {}, (row("a", 0.4, 1), row("b", 0.6, 1))))
    assert found == ["Highest answer accuracy: b, 0.600, n 500."]
    assert of_result(Result("e", "t", {}, ())) == []
    nothing = Row("a", {"answer_accuracy": Interval(0.0, 0.0, 0.0, 0, 9)})
    assert of_result(Result("e", "t", {}, (nothing,))) == []


def test_lines_say_from_where_to_where():
    cells = [Interval(mean, mean - 0.1, mean + 0.1, 90) for mean in (0.7, 0.4)]
    rows = tuple(
        Row(f"{at}", {"answer_accuracy": cell}, at)
        for at, cell in zip((2.0, 10.3469), cells, strict=True)
    )  # fmt: skip
    [found] = of_result(Result("e", "t", {}, rows, over="references"))
    assert found == (
        "Answer accuracy goes from 0.700 (0.600 to 0.800) at 2 references to "
        "0.400 (0.300 to 0.500) at 10.3, n 90."
    )
