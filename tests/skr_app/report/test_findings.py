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
    ("change", "said"),
    [
        ((0.086, 0.05, 0.12), "Better: 360 of 500 right with the loop instead of 317 with "
         "one search (likely +25 to +60), for 2.7 times the prompt tokens."),
        ((-0.09, -0.12, -0.05), "Worse: 360 of 500 right with the loop instead of 317 with "
         "one search (likely -60 to -25), for 2.7 times the prompt tokens. Answer "
         "with --max-rounds 1."),
        ((0.01, -0.01, 0.03), "No clear difference: the loop scored 1.0 points higher than "
         "one search (-1.0 to +3.0), 360 and 317 of 500 right, for 2.7 times the prompt "
         "tokens. 500 questions are too few to tell."),
        ((0.0, -0.01, 0.01), "As good: 360 of 500 right with the loop and 317 with one search "
         "(-1.0 to +1.0 points), for 2.7 times the prompt tokens."),
    ],
)  # fmt: skip
def test_a_difference_is_said_as_surely_as_it_is_known(change, said: str):
    rows = (row("single_shot", 0.634, 1500), row("loop", 0.72, 4050))
    found = of_result(Result("e", "t", {}, rows, (compared("loop", "single_shot", *change),)))
    assert found == [said]


def test_a_mean_that_counts_nothing_is_no_number_of_answers():
    rows = [
        Row(name, {"token_f1": Interval(mean, mean, mean, 500)})
        for name, mean in (("loop", 0.5), ("single_shot", 0.4))
    ]
    change = Comparison("loop", "single_shot", {"token_f1": Interval(0.1, 0.05, 0.15, 500)})
    [found] = of_result(Result("e", "t", {}, tuple(rows), (change,), ("token_f1",)))
    assert found.startswith("Token f1 of loop is higher than that of single shot: +10.0 points")


def test_a_router_is_told_first_beside_the_best_constant_policy():
    rows = (row("never", 0.3, 100), row("always", 0.5, 1000), row("adaptive", 0.499, 620))
    pairs = (
        compared("always", "never", 0.2, 0.15, 0.25),
        compared("adaptive", "never", 0.199, 0.15, 0.25),
        compared("adaptive", "always", -0.001, -0.009, 0.005),
    )
    first, *others = of_result(Result("evaluate", "t", {}, rows, pairs))
    assert first == (
        "As good for less: 250 of 500 right with the router and 250 with always searching (-0.9 "
        "to +0.5 points), for 38% fewer prompt tokens."
    )
    assert len(others) == 2
    dear = (*rows[:2], row("adaptive", 0.499, 1100))
    assert of_result(Result("evaluate", "t", {}, dear, pairs))[0].endswith(
        "(-0.9 to +0.5 points), for 1.1 times the prompt tokens."
    )


def test_no_comparison_and_no_rows():
    found = of_result(Result("e", "t", {}, (row("a", 0.4, 1), row("loop", 0.6, 1))))
    assert found == ["Most are right with the loop: 300 of 500 (likely 60% to 60%)."]
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
