"""The LlamaIndex plug-in: retrieves when needed, and until the references suffice.

Needs the extra ``llamaindex``.
"""

from skr_core.errors import extra

with extra("llamaindex"):
    import llama_index.core  # noqa: F401 - all of the package stands on it

from llamaindex_skr.chat_engine import SKRChatEngine
from llamaindex_skr.embedders import as_embedder
from llamaindex_skr.llms import LlamaIndexModel, as_language_model, load_model, openai_like
from llamaindex_skr.nodes import to_node, to_reference
from llamaindex_skr.query_engine import SKRQueryEngine
from llamaindex_skr.responses import SKRStreamingChatResponse
from llamaindex_skr.routing import KNOWN_TEXT, SKRRetriever, SKRSelector
from llamaindex_skr.runs import (
    SKRAnswerEvent,
    SKRCondenseEvent,
    SKRDraftEvent,
    SKREvent,
    SKRQueryEvent,
    SKRReferencesEvent,
    SKRReflectionEvent,
    SKRRetractEvent,
    SKRRouteEvent,
    SKRStartEvent,
    SKRVerdictEvent,
)
from llamaindex_skr.sources import LlamaIndexRetriever, as_retriever
from llamaindex_skr.tool import SKRTool, create_skr_tool

__all__ = [
    "KNOWN_TEXT",
    "LlamaIndexModel",
    "LlamaIndexRetriever",
    "SKRAnswerEvent",
    "SKRChatEngine",
    "SKRCondenseEvent",
    "SKRDraftEvent",
    "SKREvent",
    "SKRQueryEngine",
    "SKRQueryEvent",
    "SKRReferencesEvent",
    "SKRReflectionEvent",
    "SKRRetractEvent",
    "SKRRetriever",
    "SKRRouteEvent",
    "SKRSelector",
    "SKRStartEvent",
    "SKRStreamingChatResponse",
    "SKRTool",
    "SKRVerdictEvent",
    "as_embedder",
    "as_language_model",
    "as_retriever",
    "create_skr_tool",
    "load_model",
    "openai_like",
    "to_node",
    "to_reference",
]
