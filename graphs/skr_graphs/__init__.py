"""The LangGraph state machine that retrieves until the references suffice."""

from skr_graphs.answerer import CompiledGraph, GraphAnswerer
from skr_graphs.context import SKRContext
from skr_graphs.self_completion import create_self_completion_graph
from skr_graphs.state import SKRInput, SKROutput, SKRState, answer_of

__all__ = [
    "CompiledGraph",
    "GraphAnswerer",
    "SKRContext",
    "SKRInput",
    "SKROutput",
    "SKRState",
    "answer_of",
    "create_self_completion_graph",
]
