"""From records of what each action answered to decisions."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skr_learn.calibrating import Calibration as Calibration
    from skr_learn.calibrating import calibrate as calibrate
    from skr_learn.collecting import acollect as acollect
    from skr_learn.collecting import collect as collect
    from skr_learn.curve import RoutingCurve as RoutingCurve
    from skr_learn.monitoring import Monitored as Monitored
    from skr_learn.monitoring import monitor as monitor
    from skr_learn.policy import Policy as Policy
    from skr_learn.questions import amake_questions as amake_questions
    from skr_learn.questions import make_questions as make_questions
    from skr_learn.ray_workers import RayWorkers as RayWorkers
    from skr_learn.records import Outcome as Outcome
    from skr_learn.records import Record as Record
    from skr_learn.records import Records as Records
    from skr_learn.records import record_of_feedback as record_of_feedback
    from skr_learn.reflector import LearnedReflector as LearnedReflector
    from skr_learn.replaying import replay as replay
    from skr_learn.review import accept_questions as accept_questions
    from skr_learn.review import read_review as read_review
    from skr_learn.scoring import arescore as arescore
    from skr_learn.scoring import rescore as rescore
    from skr_learn.summary import Summary as Summary

_MODULES = {
    "Calibration": "skr_learn.calibrating",
    "LearnedReflector": "skr_learn.reflector",
    "Monitored": "skr_learn.monitoring",
    "Policy": "skr_learn.policy",
    "RayWorkers": "skr_learn.ray_workers",
    "RoutingCurve": "skr_learn.curve",
    "Outcome": "skr_learn.records",
    "Record": "skr_learn.records",
    "Records": "skr_learn.records",
    "Summary": "skr_learn.summary",
    "accept_questions": "skr_learn.review",
    "acollect": "skr_learn.collecting",
    "amake_questions": "skr_learn.questions",
    "arescore": "skr_learn.scoring",
    "calibrate": "skr_learn.calibrating",
    "collect": "skr_learn.collecting",
    "make_questions": "skr_learn.questions",
    "monitor": "skr_learn.monitoring",
    "read_review": "skr_learn.review",
    "record_of_feedback": "skr_learn.records",
    "replay": "skr_learn.replaying",
    "rescore": "skr_learn.scoring",
}

__all__ = [
    "Calibration",
    "LearnedReflector",
    "Monitored",
    "Outcome",
    "Policy",
    "RayWorkers",
    "Record",
    "Records",
    "RoutingCurve",
    "Summary",
    "accept_questions",
    "acollect",
    "amake_questions",
    "arescore",
    "calibrate",
    "collect",
    "make_questions",
    "monitor",
    "read_review",
    "record_of_feedback",
    "replay",
    "rescore",
]


def __getattr__(name: str) -> object:
    """Import what is asked for: nobody pays for what is not used."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
