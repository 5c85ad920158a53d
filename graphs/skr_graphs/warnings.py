"""warn_once: what went wrong on the way to an answer, in the log of the process."""

from __future__ import annotations

import logging
from typing import Literal

_LOG = logging.getLogger("skr_graphs")
_TOLD: set[str] = set()


def warn_once(kind: Literal["condense", "search", "store"], error: str) -> None:
    """Log a failure that did not end the question; of each kind the first alone.

    Args:
        kind: What failed. Messages name the question, so that they would tell each one apart.
        error: As a round records it.
    """
    if kind not in _TOLD:
        _TOLD.add(kind)
        # One line, because what it quotes could pose as another message.
        _LOG.warning("%s (told once)", " ".join(error.split()))
