"""What stands on the axes: shares from 0 to 1, differences around 0, lines over a number."""

from __future__ import annotations

from matplotlib.figure import Figure

from skr_app.report import Forest, Lines, Result, Row, Scatter, drawing_of, plot
from skr_learn.metrics import Interval


def drawn(drawing):
    figure = Figure()
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
    for each in (Lines({"loop": [(2, LOOP), (5, LOOP)]}, "references", True),
                 Scatter([("loop", 4000.0, LOOP)], "accuracy", "tokens")):  # fmt: skip
        assert drawn(each).get_ylim() == (0, 1)


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


def test_nothing_to_draw():
    assert plot(Result("e", "t", {}, ())).startswith(b"\x89PNG")
