"""Reflectors: do the references suffice for a draft?"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skr_core.reflectors.entailment import EntailmentReflector as EntailmentReflector
    from skr_core.reflectors.judge import JudgeReflector as JudgeReflector
    from skr_core.reflectors.refusal import RefusalReflector as RefusalReflector

_MODULES = {
    "EntailmentReflector": "skr_core.reflectors.entailment",
    "JudgeReflector": "skr_core.reflectors.judge",
    "RefusalReflector": "skr_core.reflectors.refusal",
}

__all__ = ["EntailmentReflector", "JudgeReflector", "RefusalReflector"]


def __getattr__(name: str) -> object:
    """Import what is asked for: nobody pays for what is not used."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
