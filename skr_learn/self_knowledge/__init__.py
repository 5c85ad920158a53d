"""Records of what each action answered, whether it was right, and what it cost."""

from skr_learn.self_knowledge.collecting import acollect, collect
from skr_learn.self_knowledge.importers import read_self_knowledge
from skr_learn.self_knowledge.progress import Progress
from skr_learn.self_knowledge.records import SelfKnowledge, write_self_knowledge
from skr_learn.self_knowledge.scoring import Judge

__all__ = [
    "Judge",
    "Progress",
    "SelfKnowledge",
    "acollect",
    "collect",
    "read_self_knowledge",
    "write_self_knowledge",
]
