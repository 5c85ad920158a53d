"""warn_once: what went wrong on the way to an answer, in the log of the process."""

from __future__ import annotations

import logging

_LOG = logging.getLogger("skr_graphs")
_TOLD: set[str] = set()


def warn_once(error: str) -> None:
    """Log a failure that did not end the question; of each kind the first alone.

    Args:
        error: As a round records it; what stands before the first colon differs by question.
    """
    kind = error.partition(": ")[2] or error
    if kind not in _TOLD:
        _TOLD.add(kind)
        _LOG.warning("%s (told once)", error)
