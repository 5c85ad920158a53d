"""Children of a fork, each limited in time."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable

SECONDS = 60


class Child:
    """A forked child that does some work, and nothing of what pytest has to do when it ends."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._process = os.fork()
        if self._process == 0:
            signal.alarm(SECONDS)  # ends it, wherever it hangs
            code = 1
            try:
                work()
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)

    def join(self) -> int:
        """Its exit code; -SIGALRM where it hung."""
        return os.waitstatus_to_exitcode(os.waitpid(self._process, 0)[1])


def in_child(work: Callable[[], object]) -> int:
    """The exit code of a child that does this work."""
    return Child(work).join()
