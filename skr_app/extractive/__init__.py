"""A language model without weights: it quotes the sentences that carry the answer."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skr_app.extractive.entailment import LexicalEntailment as LexicalEntailment
    from skr_app.extractive.model import ExtractiveModel as ExtractiveModel

_MODULES = {
    "ExtractiveModel": "skr_app.extractive.model",
    "LexicalEntailment": "skr_app.extractive.entailment",
}

__all__ = ["ExtractiveModel", "LexicalEntailment"]


def __getattr__(name: str) -> object:
    """Import what is asked for: nobody pays for what is not used."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
