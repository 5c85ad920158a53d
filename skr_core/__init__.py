"""What can be said of one question without a framework, and without records."""

from importlib import import_module
from typing import TYPE_CHECKING

from skr_core.budget import Budget, Price
from skr_core.errors import SKRError
from skr_core.ports import (
    AnswerArbiter,
    ClimbingRouter,
    DraftRouter,
    Embedder,
    EntailmentModel,
    LanguageModel,
    OnToken,
    QuestionAnswerer,
    ReferenceStore,
    Reflector,
    Retriever,
    Router,
)
from skr_core.prompts.templates import PromptTemplates
from skr_core.registry import names_of, registered
from skr_core.settings import ActionAnswerer, Settings
from skr_core.types import (
    Action,
    Answer,
    Citation,
    Decision,
    Demonstration,
    Generation,
    Image,
    Prompt,
    Reference,
    Reflection,
    Round,
    Usage,
    Verdict,
)

if TYPE_CHECKING:
    from skr_core.candidates import CandidateAnswer
    from skr_core.models.embedders import HashingEmbedder, SentenceTransformerEmbedder
    from skr_core.questions import Question, read_questions
    from skr_core.routers.loading import load_router

__all__ = [
    "Action",
    "ActionAnswerer",
    "Answer",
    "AnswerArbiter",
    "Budget",
    "CandidateAnswer",
    "Citation",
    "ClimbingRouter",
    "Decision",
    "Demonstration",
    "DraftRouter",
    "Embedder",
    "EntailmentModel",
    "Generation",
    "HashingEmbedder",
    "Image",
    "LanguageModel",
    "OnToken",
    "Price",
    "Prompt",
    "PromptTemplates",
    "Question",
    "QuestionAnswerer",
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
    "Verdict",
    "load_router",
    "names_of",
    "read_questions",
    "registered",
]

_LAZY = {
    "CandidateAnswer": "candidates",
    "HashingEmbedder": "models.embedders",
    "Question": "questions",
    "SentenceTransformerEmbedder": "models.embedders",
    "load_router": "routers.loading",
    "read_questions": "questions",
}


def __getattr__(name: str) -> object:
    """Import what a chain does not need when it is asked for: numpy comes with some of it."""
    if name in _LAZY:
        return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
