"""Arbiters: which of several answers is likelier right?"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skr_learn.arbiters.answers import Seen as Seen
    from skr_learn.arbiters.arbiter import Arbiter as Arbiter
    from skr_learn.arbiters.ladder import Ladder as Ladder
    from skr_learn.arbiters.margins import MarginArbiter as MarginArbiter

_MODULES = {
    "Arbiter": "skr_learn.arbiters.arbiter",
    "Ladder": "skr_learn.arbiters.ladder",
    "MarginArbiter": "skr_learn.arbiters.margins",
    "Seen": "skr_learn.arbiters.answers",
}

__all__ = ["Arbiter", "Ladder", "MarginArbiter", "Seen"]


def __getattr__(name: str) -> object:
    """Import what is asked for: nobody pays for what is not used."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
