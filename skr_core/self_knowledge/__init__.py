"""Self-knowledge (SKR §3.1): what a model answers right by itself, and what it needs help with."""

from skr_core.self_knowledge.collect import acollect, collect
from skr_core.self_knowledge.progress import Progress
from skr_core.self_knowledge.records import (
    SelfKnowledge,
    Stamp,
    read_self_knowledge,
    write_self_knowledge,
)
from skr_core.self_knowledge.scoring import Judge

__all__ = [
    "Judge",
    "Progress",
    "SelfKnowledge",
    "Stamp",
    "acollect",
    "collect",
    "read_self_knowledge",
    "write_self_knowledge",
]
