"""From records of what each action answered to decisions."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skr_learn.arbiters.arbiter import Arbiter as Arbiter
    from skr_learn.arbiters.ladder import Ladder as Ladder
    from skr_learn.calibration.calibrating import Calibration as Calibration
    from skr_learn.calibration.calibrating import calibrate as calibrate
    from skr_learn.calibration.curve import RoutingCurve as RoutingCurve
    from skr_learn.calibration.replaying import replay as replay
    from skr_learn.learned_reflector import LearnedReflector as LearnedReflector
    from skr_learn.ray_workers import RayWorkers as RayWorkers
    from skr_learn.self_knowledge.collecting import acollect as acollect
    from skr_learn.self_knowledge.collecting import collect as collect
    from skr_learn.self_knowledge.feedback import record_of_feedback as record_of_feedback
    from skr_learn.self_knowledge.importers import read_self_knowledge as read_self_knowledge
    from skr_learn.self_knowledge.records import SelfKnowledge as SelfKnowledge
    from skr_learn.self_knowledge.records import write_self_knowledge as write_self_knowledge

_MODULES = {
    "Arbiter": "skr_learn.arbiters.arbiter",
    "Calibration": "skr_learn.calibration.calibrating",
    "Ladder": "skr_learn.arbiters.ladder",
    "LearnedReflector": "skr_learn.learned_reflector",
    "RayWorkers": "skr_learn.ray_workers",
    "RoutingCurve": "skr_learn.calibration.curve",
    "SelfKnowledge": "skr_learn.self_knowledge.records",
    "acollect": "skr_learn.self_knowledge.collecting",
    "calibrate": "skr_learn.calibration.calibrating",
    "collect": "skr_learn.self_knowledge.collecting",
    "read_self_knowledge": "skr_learn.self_knowledge.importers",
    "record_of_feedback": "skr_learn.self_knowledge.feedback",
    "replay": "skr_learn.calibration.replaying",
    "write_self_knowledge": "skr_learn.self_knowledge.records",
}

__all__ = [
    "Arbiter",
    "Calibration",
    "Ladder",
    "LearnedReflector",
    "RayWorkers",
    "RoutingCurve",
    "SelfKnowledge",
    "acollect",
    "calibrate",
    "collect",
    "read_self_knowledge",
    "record_of_feedback",
    "replay",
    "write_self_knowledge",
]


def __getattr__(name: str) -> object:
    """Import what is asked for: nobody pays for what is not used."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
