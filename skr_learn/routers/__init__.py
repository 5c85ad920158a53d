"""Routers that learn from records."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skr_learn.routers.base import QuestionRouter as QuestionRouter
    from skr_learn.routers.classifier import ClassifierRouter as ClassifierRouter
    from skr_learn.routers.encoder import EncoderRouter as EncoderRouter
    from skr_learn.routers.in_context import InContextRouter as InContextRouter
    from skr_learn.routers.knn import KNNRouter as KNNRouter

_MODULES = {
    "ClassifierRouter": "skr_learn.routers.classifier",
    "EncoderRouter": "skr_learn.routers.encoder",
    "InContextRouter": "skr_learn.routers.in_context",
    "KNNRouter": "skr_learn.routers.knn",
    "QuestionRouter": "skr_learn.routers.base",
}

__all__ = [
    "ClassifierRouter",
    "EncoderRouter",
    "InContextRouter",
    "KNNRouter",
    "QuestionRouter",
]


def __getattr__(name: str) -> object:
    """Import what is asked for: nobody pays for what is not used."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
