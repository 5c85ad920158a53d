"""How something is measured beside a peer, how far it is, and on which machine."""

from __future__ import annotations

import gc
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from queue import Empty, SimpleQueue
from statistics import median
from threading import Thread
from typing import Any, TextIO

LAB = Path(__file__).resolve().parents[1]
ROOT = LAB.parent
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
        function: The function as ``module:name``.
        arguments: The arguments of the function, as texts.
    """
    module, name = function.split(":")
    told = ", ".join(repr(str(each)) for each in arguments)
    code = f"import {module} as part; print(*part.{name}({told}))"
    printed = subprocess.check_output([sys.executable, "-c", code], cwd=LAB, text=True)
    return [float(each) for each in printed.split()]


def peak_mb() -> float:
    """The most memory that this process has held since it began its program."""
    told = Path("/proc/self/status").read_text()
    [line] = [line for line in told.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) / 1024


EVERY_S = 2.0


def telling(name: str, lines: Iterable[str], shown: TextIO | None = None) -> Iterator[str]:
    """The lines as they come, and every two seconds how many there are.

    On a terminal the count stands in one line that is written anew; elsewhere it is told with each
    line that comes.

    Args:
        name: Of what writes the lines.
        lines: Such as the output of a process, which is read in a thread.
        shown: Standard error where None.

    Example:
        >>> list(telling("loop", ["first", "second"], sys.stdout))
        loop: 1 figure
        loop: 2 figures
        ['first', 'second']
    """
    shown = shown or sys.stderr
    rewritten = shown.isatty()
    begin, count = time.monotonic(), 0
    queue: SimpleQueue[str | None] = SimpleQueue()
    Thread(target=_read, args=(lines, queue), daemon=True).start()
    while True:
        try:
            line = queue.get(timeout=EVERY_S)
        except Empty:
            line = ""
        if line is None:
            break
        count += bool(line)
        told = f"{name}: {count} figure{'s' * (count != 1)}"
        if rewritten:
            print(
                f"\r\033[K{told}, {time.monotonic() - begin:.0f} s", end="", file=shown, flush=True
            )
        elif line:
            print(told, file=shown, flush=True)
        if line:
            yield line
    if rewritten:
        print("\r\033[K", end="", file=shown, flush=True)


def _read(lines: Iterable[str], queue: SimpleQueue[str | None]) -> None:
    try:
        for line in lines:
            queue.put(line)
    finally:
        queue.put(None)


PEERS = "bm25s chromadb langchain-core langgraph llama-index-core numpy openai scikit-learn torch"


def describe() -> dict[str, str]:
    """Processor, memory, system and versions, by name."""
    return {
        "Processor": f"{_processor()}, {os.cpu_count()} cores",
        "Memory": f"{_memory_gb():.0f} GB",
        "System": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "Packages": ", ".join(f"{name} {_version(name)}" for name in PEERS.split()),
    }


def load() -> float:
    """How many processes wanted a processor during the last minute."""
    return os.getloadavg()[0]


def _processor() -> str:
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def _memory_gb() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"
