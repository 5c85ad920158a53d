"""What LangGraph and LangChain offer no public way to ask.

`tests/skr_graphs/test_compat.py` shows what each function relies on, and names the versions that it
was tried with.
"""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig
from langgraph.pregel._messages import StreamMessagesHandlerV2


def streams_messages(config: RunnableConfig) -> bool:
    """Whether somebody reads the messages of a run token by token.

    LangGraph hands a run that is streamed with ``stream_mode="messages"``, and LangChain one whose
    events are read, a callback handler that taps what models stream. Its class is private, so it is
    known here by the method that it has; LangChain's models decide by the same whether ``invoke``
    streams. No public name says it.
    """
    handlers = getattr(config.get("callbacks"), "handlers", ())
    return any(hasattr(handler, "tap_output_iter") for handler in handlers)


def takes_pieces(config: RunnableConfig) -> bool:
    """Whether who reads the messages of a run takes them in pieces.

    LangGraph's experimental ``stream_events(version="v3")`` drops the chunks that a node pushes,
    and then holds the node's whole message for one that it has shown: it is left that one alone.
    """
    handlers = getattr(config.get("callbacks"), "handlers", ())
    return not any(isinstance(handler, StreamMessagesHandlerV2) for handler in handlers)
