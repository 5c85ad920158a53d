"""The LangChain plug-in: retrieves when needed, and until the references suffice."""

from typing import TYPE_CHECKING, Any

from langchain_skr.adapters import (
    LangChainModel,
    LangChainRetriever,
    as_language_model,
    as_retriever,
)
from langchain_skr.chain import SKRChain, SKRSourcesChain, create_skr_chain
from langchain_skr.collecting import acollect, collect
from langchain_skr.documents import to_document
from langchain_skr.graph import create_skr_graph
from langchain_skr.models import load_model
from langchain_skr.prompt_templates import as_templates
from langchain_skr.retriever import SKRRetriever
from langchain_skr.sources import AnswerWithSources
from langchain_skr.tool import create_skr_tool

if TYPE_CHECKING:
    from langchain_skr.middleware import SKRMiddleware

__all__ = [
    "AnswerWithSources",
    "LangChainModel",
    "LangChainRetriever",
    "SKRChain",
    "SKRMiddleware",
    "SKRRetriever",
    "SKRSourcesChain",
    "acollect",
    "as_language_model",
    "as_retriever",
    "as_templates",
    "collect",
    "create_skr_chain",
    "create_skr_graph",
    "create_skr_tool",
    "load_model",
    "to_document",
]


def __getattr__(name: str) -> Any:
    """Import the middleware when it is asked for: it alone needs the extra ``langchain``."""
    if name == "SKRMiddleware":
        from langchain_skr.middleware import SKRMiddleware

        return SKRMiddleware
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
