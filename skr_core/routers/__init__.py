"""Routers that need no records: constants, and those that ask the model itself."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skr_core.routers.certainty_level import CertaintyLevelRouter as CertaintyLevelRouter
    from skr_core.routers.confidence import Assessment as Assessment
    from skr_core.routers.confidence import ConfidenceRouter as ConfidenceRouter
    from skr_core.routers.constant import AlwaysRetrieve as AlwaysRetrieve
    from skr_core.routers.constant import FixedDecision as FixedDecision
    from skr_core.routers.constant import NeverRetrieve as NeverRetrieve
    from skr_core.routers.loading import load_router as load_router
    from skr_core.routers.prompt import PromptRouter as PromptRouter
    from skr_core.routers.uncertainty import UncertaintyRouter as UncertaintyRouter

_MODULES = {
    "AlwaysRetrieve": "skr_core.routers.constant",
    "Assessment": "skr_core.routers.confidence",
    "CertaintyLevelRouter": "skr_core.routers.certainty_level",
    "ConfidenceRouter": "skr_core.routers.confidence",
    "FixedDecision": "skr_core.routers.constant",
    "NeverRetrieve": "skr_core.routers.constant",
    "PromptRouter": "skr_core.routers.prompt",
    "UncertaintyRouter": "skr_core.routers.uncertainty",
    "load_router": "skr_core.routers.loading",
}

__all__ = [
    "AlwaysRetrieve",
    "Assessment",
    "CertaintyLevelRouter",
    "ConfidenceRouter",
    "FixedDecision",
    "NeverRetrieve",
    "PromptRouter",
    "UncertaintyRouter",
    "load_router",
]


def __getattr__(name: str) -> object:
    """Import what is asked for: nobody pays for what is not used."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
