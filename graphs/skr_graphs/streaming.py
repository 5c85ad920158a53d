"""The answer's tokens, and no others, to whoever streams.

Every call of a model is tagged ``nostream``, so LangGraph shows none of them in
``stream_mode="messages"``. A draft's pieces pass through here instead: they are held back while the
draft may still turn out to be a refusal, and a marker is held back until it is known to name a
reference. What has been passed on is always a beginning of the resolved text.

Only its beginning is asked whether a draft refuses. One that refuses later, or that is not the
answer for another reason, has been shown in part: a ``retract`` event says so, once, and what
follows is a message of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import copy_context
from uuid import uuid4

from langchain_core.messages import AIMessageChunk
from langchain_core.tracers._streaming import _StreamingCallbackHandler
from langgraph.config import get_config
from langgraph.graph.message import push_message

from skr_core.references.citations import MarkerResolver
from skr_core.replies.refusal import LONGEST_OPENING, may_become_refusal
from skr_core.types import Reference
from skr_graphs import events
from skr_graphs.state import Streamed


def messages_are_streamed() -> bool:
    """Whether the run goes to somebody who reads messages token by token.

    LangChain's models ask the same of the same handlers, to decide whether ``invoke`` streams.
    """
    handlers = getattr(get_config().get("callbacks"), "handlers", ())
    return any(isinstance(handler, _StreamingCallbackHandler) for handler in handlers)


class TokenStream:
    """Passes an answer's pieces on, as ``token`` events and as message chunks.

    Args:
        write: Tells an event of the run.
        references: What the answer may cite.
        hold_refusals: Hold pieces back while they may become the refusal sentence.
        streamed: What an earlier step has passed on of a draft, to go on with.
    """

    def __init__(
        self,
        write: Callable[[events.Event], None],
        references: Sequence[Reference] = (),
        *,
        hold_refusals: bool = False,
        streamed: Streamed | None = None,
    ) -> None:
        self._tell = write
        self._resolver = MarkerResolver(len(references))
        self._undecided = hold_refusals
        self._held = False
        self._opening = ""
        self._id = streamed["id"] if streamed else _new_id()
        self._passed_on = [streamed["text"]] if streamed else []
        # Models call back from contexts of their own; messages belong to the node's.
        self._context = copy_context()

    @property
    def streamed(self) -> Streamed:
        """What has been passed on, for the step that goes on with it."""
        return Streamed(id=self._id, text="".join(self._passed_on))

    def write(self, piece: str) -> None:
        """Take the next piece as the model makes it."""
        self._resolver.write(piece)
        if self._undecided:
            self._opening = (self._opening + piece).lstrip()
            self._held = may_become_refusal(self._opening)
            self._undecided = self._held and len(self._opening) <= LONGEST_OPENING
        if not self._held:
            self._pass_on(self._resolver.take())

    def finish(self, answer: str) -> None:
        """Pass on what is missing of the final answer.

        Args:
            answer: Its text, resolved. What was passed on is retracted where it begins otherwise.
        """
        if not answer.startswith(self.streamed["text"]):
            self.retract()
        self._pass_on(answer[len(self.streamed["text"]) :])

    def retract(self) -> None:
        """Say that what was passed on, if anything was, is not of the answer."""
        if self.streamed["text"]:
            self._tell(events.retract())
            self._id, self._passed_on = _new_id(), []

    def _pass_on(self, piece: str) -> None:
        if piece:
            self._passed_on.append(piece)
            self._tell(events.token(piece))
            chunk = AIMessageChunk(content=piece, id=self._id)
            self._context.run(push_message, chunk, state_key=None)


def _new_id() -> str:
    return f"skr-{uuid4()}"
