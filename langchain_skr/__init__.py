"""The LangChain plug-in: retrieves when needed, and until the references suffice."""

from importlib import import_module
from typing import TYPE_CHECKING

from langchain_skr.chain import SKRChain
from langchain_skr.documents import LangChainRetriever, RetrieverLike, as_retriever, to_document
from langchain_skr.factories import create_skr_chain, create_skr_graph, create_skr_tool
from langchain_skr.models import LangChainModel, ModelLike, as_language_model, load_model

if TYPE_CHECKING:
    from langchain_skr.embedders import as_embedder
    from langchain_skr.middleware import SKRMiddleware
    from langchain_skr.prompt_templates import as_templates
    from langchain_skr.retriever import SKRRetriever
    from langchain_skr.sourced import AnswerWithSources, SKRSourcesChain

__all__ = [
    "AnswerWithSources",
    "LangChainModel",
    "LangChainRetriever",
    "ModelLike",
    "RetrieverLike",
    "SKRChain",
    "SKRMiddleware",
    "SKRRetriever",
    "SKRSourcesChain",
    "as_embedder",
    "as_language_model",
    "as_retriever",
    "as_templates",
    "create_skr_chain",
    "create_skr_graph",
    "create_skr_tool",
    "load_model",
    "to_document",
]


_LAZY = {
    "AnswerWithSources": "sourced",
    "SKRMiddleware": "middleware",
    "SKRRetriever": "retriever",
    "SKRSourcesChain": "sourced",
    "as_embedder": "embedders",
    "as_templates": "prompt_templates",
}


def __getattr__(name: str) -> object:
    """Import what a chain does not need when it is asked for.

    The middleware wants the extra ``langchain``, and LangChain's prompts take long to import.
    """
    if name in _LAZY:
        return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
