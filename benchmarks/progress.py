"""How far a part is, told on standard error while it runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TextIO

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
