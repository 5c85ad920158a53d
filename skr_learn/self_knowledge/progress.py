"""How far a collection is, counted across threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from skr_core.types import NO_USAGE, Usage


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a collection is.

    Attributes:
        total: Different questions that can be scored.
        recorded: Questions on record, those of earlier runs included.
        reused: Questions that earlier runs had recorded.
        failed: Questions whose model, retriever or judge failed; the next run asks them again.
        missed: Questions on record whose statements failed; the next run asks for them again.
        unscored: Questions left out because they have no gold answer.
        usage: Spent by this run, failed questions included as far as their calls came back.
        last_failure: Why the last failed question failed.

    Example:
        >>> Progress(total=10, recorded=4, failed=1).done
        5
    """

    total: int
    recorded: int = 0
    reused: int = 0
    failed: int = 0
    missed: int = 0
    unscored: int = 0
    usage: Usage = NO_USAGE
    last_failure: str = ""

    @property
    def done(self) -> int:
        """Questions that are finished, one way or the other."""
        return self.recorded + self.failed


OnCollected = Callable[[Progress], None]
"""Called at the start and after each question; one call at a time."""


class Tally:
    """Counts what threads finish, and tells of it one call at a time.

    Args:
        progress: Where the counting begins.
        on_progress: Told at once, and after each question.

    Example:
        >>> tally = Tally(Progress(total=2), None)
        >>> tally.fail("overloaded")
        >>> tally.progress.failed
        1
    """

    def __init__(self, progress: Progress, on_progress: OnCollected | None) -> None:
        self.progress = progress
        self._on_progress = on_progress
        self._lock = threading.Lock()
        self._tell()

    def spend(self, usage: Usage) -> None:
        """Add what a call has cost."""
        with self._lock:
            self.progress = replace(self.progress, usage=self.progress.usage + usage)

    def finish(self) -> None:
        """Count a question that is on record."""
        with self._lock:
            self.progress = replace(self.progress, recorded=self.progress.recorded + 1)
            self._tell()

    def fail(self, why: str) -> None:
        """Count a question that failed."""
        with self._lock:
            failed = self.progress.failed + 1
            self.progress = replace(self.progress, failed=failed, last_failure=why)
            self._tell()

    def miss(self, why: str) -> None:
        """Count a question on record that lacks a statement."""
        with self._lock:
            missed = self.progress.missed + 1
            self.progress = replace(self.progress, missed=missed, last_failure=why)
            self._tell()

    def tell(self) -> None:
        """Tell what has been spent since."""
        with self._lock:
            self._tell()

    def _tell(self) -> None:
        if self._on_progress is not None:
            self._on_progress(self.progress)
