"""The core: types, ports, flows, prompts, routers and metrics. It knows no framework."""

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
    "SKRError",
    "Usage",
]
