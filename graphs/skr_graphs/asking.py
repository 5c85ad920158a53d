"""Asking the model for an answer, and passing its tokens on, and no others.

Every call of a model is tagged
``nostream``, so LangGraph shows none of them in ``stream_mode="messages"``. Instead, a draft's
pieces pass through `TokenStream`, from the first word after the verdict that its references
suffice. A marker waits until it is known to name a reference, so the streamed text is always a
beginning of the resolved text.

Templates that ask for no verdict leave it to a guess: pieces wait while the draft may still begin
with a refusal. A draft that refuses later has been shown in part: one ``retract`` event says so,
and the text that follows is a new message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import copy_context
from uuid import uuid4

from langchain_core.messages import AIMessageChunk
from langgraph.errors import GraphBubbleUp
from langgraph.graph.message import push_message

from skr_core import answering
from skr_core.conversation import exchanges
from skr_core.flow import Flow
from skr_core.ports import OnToken
from skr_core.references.resolver import MarkerResolver
from skr_core.replies.opening import ThoughtFilter
from skr_core.replies.refusals import LONGEST_OPENING, may_become_refusal
from skr_core.replies.reply import VerdictStream
from skr_core.settings import Settings
from skr_core.types import Generation, Reference
from skr_graphs import events
from skr_graphs.state import SKRState, StreamedText


def ask_directly(
    state: SKRState, settings: Settings, on_token: OnToken | None = None
) -> Flow[Generation]:
    """Ask for the answer without references."""
    return (
        yield from answering.answer_directly(
            settings.model,
            state["question"],
            settings.demonstrations,
            on_token,
            templates=settings.templates,
            history=exchanges(state["asked"]["turns"]),
        )
    )


def show(piece: str, message_id: str) -> None:
    """Pass a piece of a message to whoever reads the run's messages."""
    push_message(AIMessageChunk(content=piece, id=message_id), state_key=None)


class StreamClosed(GraphBubbleUp):
    """Nobody reads the stream any more: the model's reply is ended, which is no failure."""


class TokenStream:
    """Passes the pieces of an answer on, as ``token`` events and as message chunks.

    Args:
        write: The function that emits an event of the run.
        references: The references that the answer may cite; named before its first piece.
        hold_refusals: Whether pieces wait while they may become the refusal sentence.
        hold_uncited: Whether pieces wait until one of them cites a reference.
        states_verdict: Whether the reply begins with a verdict, so that only the text after a
            verdict of sufficient is passed on.
        without_thoughts: Whether thoughts, and white space around the answer, are left out.
        streamed: The part of a draft that an earlier step has streamed, to go on with.
        is_closed: The function that says whether the stream was closed.
        show: The function that passes a piece on as a part of the message with this id.
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
        streamed: StreamedText | None = None,
        is_closed: Callable[[], bool] = lambda: False,
        show: Callable[[str, str], None] = show,
    ) -> None:
        self._write_event = write
        self._show = show
        self._is_closed = is_closed
        self._resolver = MarkerResolver(len(references))
        self._verdict = VerdictStream(len(references)) if states_verdict else None
        self._thoughts = ThoughtFilter() if without_thoughts and not states_verdict else None
        self._space = ""  # trailing space, which counts once something follows
        self._references = references
        self._hold_refusals = hold_refusals and not states_verdict
        self._undecided = self._hold_refusals
        self._hold_uncited = hold_uncited
        self._waits = False
        self._opening = ""
        self._begun = False
        self._id = streamed["id"] if streamed else ""
        self._passed_on = [streamed["text"]] if streamed else []
        # Models call back from contexts of their own, but messages belong to the node's.
        self._context = copy_context()

    @property
    def message_id(self) -> str:
        """The id of the message that the pieces belong to."""
        self._id = self._id or f"skr-{uuid4()}"
        return self._id

    @property
    def streamed(self) -> StreamedText | None:
        """The part passed on, for the step that goes on with it; None where there is none."""
        if not self._passed_on:
            return None
        return StreamedText(id=self.message_id, text="".join(self._passed_on))

    def write(self, piece: str) -> None:
        """Take the next piece of the model's reply.

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
            self._waits = may_become_refusal(self._opening)
            self._undecided = self._waits and len(self._opening) <= LONGEST_OPENING
        if not self._waits and (self._resolver.cites or not self._hold_uncited):
            self._pass_on(self._resolver.take())

    def finish(self, answer: str) -> None:
        """Pass on the rest of the final answer.

        Args:
            answer: The resolved text. What was passed on is retracted where it begins differently.
        """
        if not answer.startswith("".join(self._passed_on)):
            self.retract()
        self._pass_on(answer[len("".join(self._passed_on)) :])

    def retract(self) -> None:
        """Take back what was passed on, if anything was."""
        if self._passed_on:
            self._write_event(events.retract())
            self._id, self._passed_on = "", []

    def _without_thoughts(self, piece: str, thoughts: ThoughtFilter) -> str:
        """A piece without thoughts; one that is recognised only at its end is taken back."""
        said = thoughts.write(piece)
        if thoughts.restarted:
            self.retract()
            self._resolver = MarkerResolver(len(self._references))
            self._undecided, self._waits = self._hold_refusals, False
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
                self._write_event(events.sources([reference.id for reference in self._references]))
            self._passed_on.append(piece)
            self._write_event(events.token(piece))
            self._context.run(self._show, piece, self.message_id)
