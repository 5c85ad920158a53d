"""The answer's tokens, and no others, to whoever streams.

Every call of a model is tagged ``nostream``, so LangGraph shows none of them in
``stream_mode="messages"``. A draft's pieces pass through here instead: they are held back while the
draft may still turn out to be a refusal, and a marker is held back until it is known to name a
reference. What has been passed on is always a beginning of the resolved text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextvars import copy_context
from uuid import uuid4

from langchain_core.messages import AIMessageChunk
from langchain_core.tracers._streaming import _StreamingCallbackHandler
from langgraph.config import get_config
from langgraph.graph.message import push_message
from langgraph.types import StreamWriter

from skr_core.citations import resolve_citations
from skr_core.parsing import may_become_refusal
from skr_core.types import Reference
from skr_graphs.state import Streamed

_BRACKET = re.compile(r"[\[\]【】]")


def messages_are_streamed() -> bool:
    """Whether the run goes to somebody who reads messages token by token.

    LangChain's models ask the same of the same handlers, to decide whether ``invoke`` streams.
    """
    handlers = getattr(get_config().get("callbacks"), "handlers", ())
    return any(isinstance(handler, _StreamingCallbackHandler) for handler in handlers)


class TokenStream:
    """Passes an answer's pieces on, as ``token`` events and as message chunks.

    Args:
        writer: Of the run's custom events.
        references: What the answer may cite.
        hold_refusals: Hold pieces back while they may become the refusal sentence.
    """

    def __init__(
        self,
        writer: StreamWriter,
        references: Sequence[Reference] = (),
        *,
        hold_refusals: bool = False,
    ) -> None:
        self.streamed = Streamed(id=f"skr-{uuid4()}", text="")
        self._writer = writer
        self._references = references
        self._hold_refusals = hold_refusals
        self._raw = ""
        # Models call back from contexts of their own; messages belong to the node's.
        self._context = copy_context()

    def write(self, piece: str) -> None:
        """Take the next piece as the model makes it."""
        self._raw += piece
        if self._hold_refusals and may_become_refusal(self._raw):
            return
        text = resolve_citations(_without_open_marker(self._raw), self._references).text
        self._pass_on(text)

    def finish(self, answer: str, streamed: Streamed | None = None) -> None:
        """Pass on what is missing of the final answer.

        Args:
            answer: Its text, resolved.
            streamed: What an earlier step has passed on of a draft.
        """
        if streamed is not None and answer.startswith(streamed["text"]):
            self.streamed = streamed
        self._pass_on(answer)

    def _pass_on(self, text: str) -> None:
        piece = text[len(self.streamed["text"]) :]
        if piece:
            self.streamed = Streamed(id=self.streamed["id"], text=text)
            self._writer({"type": "token", "text": piece})
            chunk = AIMessageChunk(content=piece, id=self.streamed["id"])
            self._context.run(push_message, chunk, state_key=None)


def _without_open_marker(text: str) -> str:
    """Cut before the first bracket that is still open on the last line: markers stand on one."""
    opened: list[int] = []
    for bracket in _BRACKET.finditer(text, text.rfind("\n") + 1):
        if bracket.group() in "[【":
            opened.append(bracket.start())
        elif opened:
            opened.pop()
    return (text[: opened[0]] if opened else text).rstrip()
