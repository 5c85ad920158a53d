"""Routers that need no records: constants, and those that ask the model itself."""

from importlib import import_module
from typing import TYPE_CHECKING

from skr_core.routers.constant import AlwaysRetrieve, FixedDecision, NeverRetrieve, constant_router

if TYPE_CHECKING:
    from skr_core.routers.confidence import Assessment, CertaintyLevelRouter, ConfidenceRouter
    from skr_core.routers.loading import load_router
    from skr_core.routers.model_routers import (
        ModelRouter,
        PromptRouter,
        UncertaintyRouter,
        quoted,
    )

__all__ = [
    "AlwaysRetrieve",
    "Assessment",
    "CertaintyLevelRouter",
    "ConfidenceRouter",
    "FixedDecision",
    "ModelRouter",
    "NeverRetrieve",
    "PromptRouter",
    "UncertaintyRouter",
    "constant_router",
    "load_router",
    "quoted",
]

_LAZY = {
    "Assessment": "confidence",
    "CertaintyLevelRouter": "confidence",
    "ConfidenceRouter": "confidence",
    "ModelRouter": "model_routers",
    "PromptRouter": "model_routers",
    "UncertaintyRouter": "model_routers",
    "load_router": "loading",
    "quoted": "model_routers",
}


def __getattr__(name: str) -> object:
    """Import those that ask or were saved when they are asked for: numpy comes with them."""
    if name in _LAZY:
        return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
