"""What is drawn: one size that a telephone can show, and colours for light and dark pages.

matplotlib is imported when something is drawn. Its SVG is made part of a page: text stays text, and
colours are the page's variables, so that a drawing follows the page from light to dark.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import InputError, extra
from skr_core.files import replace_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

WIDTH = 5.0
"""Inches; 360 points, which is what a telephone shows without making text smaller."""

FORMATS = (".png", ".svg", ".pdf")

_AROUND = ((1, 0), (1, 1), (0, 1), (1, -1), (0, -1), (-1, 0), (-1, 1), (-1, -1))
"""The sides of a mark on which its name may stand, the best first: right and up."""

COLOURS = {
    "paper": ("#ffffff", "#14171b"),
    "ink": ("#24292f", "#e6edf3"),
    "faint": ("#6a737d", "#9aa4ae"),
    "grid": ("#dde2e7", "#353b42"),
    "first": ("#1f66b8", "#6cb0ff"),
    "second": ("#bf5410", "#ff9d57"),
    "third": ("#1b7a48", "#5cc98c"),
    "fourth": ("#7a43c4", "#b894ff"),
    "fifth": ("#b02a55", "#ff87ab"),
    "sixth": ("#7a6400", "#d9bd4a"),
}
"""By the name of the page's variable: on a light page, and on a dark one."""

PAPER, INK, FAINT, GRID, *SERIES = (light for light, _ in COLOURS.values())

Draw = Callable[["Figure"], object]
"""Puts on an empty figure what it shows."""


def svg(draw: Draw, height: float) -> str:
    """A drawing as an element of a page of HTML, in the colours of `variables`.

    Nothing that is drawn can leave its text: matplotlib escapes it, and formulas are not read.

    Args:
        draw: Draws it.
        height: Inches.

    Raises:
        MissingDependency: matplotlib is not installed.

    Example:
        >>> drawn = svg(lambda figure: figure.text(0, 0, "<b> costs $1 or $2"), 1.0)
        >>> drawn[:25], "&lt;b&gt; costs $1 or $2" in drawn, "://" in drawn
        ('<svg viewBox="0 0 360 72"', True, False)
    """
    content = io.BytesIO()
    with _figure(draw, height) as figure:
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(content, format="svg", transparent=True, metadata=nothing)
    text = content.getvalue().decode()
    body = text[text.index(">", text.index("<svg")) + 1 :]
    body = re.sub(r'<g id="[^"]*"', "<g", body)
    for name, (light, _) in COLOURS.items():
        body = body.replace(light, f"var(--{name})")
    return f'<svg viewBox="0 0 {72 * WIDTH:.0f} {72 * height:.0f}">{body.strip()}'


def with_ids(drawing: str, prefix: str) -> str:
    """A drawing of `svg` with ids of its own: a page holds many, and no id may stand twice in it.

    Example:
        >>> with_ids('<g id="a"/><use href="#a"/>', "d1-")
        '<g id="d1-a"/><use href="#d1-a"/>'
    """
    return re.sub(r'( id="|href="#|url\(#)', rf"\g<1>{prefix}", drawing)


def png(draw: Draw, height: float) -> bytes:
    """A drawing as a PNG on white; the same drawing gives the same bytes.

    Args:
        draw: Draws it.
        height: Inches.

    Raises:
        MissingDependency: matplotlib is not installed.
    """
    content = io.BytesIO()
    with _figure(draw, height) as figure:
        figure.savefig(content, format="png", dpi=144, metadata={"Software": None})
    return content.getvalue()


def save(draw: Draw, height: float, path: str | Path) -> None:
    """Draw into a file.

    Args:
        draw: Draws it.
        height: Inches.
        path: A file whose name ends in .png, .svg or .pdf.

    Raises:
        InputError: It ends in something else, or cannot be written.
        MissingDependency: matplotlib is not installed.
    """
    check_name(path)
    content = io.BytesIO()
    with _figure(draw, height) as figure:
        figure.savefig(content, format=Path(path).suffix[1:].lower(), dpi=144)
    try:
        replace_file(Path(path), content.getvalue())
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error}") from error


