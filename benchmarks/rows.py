"""Row: what something takes here, beside what a peer takes for the same in the same run."""

from __future__ import annotations

import gc
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("SKR_DATA") or ROOT.parent / "shared" / "data").resolve()
LEFT_OUT = 3
"""The exit code of what cannot be measured here."""
FEWEST_SIZES = 4
"""From which a growth is read; fewer lie on a line by chance."""


class LeftOut(Exception):
    """A part cannot be measured here; the message says what it lacks."""


@dataclass(frozen=True)
class Row:
    """Less is better on both sides.

    Attributes:
        what: Is measured.
        ours: This library's figure.
        unit: Of both figures.
        peer: Who does the same.
        theirs: Its figure.
        size: Of what is worked on, where the row is one of several sizes.
        of: What the size counts.
    """

    what: str
    ours: float
    unit: str
    peer: str
    theirs: float
    size: int | None = None
    of: str = ""

    @property
    def ratio(self) -> float:
        """Ours over theirs.

        Example:
            >>> Row("waiting", 3.0, "s", "nobody", 2.0).ratio
            1.5
        """
        return self.ours / self.theirs


def growth(sizes: Iterable[float], figures: Iterable[float]) -> float:
    """The exponent by which figures grow with sizes: the slope of a line through the logarithms.

    Example:
        >>> round(growth([1, 10, 100], [2.0, 20.0, 200.0]), 6)
        1.0
    """
    xs, ys = [math.log(size) for size in sizes], [math.log(figure) for figure in figures]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    above = sum((one - x) * (other - y) for one, other in zip(xs, ys, strict=True))
    return above / sum((one - x) ** 2 for one in xs)


def medians(
    ways: Mapping[str, Callable[[], Any]],
    turns: int,
    *,
    calls: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Median seconds of a call of each way, which take turns; the first turn warms up.

    Args:
        ways: What to call, by name.
        turns: How often each has its turn.
        calls: In a turn, so that what is short is longer than the clock's grain.
        clock: `time.process_time` for work of one thread that waits for nothing: what else the
            machine does is not counted.
    """
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    gc.collect()
    for turn in range(turns + 1):
        order = list(ways) if turn % 2 else list(reversed(ways))  # nobody is always the first
        for name in order:
            begin = clock()
            for _ in range(calls if turn else 1):
                ways[name]()
            if turn:
                seconds[name].append((clock() - begin) / calls)
    return {name: median(each) for name, each in seconds.items()}


def needed(*files: str) -> list[Path]:
    """Files of the recorded data.

    Raises:
        LeftOut: One of them is not there.
    """
    paths = [DATA / file for file in files]
    if missing := [str(path) for path in paths if not path.is_file()]:
        raise LeftOut(f"there is no {', '.join(missing)}: set SKR_DATA to the data's folder")
    return paths


def in_a_process(function: str, *arguments: object) -> list[float]:
    """The numbers that a function returns in a fresh process.

    Args:
        function: ``module:name``, from the repository's folder.
        arguments: Of the function, as texts.
    """
    module, name = function.split(":")
    told = ", ".join(repr(str(each)) for each in arguments)
    code = f"import {module} as part; print(*part.{name}({told}))"
    printed = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True)
    return [float(each) for each in printed.split()]


def peak_mb() -> float:
    """The most memory that this process has held since it began its program."""
    told = Path("/proc/self/status").read_text()
    [line] = [line for line in told.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) / 1024
