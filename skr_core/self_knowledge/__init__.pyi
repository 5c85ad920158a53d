from .collect import acollect as acollect
from .collect import collect as collect
from .importers import read_self_knowledge as read_self_knowledge
from .progress import Progress as Progress
from .records import SelfKnowledge as SelfKnowledge
from .records import write_self_knowledge as write_self_knowledge
from .scoring import Judge as Judge