def check_name(path: str | Path) -> None:
    """Whether a file can be drawn into, by its name, before anything is measured for it.

    Raises:
        InputError: It ends in nothing that can be drawn.

    Example:
        >>> check_name("curve.svg")
    """
    if Path(path).suffix.lower() not in FORMATS:
        raise InputError(f"{path}: a plot is a file that ends in {', '.join(FORMATS)}")


def variables(dark: bool = False) -> str:
    """The colours as variables of CSS.

    Example:
        >>> variables().split("; ")[1]
        '--ink: #24292f'
    """
    return "; ".join(f"--{name}: {both[dark]}" for name, both in COLOURS.items())


def label(text: str, longest: int = 60) -> str:
    """A name as it is drawn: one line, without control characters, cut where it is long.

    Example:
        >>> label("a_b" + chr(10) + "c", 10), label("x" * 20, 10)
        ('a b c', 'xxxxxxxxx…')
    """
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    line = line.replace("_", " ")
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def name_marks(axes: Axes, named: Sequence[tuple[str, float, float]]) -> None:
    """Write names beside marks, where they cover neither one another nor a mark or line.

    Args:
        axes: The axes, on which all else is drawn already.
        named: Each name with the place of its mark; one that fits nowhere is left out.
    """
    with extra("plots"):
        from matplotlib.text import Text

    figure: Any = axes.figure
    figure.draw_without_rendering()  # what is where is known when the layout is made
    inside, taken = axes.get_window_extent(), list[Any]()
    lines = [line.get_transform().transform(_dense(line)) for line in axes.lines]
    points = np.concatenate(lines)
    for name, x, y in named:
        for away, (right, up) in product((9, 18, 30, 44), _AROUND):
            text = axes.annotate(
                label(name, 40),
                (x, y),
                (away * right, away * up),
                textcoords="offset points",
                ha=("right", "center", "left")[right + 1],
                va=("top", "center", "bottom")[up + 1],
                color=INK,
                fontsize=11,
                arrowprops={"arrowstyle": "-", "color": FAINT, "lw": 0.6} if away > 9 else None,
            )
            text.set_in_layout(False)
            text.update_positions(figure.canvas.get_renderer())
            box = Text.get_window_extent(text).padded(4)  # fonts of a page are others; no leader
            covers = ((points > box.min) & (points < box.max)).all(axis=1).any()
            within = inside.contains(*box.min) and inside.contains(*box.max)
            if within and not covers and not any(map(box.overlaps, taken)):
                taken.append(box)
                break
            text.remove()


def _dense(line: Line2D) -> NDArray[np.float64]:
    """Points along a line of axes, close to one another, shape (n, 2)."""
    x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
    steps = np.linspace(0, max(len(x) - 1, 0), 200 if len(x) else 0)
    return np.column_stack([np.interp(steps, np.arange(len(x)), each) for each in (x, y)])


@contextmanager
def _figure(draw: Draw, height: float) -> Iterator[Figure]:
    with extra("plots"):
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

    style: Any = {
        "font.size": 10,
        "text.color": INK,
        "text.parse_math": False,
        "axes.edgecolor": FAINT,
        "axes.labelcolor": INK,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.axisbelow": True,
        "axes.grid": True,
        "grid.color": GRID,
        "grid.linewidth": 0.6,
        "xtick.color": INK,
        "ytick.color": INK,
        "xtick.labelsize": 9.5,
        "ytick.labelsize": 9.5,
        "legend.frameon": False,
        "legend.fontsize": 9.5,
        "svg.fonttype": "none",
        "svg.hashsalt": "skr",
    }
    # Characters that the font for measuring lacks are in the reader's own font.
    with matplotlib.rc_context(style), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        FigureCanvasAgg(figure)  # draws into memory: needs no display
        draw(figure)
        yield figure
