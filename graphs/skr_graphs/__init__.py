"""The LangGraph state machine that retrieves until the references suffice."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skr_graphs.asking import until_it_fits
    from skr_graphs.building_blocks import (
        StateKeys,
        create_follow_up_node,
        create_reflect_node,
        create_route_node,
    )
    from skr_graphs.context import SKRContext
    from skr_graphs.events import StreamedSources
    from skr_graphs.graph import (
        CompiledGraph,
        GraphAnswerer,
        SelfCompletionGraph,
        create_self_completion_graph,
    )
    from skr_graphs.node import unstreamed, warn_once
    from skr_graphs.state import SKRInput, SKROutput, SKRState, answer_of, said_in, without_messages
    from skr_graphs.steps import decide, decide_on

_MODULES = {
    "CompiledGraph": "skr_graphs.graph",
    "GraphAnswerer": "skr_graphs.graph",
    "SKRContext": "skr_graphs.context",
    "SKRInput": "skr_graphs.state",
    "SKROutput": "skr_graphs.state",
    "SKRState": "skr_graphs.state",
    "SelfCompletionGraph": "skr_graphs.graph",
    "StateKeys": "skr_graphs.building_blocks",
    "StreamedSources": "skr_graphs.events",
    "answer_of": "skr_graphs.state",
    "create_follow_up_node": "skr_graphs.building_blocks",
    "create_reflect_node": "skr_graphs.building_blocks",
    "create_route_node": "skr_graphs.building_blocks",
    "create_self_completion_graph": "skr_graphs.graph",
    "decide": "skr_graphs.steps",
    "decide_on": "skr_graphs.steps",
    "said_in": "skr_graphs.state",
    "unstreamed": "skr_graphs.node",
    "until_it_fits": "skr_graphs.asking",
    "warn_once": "skr_graphs.node",
    "without_messages": "skr_graphs.state",
}

__all__ = [
    "CompiledGraph",
    "GraphAnswerer",
    "SKRContext",
    "SKRInput",
    "SKROutput",
    "SKRState",
    "SelfCompletionGraph",
    "StateKeys",
    "StreamedSources",
    "answer_of",
    "create_follow_up_node",
    "create_reflect_node",
    "create_route_node",
    "create_self_completion_graph",
    "decide",
    "decide_on",
    "said_in",
    "unstreamed",
    "until_it_fits",
    "warn_once",
    "without_messages",
]


def __getattr__(name: str) -> object:
    """Import what is asked for: the engines of LlamaIndex name a context without LangGraph."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
