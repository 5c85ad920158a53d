"""The answer's tokens, and no others, to whoever streams.

Every call of a model is tagged ``nostream``, so LangGraph shows none of them in
``stream_mode="messages"``. A draft's pieces pass through here instead, from the first word behind
the verdict that its references suffice. A marker is held back until it is known to name a
reference. What has been passed on is always a beginning of the resolved text.

Templates that ask for no verdict leave its place to a guess: pieces are held back while the draft
may still begin with a refusal. One that refuses later has been shown in part: a ``retract`` event
says so, once, and what follows is a message of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import copy_context
from uuid import uuid4

from langchain_core.messages import AIMessageChunk
from langchain_core.runnables import RunnableConfig
from langchain_core.tracers._streaming import _StreamingCallbackHandler
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.graph.message import push_message

from skr_core.references.citations import MarkerResolver
from skr_core.replies.opening import ThoughtFilter
from skr_core.replies.refusals import LONGEST_OPENING, may_become_refusal
from skr_core.replies.reply import VerdictStream
from skr_core.types import Reference
from skr_graphs import events
from skr_graphs.state import Streamed


def messages_are_streamed(config: RunnableConfig) -> bool:
    """Whether a run goes to somebody who reads messages token by token.

    LangChain's models ask the same of the same handlers, to decide whether ``invoke`` streams.
    """
    handlers = getattr(config.get("callbacks"), "handlers", ())
    return any(isinstance(handler, _StreamingCallbackHandler) for handler in handlers)


def show(piece: str, identity: str) -> None:
    """Tell a piece of a message of this id, where somebody reads messages."""
    if messages_are_streamed(get_config()):
        push_message(AIMessageChunk(content=piece, id=identity), state_key=None)


class StreamClosed(GraphBubbleUp):
    """Nobody reads the stream any more; it ends the model's reply, and is no failure."""


class TokenStream:
    """Passes an answer's pieces on, as ``token`` events and as message chunks.

    Args:
        write: Tells an event of the run.
        references: What the answer may cite; told before its first piece.
        hold_refusals: Hold pieces back while they may become the refusal sentence.
        hold_uncited: Hold pieces back until one of them cites a reference.
        states_verdict: The reply begins with a verdict: what stands behind it is passed on where
            it is that the references suffice, and nothing else.
        without_thoughts: The answer will have neither thoughts nor space around it.
        streamed: What an earlier step has passed on of a draft, to go on with.
        is_closed: Says whether the stream was closed, so that no more of the reply is wanted.
    """

    def __init__(
        self,
        write: Callable[[events.Event], None],
        references: Sequence[Reference] = (),
        *,
        hold_refusals: bool = False,
        hold_uncited: bool = False,
        states_verdict: bool = False,
        without_thoughts: bool = False,
        streamed: Streamed | None = None,
        is_closed: Callable[[], bool] = lambda: False,
    ) -> None:
        self._tell = write
        self._is_closed = is_closed
        self._resolver = MarkerResolver(len(references))
        self._verdict = VerdictStream(len(references)) if states_verdict else None
        self._thoughts = ThoughtFilter() if without_thoughts and not states_verdict else None
        self._space = ""  # behind what was taken; it counts where something follows
        self._references = references
        self._hold_refusals = hold_refusals and not states_verdict
        self._undecided = self._hold_refusals
        self._hold_uncited = hold_uncited
        self._held = False
        self._opening = ""
        self._begun = False
        self._id = streamed["id"] if streamed else ""
        self._passed_on = [streamed["text"]] if streamed else []
        # Models call back from contexts of their own; messages belong to the node's.
        self._context = copy_context()

    @property
    def identity(self) -> str:
        """Of the message that the pieces are of."""
        self._id = self._id or f"skr-{uuid4()}"
        return self._id

    @property
    def streamed(self) -> Streamed | None:
        """What has been passed on, for the step that goes on with it; None where nothing has."""
        if not self._passed_on:
            return None
        return Streamed(id=self.identity, text="".join(self._passed_on))

    def write(self, piece: str) -> None:
        """Take the next piece as the model makes it.

        Raises:
            StreamClosed: The stream was closed.
        """
        if self._is_closed():
            raise StreamClosed
        if self._verdict is not None:
            piece = self._verdict.write(piece)
        elif self._thoughts is not None:
            piece = self._without_thoughts(piece, self._thoughts)
        self._resolver.write(piece)
        if self._undecided:
            self._opening = (self._opening + piece).lstrip()
            self._held = may_become_refusal(self._opening)
            self._undecided = self._held and len(self._opening) <= LONGEST_OPENING
        if not self._held and (self._resolver.cites or not self._hold_uncited):
            self._pass_on(self._resolver.take())

    def finish(self, answer: str) -> None:
        """Pass on what is missing of the final answer.

        Args:
            answer: Its text, resolved. What was passed on is retracted where it begins otherwise.
        """
        if not answer.startswith("".join(self._passed_on)):
            self.retract()
        self._pass_on(answer[len("".join(self._passed_on)) :])

    def retract(self) -> None:
        """Say that what was passed on, if anything was, is not of the answer."""
        if self._passed_on:
            self._tell(events.retract())
            self._id, self._passed_on = "", []

    def _without_thoughts(self, piece: str, thoughts: ThoughtFilter) -> str:
        """What a piece says; a thought that shows only at its end to be one is taken back."""
        said = thoughts.write(piece)
        if thoughts.restarted:
            self.retract()
            self._resolver = MarkerResolver(len(self._references))
            self._undecided, self._held = self._hold_refusals, False
            self._opening = self._space = ""
            self._begun = False
        said = self._space + said
        if not self._begun:
            said = said.lstrip()
        kept = said.rstrip()
        self._space, self._begun = said[len(kept) :], self._begun or bool(kept)
        return kept

    def _pass_on(self, piece: str) -> None:
        if piece:
            if not self._passed_on:
                self._tell(events.sources([reference.id for reference in self._references]))
            self._passed_on.append(piece)
            self._tell(events.token(piece))
            self._context.run(show, piece, self.identity)
