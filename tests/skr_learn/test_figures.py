"""Drawings: colours that follow the page, text that stays text, ids that stand once."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from skr_core.errors import InputError
from skr_learn.figures import COLOURS, SERIES, label, png, save, svg, variables, with_ids

HOSTILE = "</text></svg><script>alert(1)</script><img src=x onerror=alert(2)> $\\frac{1}{2}$ \u7ef4"


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def draw(figure) -> None:
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], "o-", color=SERIES[0], label=HOSTILE)
    axes.set(title=HOSTILE, xlabel=HOSTILE)
    axes.legend()


def test_hostile_text_is_drawn_as_text():
    tags = Tags()
    tags.feed(svg(draw, 2.0))
    assert tags.text.count(HOSTILE) == 3
    assert not {"script", "img", "image", "a", "foreignobject"} & tags.tags


def test_a_drawing_asks_for_nothing_and_its_references_are_its_own():
    drawn = svg(draw, 2.0)
    assert "://" not in drawn
    ids = re.findall(r' id="([^"]+)"', drawn)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', drawn)) <= set(ids)
    apart = with_ids(drawn, "d1-")
    assert set(re.findall(r' id="([^"]+)"', apart)) == {f"d1-{each}" for each in ids}
    assert re.findall(r'(?:href="#|url\(#)([^")]+)', apart)[0].startswith("d1-")


def test_colours_are_the_pages():
    drawn = svg(draw, 2.0)
    assert "var(--first)" in drawn
    assert not [light for light, _ in COLOURS.values() if light in drawn]
    named = set(re.findall(r"var\(--(\w+)\)", drawn))
    for style in (variables(), variables(dark=True)):
        assert named <= set(re.findall(r"--(\w+):", style))
    assert variables() != variables(dark=True)


def test_the_same_drawing_gives_the_same_bytes():
    assert png(draw, 1.0) == png(draw, 1.0)
    assert svg(draw, 1.0) == svg(draw, 1.0)


def test_files(tmp_path: Path):
    save(draw, 1.0, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InputError, match="ends in"):
        save(draw, 1.0, tmp_path / "a.txt")
    with pytest.raises(InputError, match="cannot be written"):
        save(draw, 1.0, tmp_path / "missing" / "a.png")


def test_labels_are_one_line():
    assert label("a\x00b\u202ec\nd") == "a b c d"
