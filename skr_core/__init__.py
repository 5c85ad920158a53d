"""What can be said of one question without a framework."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skr_core.budget import Budget as Budget
    from skr_core.errors import SKRError as SKRError
    from skr_core.models.embedders import HashingEmbedder as HashingEmbedder
    from skr_core.models.embedders import SentenceTransformerEmbedder as SentenceTransformerEmbedder
    from skr_core.ports import Embedder as Embedder
    from skr_core.ports import LanguageModel as LanguageModel
    from skr_core.ports import ReferenceStore as ReferenceStore
    from skr_core.ports import Reflector as Reflector
    from skr_core.ports import Retriever as Retriever
    from skr_core.ports import Router as Router
    from skr_core.prompts.templates import PromptTemplates as PromptTemplates
    from skr_core.questions import Question as Question
    from skr_core.questions import read_questions as read_questions
    from skr_core.routers.loading import load_router as load_router
    from skr_core.settings import Settings as Settings
    from skr_core.types import Action as Action
    from skr_core.types import Answer as Answer
    from skr_core.types import Citation as Citation
    from skr_core.types import Decision as Decision
    from skr_core.types import Demonstration as Demonstration
    from skr_core.types import Generation as Generation
    from skr_core.types import Prompt as Prompt
    from skr_core.types import Reference as Reference
    from skr_core.types import Reflection as Reflection
    from skr_core.types import Round as Round
    from skr_core.types import Usage as Usage

_MODULES = {
    "Action": "skr_core.types",
    "Answer": "skr_core.types",
    "Budget": "skr_core.budget",
    "Citation": "skr_core.types",
    "Decision": "skr_core.types",
    "Demonstration": "skr_core.types",
    "Embedder": "skr_core.ports",
    "Generation": "skr_core.types",
    "HashingEmbedder": "skr_core.models.embedders",
    "LanguageModel": "skr_core.ports",
    "Prompt": "skr_core.types",
    "PromptTemplates": "skr_core.prompts.templates",
    "Question": "skr_core.questions",
    "Reference": "skr_core.types",
    "ReferenceStore": "skr_core.ports",
    "Reflection": "skr_core.types",
    "Reflector": "skr_core.ports",
    "Retriever": "skr_core.ports",
    "Round": "skr_core.types",
    "Router": "skr_core.ports",
    "SKRError": "skr_core.errors",
    "SentenceTransformerEmbedder": "skr_core.models.embedders",
    "Settings": "skr_core.settings",
    "Usage": "skr_core.types",
    "load_router": "skr_core.routers.loading",
    "read_questions": "skr_core.questions",
}

__all__ = [
    "Action",
    "Answer",
    "Budget",
    "Citation",
    "Decision",
    "Demonstration",
    "Embedder",
    "Generation",
    "HashingEmbedder",
    "LanguageModel",
    "Prompt",
    "PromptTemplates",
    "Question",
    "Reference",
    "ReferenceStore",
    "Reflection",
    "Reflector",
    "Retriever",
    "Round",
    "Router",
    "SKRError",
    "SentenceTransformerEmbedder",
    "Settings",
    "Usage",
    "load_router",
    "read_questions",
]


def __getattr__(name: str) -> object:
    """Import what is asked for: nobody pays for what is not used."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
