"""Boxes and arrows as SVG that reads on a light page and on a dark one.

A picture has a background of its own and follows what the reader's system prefers, so that it is
legible wherever it is shown. Nothing in it is fetched; its title is read to those who cannot see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from skr_learn.figures import COLOURS

Point = tuple[float, float]
WIDTH, HEIGHT = 144, 46
"""The size of a box, in pixels."""
CORNER = 9
CLASSES = """\
.paper { fill: PAPER } .box { fill: PAPER; stroke: FIRST } .outer { fill: PAPER; stroke: FAINT }
.option { stroke-dasharray: 5 4 } .arrow { fill: none; stroke: FAINT } .head { fill: FAINT }
.box, .outer, .arrow { stroke-width: 1.5 }
text { font: 12px system-ui, sans-serif; fill: FAINT; text-anchor: middle }
.name { font: 600 14px ui-monospace, Menlo, Consolas, monospace; fill: INK }
.label { paint-order: stroke; stroke: PAPER; stroke-width: 5px; stroke-linejoin: round }
"""


@dataclass(frozen=True)
class Box:
    """A step, or what stands at the beginning and the end.

    Attributes:
        at: The centre.
        name: The first line.
        says: The second line; without one the box is lower.
        option: Whether the step needs a setting.
        outer: Whether it is something else than a step.
        width: The width in pixels.
    """

    at: Point
    name: str
    says: str = ""
    option: bool = False
    outer: bool = False
    width: float = WIDTH

    @property
    def height(self) -> float:
        """The height in pixels."""
        return HEIGHT if self.says else 30

    def svg(self) -> str:
        """The element of the picture."""
        x, y = self.at
        kind = ("outer" if self.outer else "box") + (" option" if self.option else "")
        left, top = x - self.width / 2, y - self.height / 2
        drawn = (
            f'<rect class="{kind}" x="{left:g}" y="{top:g}" width="{self.width:g}" '
            f'height="{self.height:g}" rx="{15 if self.outer else 7}"/>'
            f'<text class="name" x="{x:g}" y="{y - 3 if self.says else y + 5:g}">'
            f"{escape(self.name)}</text>"
        )
        if self.says:
            drawn += f'<text x="{x:g}" y="{y + 14:g}">{escape(self.says)}</text>'
        return drawn


@dataclass(frozen=True)
class Arrow:
    """A way from one box to another.

    Attributes:
        points: The corners, from the first to the head.
        label: The text beside the arrow.
        at: The place of the label.
        option: Whether the way needs a setting.
    """

    points: Sequence[Point]
    label: str = ""
    at: Point = (0, 0)
    option: bool = False

    def svg(self) -> str:
        """The element of the picture."""
        kind = "arrow option" if self.option else "arrow"
        drawn = f'<path class="{kind}" d="{rounded(self.points)}" marker-end="url(#head)"/>'
        if self.label:
            x, y = self.at
            drawn += f'<text class="label" x="{x:g}" y="{y:g}">{escape(self.label)}</text>'
        return drawn


def rounded(points: Sequence[Point]) -> str:
    """A line along the points, with rounded corners, as the data of a path."""
    path = "M{:g} {:g}".format(*points[0])
    for before, corner, after in zip(points, points[1:-1], points[2:], strict=False):
        enter, leave = near(corner, before), near(corner, after)
        path += "L{:g} {:g}Q{:g} {:g} {:g} {:g}".format(*enter, *corner, *leave)
    return path + "L{:g} {:g}".format(*points[-1])


def near(corner: Point, other: Point) -> Point:
    """The point on the way from a corner to another point where its curve ends."""
    (x, y), (to_x, to_y) = corner, other
    share = min(CORNER / (abs(to_x - x) + abs(to_y - y)), 0.5)
    return x + share * (to_x - x), y + share * (to_y - y)


def picture(
    title: str, size: tuple[int, int], boxes: Sequence[Box], arrows: Sequence[Arrow]
) -> str:
    """A whole picture, as a file of its own."""
    width, height = size
    styles = [CLASSES, CLASSES]
    for name, shades in COLOURS.items():
        styles = [
            style.replace(name.upper(), shade) for style, shade in zip(styles, shades, strict=True)
        ]
    light, dark = styles
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>\n{light}@media (prefers-color-scheme: dark) {{\n{dark}}}\n</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path class="head" d="M0 0L8 4L0 8z"/></marker></defs>',
        f'<rect class="paper" width="{width}" height="{height}" rx="10"/>',
        *(arrow.svg() for arrow in arrows),
        *(box.svg() for box in boxes),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"
