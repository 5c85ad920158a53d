"""What stands on the axes: shares from 0 to 1, differences around 0, lines over a number."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from skr_app.report import AgainstCost, Forest, Lines, Result, Row, drawing_of, plot
from skr_learn.metrics import Interval, Reliability


def drawn(drawing):
    figure = Figure(figsize=(5, 3.3), layout="constrained")
    FigureCanvasAgg(figure)
    drawing(figure)
    figure.draw_without_rendering()
    [axes] = figure.axes
    return axes


def texts(axes) -> list[str]:
    return [each.get_text() for each in axes.texts]


LOOP = Interval(0.72, 0.68, 0.76, 500)


def test_shares_are_drawn_from_0_to_1():
    axes = drawn(Forest([("loop", LOOP), ("single_shot", Interval(0.63, 0.6, 0.67, 500))], True))
    assert axes.get_xlim() == (0, 1)
    assert texts(axes) == [
        "loop",
        "0.720 (0.680 to 0.760), n 500",
        "single shot",
        "0.630 (0.600 to 0.670), n 500",
    ]
    lines = Lines({"loop": [(2, LOOP), (5, LOOP)]}, "references", True)
    assert drawn(lines).get_ylim() == (0, 1)


def test_differences_have_their_0_in_sight_and_sure_ones_are_filled():
    sure, unsure = Interval(0.09, 0.06, 0.12, 500), Interval(0.01, -0.02, 0.04, 500)
    axes = drawn(Forest([("loop − single", sure), ("a − b", unsure)], True, signed=True))
    low, high = axes.get_xlim()
    assert low < 0 < 12 < high
    assert "+9.0 points (+6.0 to +12.0), n 500" in texts(axes)
    marks = [line.get_markerfacecolor() for line in axes.lines if line.get_marker() == "o"]
    assert [mark == "none" for mark in marks] == [False, True]


def test_costs_start_at_0():
    axes = drawn(Forest([("loop", Interval(4086.0, 4000.0, 4200.0, 500))], share=False))
    assert axes.get_xlim()[0] == 0
    assert "4,086 (4,000 to 4,200), n 500" in texts(axes)


def test_a_long_name_stands_above_its_figures():
    long = Forest([("hybrid, half of the corpus, ranks 8 to 10, adaptive", LOOP)], True)
    assert long.height > Forest([("loop", LOOP)], True).height
    assert "hybrid, half of the corpus, ranks 8 to 10, adaptive" in texts(drawn(long))


def test_rows_that_stand_for_numbers_are_lines_and_the_others_levels():
    rows = [
        Row(f"{line}, {at}", {"answer_accuracy": Interval(mean, 0.3, 0.7, 90)}, at, line)
        for line, means in {"a": (0.5, 0.4), "b": (0.6, 0.5)}.items()
        for at, mean in zip((10.0, 2.0), means, strict=True)
    ]  # fmt: skip
    rows.append(Row("always", {"answer_accuracy": Interval(0.3, 0.2, 0.4, 90)}))
    result = Result("precision", "What does noise cost?", {}, tuple(rows), over="references")
    lines = drawing_of(result, "answer_accuracy")
    assert isinstance(lines, Lines)
    axes = drawn(lines)
    assert axes.get_xlabel() == "references"
    first, second, level = axes.lines
    assert list(first.get_xdata()) == [2.0, 10.0]
    assert list(second.get_ydata()) == [0.5, 0.6]
    assert set(level.get_ydata()) == {0.3}
    assert plot(result).startswith(b"\x89PNG")


def test_names_beside_marks_cover_neither_one_another_nor_a_mark():
    crowd = [(f"policy {n}", 500.0 + 150 * (n % 3), Interval(0.6 + n / 99, 0.5, 0.7, 90))
             for n in range(7)]  # fmt: skip
    oracle = ((400.0, 500.0, 800.0), (0.5, 0.8, 0.9))
    axes = drawn(AgainstCost(crowd, "tokens a question", oracle))
    names = [each.get_text() for each in axes.texts]
    assert {"policy 0, 60%", "policy 6, 66%", "best possible"} <= {*names}
    boxes = [Text.get_window_extent(each) for each in axes.texts]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    at = [axes.transData.transform((cost, each.mean)) for _, cost, each in crowd]
    assert not any(box.contains(*each) for box in boxes for each in at)
    low, high = axes.get_ylim()
    assert low <= 0.5
    assert high >= 0.9


def test_a_crowd_on_one_spot_leaves_names_out_rather_than_one_upon_another():
    crowd = [(f"a policy of a rather long name {n}", 1.0, LOOP) for n in range(12)]
    boxes = [Text.get_window_extent(each) for each in drawn(AgainstCost(crowd, "calls")).texts]
    assert 2 < len(boxes) < 12
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def test_what_is_wrong_of_the_surest_is_named_at_each_quarter():
    chances = np.linspace(0.05, 1, 100)
    axes = drawn(Reliability.of(chances, np.where(chances > 0.5, 1.0, 0.0)))
    assert [each.get_text() for each in axes.texts] == [
        "0% wrong",
        "0% wrong",
        "29% wrong",
        "47% wrong",
    ]


def test_nothing_to_draw():
    assert plot(Result("e", "t", {}, ())).startswith(b"\x89PNG")
