"""Records of what each action answered, whether it was right, and what it cost."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skr_learn.self_knowledge.collecting import acollect as acollect
    from skr_learn.self_knowledge.collecting import collect as collect
    from skr_learn.self_knowledge.importers import read_self_knowledge as read_self_knowledge
    from skr_learn.self_knowledge.progress import Progress as Progress
    from skr_learn.self_knowledge.records import SelfKnowledge as SelfKnowledge
    from skr_learn.self_knowledge.records import write_self_knowledge as write_self_knowledge
    from skr_learn.self_knowledge.scoring import Judge as Judge

_MODULES = {
    "Judge": "skr_learn.self_knowledge.scoring",
    "Progress": "skr_learn.self_knowledge.progress",
    "SelfKnowledge": "skr_learn.self_knowledge.records",
    "acollect": "skr_learn.self_knowledge.collecting",
    "collect": "skr_learn.self_knowledge.collecting",
    "read_self_knowledge": "skr_learn.self_knowledge.importers",
    "write_self_knowledge": "skr_learn.self_knowledge.records",
}

__all__ = [
    "Judge",
    "Progress",
    "SelfKnowledge",
    "acollect",
    "collect",
    "read_self_knowledge",
    "write_self_knowledge",
]


def __getattr__(name: str) -> object:
    """Import what is asked for: nobody pays for what is not used."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
