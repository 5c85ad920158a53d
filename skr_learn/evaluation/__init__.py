"""Asking systems the same questions, and judging their answers."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skr_learn.evaluation.asking import Answers as Answers
    from skr_learn.evaluation.asking import Asked as Asked
    from skr_learn.evaluation.asking import System as System
    from skr_learn.evaluation.asking import ask_all as ask_all
    from skr_learn.evaluation.measuring import Judged as Judged
    from skr_learn.evaluation.measuring import judge_all as judge_all
    from skr_learn.evaluation.remembering import RememberingEntailment as RememberingEntailment
    from skr_learn.evaluation.scores import Scores as Scores

_MODULES = {
    "Answers": "skr_learn.evaluation.asking",
    "Asked": "skr_learn.evaluation.asking",
    "Judged": "skr_learn.evaluation.measuring",
    "Scores": "skr_learn.evaluation.scores",
    "RememberingEntailment": "skr_learn.evaluation.remembering",
    "System": "skr_learn.evaluation.asking",
    "ask_all": "skr_learn.evaluation.asking",
    "judge_all": "skr_learn.evaluation.measuring",
}

__all__ = [
    "Answers",
    "Asked",
    "Judged",
    "RememberingEntailment",
    "Scores",
    "System",
    "ask_all",
    "judge_all",
]


def __getattr__(name: str) -> object:
    """Import what is asked for: nobody pays for what is not used."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
