"""Asking the model for an answer, and passing its tokens on, and no others.

It is asked without references, or with as many as it takes: what it declares to take, or is known
to, is kept to, and where it refuses a prompt for its length it is asked with fewer.

Every call of a model is tagged ``nostream``, so LangGraph shows none of them in
``stream_mode="messages"``. Instead, a draft's pieces pass through `TokenStream`, from the first
word after the verdict that its references suffice. A marker waits until it is known to name a
reference, so the streamed text is always a beginning of the resolved text.

Templates that ask for no verdict leave it to a guess: pieces wait while the draft may still begin
with a refusal. A draft that refuses later has been shown in part: one ``retract`` event says so,
and the text that follows is a new message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextvars import copy_context
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

from langchain_core.messages import AIMessageChunk
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.graph.message import push_message

from skr_core import answering
from skr_core.answering import MayAsk
from skr_core.conversation import exchanges
from skr_core.flow import Flow
from skr_core.models.windows import ROOM_FOR_ANSWER, tokens_for
from skr_core.ports import OnToken, Retriever
from skr_core.prompts.asking import demonstrate
from skr_core.prompts.templates import Template, words_of
from skr_core.references.fusion import arranged, merge_rankings
from skr_core.references.passages import PackedReferences, fast_tokens, pack_references, shown_text
from skr_core.references.resolver import MarkerResolver
from skr_core.replies.opening import ThoughtFilter
from skr_core.replies.refusals import LONGEST_OPENING, may_become_refusal
from skr_core.replies.reply import VerdictStream
from skr_core.settings import Settings
from skr_core.types import NO_USAGE, Generation, Reference, Usage
from skr_graphs import events
from skr_graphs._compat import takes_pieces
from skr_graphs.state import SKRState, StreamedText, images_of, speaker, usage_of

if TYPE_CHECKING:
    from skr_core.schemas import ObjectStream

T = TypeVar("T")

Rankings = Sequence[Sequence[Sequence[str]]]
"""The ids found, best first, by query and by round."""

_TOO_LONG = re.compile(
    r"context[_ ](?:length|window|size)|maximum context|prompt is too long|input is too long"
    r"|too many (?:input )?tokens|reduce the length|exceeds? the (?:model|maximum|limit|available)",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"(?:context (?:length|window|size)|maximum)(?: is| of|:| \(n_ctx\) is)?\s*\D{0,3}"
    r"(\d{1,3}(?:,\d{3})+|\d{3,})(?= tokens|\b)",
    re.IGNORECASE,
)


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
            images=images_of(state),
            response_format=settings.response_format,
            may_ask=call_left(settings, usage_of(state)),
        )
    )


def call_left(settings: Settings, spent: Usage) -> MayAsk:
    """Return whether the budget has a call left for a reply that is no object.

    Args:
        settings: The settings of the system.
        spent: The cost of the question before that reply.
    """
    return lambda reply: not settings.budget.spent(spent + reply, seconds=0.0)


def ask_with_fitting(
    ask: Callable[[Sequence[Reference]], Flow[Generation]],
    references: Sequence[Reference],
    settings: Settings,
    template: Template,
    beside: Sequence[str],
    *,
    spent: Usage = NO_USAGE,
    rankings: Rankings = (),
    before: Sequence[str] = (),
) -> Flow[tuple[PackedReferences, Generation]]:
    """Ask with the references that fit, and with fewer while they were too long.

    Args:
        ask: The function that asks the question with some references.
        references: The references, best first.
        settings: The settings: the tokens that fit, the metadata that is shown, and the budget.
        template: The words that are asked in.
        beside: The other texts of the prompt: the question, the turns before it and the like.
        spent: The cost of the question so far.
        rankings: The ids found in each round, so that the rounds share the room. Without them the
            references stand in the order of an earlier prompt, and are read in that again.
        before: The ids of the references of the prompt before, which keep their order.

    Returns:
        The references that the model was given, and its reply; the reply's usage counts the refused
        calls.

    Raises:
        ModelError: The model failed, or refuses the prompt without references as well, or no call
            is left.
    """

    def pack(tokens: int) -> PackedReferences:
        return pack_rounds(references, rankings, tokens, settings.metadata_keys)

    def may_ask(refused: int) -> bool:
        return not settings.budget.spent(spent + Usage(calls=refused), seconds=0.0)

    packed, generation, refused = yield from until_it_fits(
        ask,
        pack,
        tokens_beside(settings, template, beside),
        may_ask,
        retriever=settings.retriever if rankings else None,
        before=before,
    )
    if refused:
        generation = replace(generation, usage=generation.usage + Usage(calls=refused))
    return packed, generation


def tokens_beside(settings: Settings, template: Template, beside: Sequence[str]) -> int:
    """The tokens of references that fit into a prompt.

    Args:
        settings: The settings: the model, the budget and the demonstrations.
        template: The words of the prompt.
        beside: Its other texts.
    """
    shown = [*beside, words_of(template), *map(demonstrate, settings.demonstrations)]
    return tokens_for(settings.budget, settings.model, shown)


def until_it_fits(
    ask: Callable[[Sequence[Reference]], Flow[T]],
    pack: Callable[[int], PackedReferences],
    tokens: int,
    may_ask: Callable[[int], bool] = lambda refused: True,
    *,
    retriever: Retriever | None = None,
    before: Sequence[str] = (),
) -> Flow[tuple[PackedReferences, T, int]]:
    """Ask with the references that fit, and with half of them as long as they are too many.

    Args:
        ask: The function that asks with some references.
        pack: The function that keeps what fits into a number of tokens.
        tokens: The tokens to begin with.
        may_ask: Whether the model may be asked again, after so many refused calls.
        retriever: The retriever, which may tell in which order they are read.
        before: The ids of the references of the prompt before, which keep their order.

    Returns:
        The references that were given, as they were read, the reply, and the number of refused
        calls.
    """
    refused = 0
    while True:
        packed = pack(tokens)
        read = yield from arranged(retriever, packed.references, before)
        packed = replace(packed, references=read)
        try:
            return packed, (yield from ask(packed.references)), refused
        except Exception as failure:
            refused += 1
            if not packed.references or not is_too_long(failure) or not may_ask(refused):
                raise
            handed = sum(fast_tokens(shown_text(reference)) for reference in packed.references)
            tokens = min(handed // 2, said_window(failure) or handed)


def pack_rounds(
    references: Sequence[Reference],
    rankings: Rankings,
    max_tokens: int,
    metadata_keys: Sequence[str] = (),
) -> PackedReferences:
    """Keep the references that fit, so that no round pushes out another.

    References are numbered from the first round on. If they were cut off at the end, a context that
    is full after the first round would never hold what a later one has found. So the rounds are
    merged anew under a smaller cap, until all of it fits.

    Args:
        references: The references, in the order in which they are shown.
        rankings: The ids found, best first, by query and by round.
        max_tokens: The number of tokens that all of them together may have.
        metadata_keys: The keys of the metadata that the prompt shows.

    Example:
        >>> some = [Reference.of(f"{name} is here. " * 20) for name in ("One", "Two", "Three")]
        >>> found = [[[each.id for each in some[:2]]], [[some[2].id]]]
        >>> [each.text[:5] for each in pack_rounds(some, found, 150).references]
        ['One i', 'Three']
    """
    packed = pack_references(references, max_tokens, metadata_keys=metadata_keys)
    if len(rankings) < 2 or not packed.dropped:
        return packed
    by_id = {each.id: each for each in references}
    for cap in range(len(references) - 1, 0, -1):
        fewer = [by_id[key] for key in merge_rankings(rankings, limit=cap) if key in by_id]
        packed = pack_references(fewer, max_tokens, metadata_keys=metadata_keys)
        if not packed.dropped:
            break
    kept = {each.id for each in packed.references}
    return replace(packed, dropped=tuple(each for each in references if each.id not in kept))


def is_too_long(failure: Exception) -> bool:
    """Whether a model refused a prompt for its length, as far as its message says.

    Example:
        >>> is_too_long(ValueError("This model's maximum context length is 8192 tokens."))
        True
    """
    return bool(_TOO_LONG.search(str(failure)))


def said_window(failure: Exception) -> int | None:
    """The tokens of references that fit into the window that a server's refusal names.

    Example:
        >>> said_window(ValueError("This model's maximum context length is 8,192 tokens."))
        6144
        >>> said_window(ValueError("the prompt is too long")) is None
        True
    """
    said = _SAID.search(str(failure))
    return int(int(said[1].replace(",", "")) * (1 - ROOM_FOR_ANSWER)) if said else None


def show(piece: str, message_id: str) -> None:
    """Pass a piece of a message to whoever reads the run's messages."""
    config = get_config()
    if takes_pieces(config):
        named = AIMessageChunk(content=piece, id=message_id, name=speaker(config))
        push_message(named, state_key=None)


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
        objects: What finds the caller's object in the reply, where one is wanted: it is data, and
            passed on as it is.
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
        objects: ObjectStream | None = None,
        streamed: StreamedText | None = None,
        is_closed: Callable[[], bool] = lambda: False,
        show: Callable[[str, str], None] = show,
    ) -> None:
        self._write_event = write
        self._show = show
        self._is_closed = is_closed
        self._objects = objects
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
        if self._objects is not None:
            self._pass_on(self._objects.write(piece))
            return
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
