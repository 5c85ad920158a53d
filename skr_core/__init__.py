"""The core: types, ports, flows, prompts, routers and metrics. It knows no framework."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from skr_core.budget import Budget
from skr_core.errors import SKRError
from skr_core.types import (
    Answer,
    Citation,
    Decision,
    Demonstration,
    Generation,
    Prompt,
    Reference,
    Reflection,
    Round,
    Usage,
)

if TYPE_CHECKING:
    from skr_core.calibration.calibrate import calibrate
    from skr_core.calibration.curve import RoutingCurve
    from skr_core.self_knowledge.collect import acollect, collect

__all__ = [
    "Answer",
    "Budget",
    "Citation",
    "Decision",
    "Demonstration",
    "Generation",
    "Prompt",
    "Reference",
    "Reflection",
    "Round",
    "RoutingCurve",
    "SKRError",
    "Usage",
    "acollect",
    "calibrate",
    "collect",
]

# Imported when asked for, so that an application that only answers does not load them.
_LATER = {
    "RoutingCurve": "skr_core.calibration.curve",
    "acollect": "skr_core.self_knowledge.collect",
    "calibrate": "skr_core.calibration.calibrate",
    "collect": "skr_core.self_knowledge.collect",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
