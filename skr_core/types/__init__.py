"""The values that cross module borders: frozen dataclasses, no behaviour beyond derived numbers.

The *question* is what the user asked and never changes; a *query* is what is searched.
"""

from skr_core.types.answers import Answer, Citation, Round, Stamp, StopReason
from skr_core.types.calls import NO_USAGE, Demonstration, Generation, Prompt, Task, Usage
from skr_core.types.decisions import (
    ACTIONS,
    Action,
    Decision,
    Effect,
    Neighbour,
    Reflection,
    Verdict,
)
from skr_core.types.references import PLAIN, Metadata, Reference, content_id, flat_metadata

__all__ = [
    "ACTIONS",
    "NO_USAGE",
    "PLAIN",
    "Action",
    "Answer",
    "Citation",
    "Decision",
    "Demonstration",
    "Effect",
    "Generation",
    "Metadata",
    "Neighbour",
    "Prompt",
    "Reference",
    "Reflection",
    "Round",
    "Stamp",
    "StopReason",
    "Task",
    "Usage",
    "Verdict",
    "content_id",
    "flat_metadata",
]
