"""SKRMiddleware: an agent of ``langchain.agents.create_agent`` that knows when to retrieve.

It needs the extra ``langchain``. A source has one number through all turns of a conversation:

Example:
    >>> from langchain_core.messages import AIMessage
    >>> paris, rome = Reference.of("Paris is in France."), Reference.of("Rome is in Italy.")
    >>> message, cited = resolved(AIMessage("In Italy [2]. In Spain [3]."), [paris, rome])
    >>> message.text, cited.citations[0].reference_id == rome.id, cited.removed
    ('In Italy [2]. In Spain.', True, 1)
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, NotRequired

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.vectorstores import VectorStore
from langgraph.runtime import Runtime
from langgraph.types import Command

from langchain_skr.agents import ASKED
from langchain_skr.documents import RetrieverLike, as_retriever
from langchain_skr.model_call import (
    ModelCall,
    answer_in,
    found_update,
    looks,
    name_of,
    references_in,
    text_of,
)
from langchain_skr.models import ModelLike, as_language_model
from skr_core import conversation as condensing
from skr_core.bounds import Bounds, bounded, steady_time
from skr_core.budget import Budget
from skr_core.conversation import latest_turns
from skr_core.errors import DeadlineError, InputError, extra
from skr_core.flow import Flow, arun, call, run
from skr_core.models.windows import history_tokens_for
from skr_core.plain import Plain, to_plain
from skr_core.ports import AnswerArbiter, ReloadingRouter, Retriever, Router
from skr_core.references.citations import CitedText, resolve_citations
from skr_core.replies.queries import AllowQuery, checked_rule, is_allowed
from skr_core.settings import (
    ReflectorLike,
    RouterLike,
    as_reflector,
    as_router,
    decided,
    hinting,
    refreshed,
)
from skr_core.types import NO_USAGE, Reference
from skr_graphs import said_in, unstreamed, warn_once

with extra("langchain"):
    from langchain.agents.middleware import AgentMiddleware, AgentState
    from langchain.agents.middleware.types import (
        ExtendedModelResponse,
        ModelRequest,
        ModelResponse,
        OmitFromInput,
        PrivateStateAttr,
    )


Reply = ModelResponse[Any] | ExtendedModelResponse[Any]
"""What the middleware makes of a call of the model."""

_RETRIEVERS = (Runnable, VectorStore, Retriever, Mapping)
"""The classes of retrievers, one of which may have been given in the router's place."""

_NUMBERED = re.compile(r"^\s*\[\d+\][^\S\n]*[^\s,\]]|\w \[\d+\]", re.MULTILINE)
"""A source of a tool's own: its number begins a line or follows a word, as in no JSON."""

_WORDS = "the words before every answer are the agent's own: create_agent(..., system_prompt=...)"


class SKRAgentState(AgentState[Any]):
    """The keys that the middleware adds to an agent's state, and to its output.

    Attributes:
        skr_question: The latest question as it was routed and searched.
        skr_decision: The `Decision`, as plain values; None where there was no question, or the
            model has not been asked yet for the direct answer that it rests on.
        skr_queries: What was searched for to answer it.
        skr_refused: The queries that ``allow_query`` refused, which were not searched.
        skr_references: The references for the latest question, as plain values, best first.
        skr_sources: All references of the conversation, as plain values: [n] in any of its answers
            names the n-th.
        skr_citations: The latest answer's `Citation` objects, as plain values.
        skr_removed_markers: The number of its markers that named no source and were taken out.
        skr_grounded: Whether it cites a source and refuses nothing, and the reflector, where there
            is one, finds that its references suffice.
        skr_verdict: The `Verdict` of a policy that weighed it against the direct answer, as plain
            values; None where none did.
        skr_usage: The `Usage` of the run, as plain values.
        skr_stop_reason: The limit of the budget that ended the run; empty where none did.
    """

    skr_question: NotRequired[Annotated[str, OmitFromInput]]
    skr_decision: NotRequired[Annotated[Plain | None, OmitFromInput]]
    skr_queries: NotRequired[Annotated[list[str], OmitFromInput]]
    skr_refused: NotRequired[Annotated[list[str], OmitFromInput]]
    skr_references: NotRequired[Annotated[list[Plain], OmitFromInput]]
    skr_sources: NotRequired[Annotated[list[Plain], OmitFromInput]]
    skr_citations: NotRequired[Annotated[list[Plain], OmitFromInput]]
    skr_removed_markers: NotRequired[Annotated[int, OmitFromInput]]
    skr_grounded: NotRequired[Annotated[bool, OmitFromInput]]
    skr_verdict: NotRequired[Annotated[Plain | None, OmitFromInput]]
    skr_usage: NotRequired[Annotated[Plain, OmitFromInput]]
    skr_stop_reason: NotRequired[Annotated[str, OmitFromInput]]
    skr_draft: NotRequired[Annotated[Plain | None, PrivateStateAttr]]
    skr_reflection: NotRequired[Annotated[Plain | None, PrivateStateAttr]]
    skr_started_at: NotRequired[Annotated[float, PrivateStateAttr]]


class SKRMiddleware(AgentMiddleware[SKRAgentState, Any, Any]):
    """Middleware that routes the user's latest message once a run, and retrieves for it or not.

    When the model knows, the named tools are withheld from it. When it does not, and a retriever
    is given, the references found join the system message, as many as the budget and the model's
    context allow. A source keeps its number through the conversation. In the final answer markers
    are resolved; those that name no source are taken out, unless a tool of the run gave numbers of
    its own.

    A router that looks at the direct answer is shown what the agent's own model says without the
    named tools. A known question ends with that answer, after one call; otherwise it is thrown
    away before anybody has seen it, and the model is asked once more. A policy that weighs answers
    may still serve it, where what was found confirms it.

    Middleware that writes the whole system message, as ``dynamic_prompt`` does, stands before this
    one in the list: behind it, it would write over the references.

    Args:
        router: The router, or the file of a saved one; by default every message is retrieved
            for.
        retriever: The retriever, as for `create_skr_graph`; asked before the model that is to read
            what it finds. Its failure ends the run with `RetrieverError`.
        tools: The retrieval tools, or their names, that are withheld when the model knows.
        model: The model, as for `create_skr_graph`, for a saved router that asks a model. It also
            rewrites a message that leans on the conversation, with one call, before it is routed
            and searched; without it messages are searched as they are.
        reflector: The judge of answers from references, or the file of a learned one. An answer
            is shown once it is judged; what it is found to lack is searched for, and the model
            asked again, for as many rounds as the budget allows.
        budget: The limits of a run. Calls, tokens, money and seconds are those of the agent's
            model, of routing and judging, since the user's message; they are checked before each
            call of the model or of tools. The last call that is left is made without tools. Where
            no call is left the run ends with the best that was said. A tool that has begun is
            waited for, and calls that it makes by itself are not counted. ``max_references``,
            ``max_reference_tokens`` and ``max_history_tokens`` are those of its prompts.
        allow_query: The rule of which queries may be searched, also the rewritten message and what
            the reflector finds missing: a function of a query and its question that returns a bool.
            The queries of the agent's tools are their own.
        max_tool_calls: The calls that a run may make of a tool, by the tool's name. A tool of
            which none is left is withheld, and a call beyond them is refused to the model.

    Raises:
        InputError: There is neither router nor retriever, or one of them, the reflector or the
            model is not usable, or the router holds what an agent's run cannot carry out; or, when
            the model is first called, the agent has no tool of a given name.

    Example:
        >>> from langchain.agents import create_agent
        >>> from langchain_core.documents import Document
        >>> from langchain_core.language_models import FakeListChatModel
        >>> from langchain_core.runnables import RunnableLambda
        >>> search = RunnableLambda(lambda query: [Document("Paris is the capital of France.")])
        >>> agent = create_agent(
        ...     FakeListChatModel(responses=["Paris [1][2]."]),
        ...     middleware=[SKRMiddleware(retriever=search)],
        ... )
        >>> result = agent.invoke({"messages": [("user", "What is the capital of France?")]})
        >>> result["messages"][-1].text, result["skr_sources"][0]["text"]
        ('Paris [1].', 'Paris is the capital of France.')
    """

    state_schema = SKRAgentState

    @hinting(instructions=_WORDS, prompt=_WORDS, system_prompt=_WORDS)
    def __init__(
        self,
        router: RouterLike | None = None,
        *,
        retriever: RetrieverLike | None = None,
        tools: Iterable[str | BaseTool] = (),
        model: ModelLike | None = None,
        reflector: ReflectorLike | None = None,
        budget: Budget | None = None,
        allow_query: AllowQuery | None = None,
        max_tool_calls: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__()
        first: object = router
        if isinstance(first, _RETRIEVERS) and not isinstance(first, Router):
            raise InputError(
                "the first argument of SKRMiddleware is the router: write "
                "SKRMiddleware(retriever=...)"
            )
        if router is None and retriever is None:
            raise InputError(
                "SKRMiddleware would change nothing: give retriever=..., which is searched for "
                "each message, or a router that says when tools=[...] are withheld"
            )
        self.retriever = None if retriever is None else as_retriever(retriever)
        self.model = None if model is None else as_language_model(model)
        self.router = _whole(as_router(router, self.model, self.retriever))
        self.arbiter = self.router if isinstance(self.router, AnswerArbiter) else None
        self.reflector = (
            None if reflector is None else as_reflector(reflector, self.model, self.retriever)
        )
        self.budget = budget or Budget()
        checked_rule(allow_query)
        self.allow_query = allow_query
        self.withheld = frozenset(
            map(name_of, [tools] if isinstance(tools, str | BaseTool) else tools)
        )
        self.max_tool_calls = dict(max_tool_calls or {})
        for name, most in self.max_tool_calls.items():
            if not isinstance(most, int) or most < 1:
                raise InputError(f"max_tool_calls: {name} must be at least 1, not {most!r}")
        self._unseen = self.withheld | self.max_tool_calls.keys()

    def before_agent(self, state: SKRAgentState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Decide, and retrieve."""
        with unstreamed():
            return run(self._prepare(state))

    async def abefore_agent(self, state: SKRAgentState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Async version of `before_agent`."""
        with unstreamed():
            return await arun(self._prepare(state))

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> Reply:
        """Call the model with references, or without retrieval tools."""
        return run(self._called(request, handler))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> Reply:
        """Async version of `wrap_model_call`."""
        return await arun(self._called(request, handler))

    def after_agent(self, state: SKRAgentState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Resolve the answer's citations, and say whether it is grounded."""
        made = state.get("structured_response")
        answer = final_answer(state["messages"], made)
        if self.retriever is None or answer is None or state.get("skr_decision") is None:
            return None
        text = text_of(ModelResponse([answer], made))
        # The values of an object may stand in the call of its tool, which stays as it is.
        told = AIMessage(text) if answer.tool_calls else answer
        message, cited = resolved(told, references_in(state, "skr_sources"))
        update: dict[str, Any] = {
            "skr_citations": to_plain(list(cited.citations)),
            "skr_removed_markers": cited.removed,
            "skr_grounded": answer_in(state, text).grounded,
        }
        is_kept = answer.tool_calls or message.content == answer.content
        return update if is_kept else {**update, "messages": [message]}

    async def aafter_agent(
        self, state: SKRAgentState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """Async version of `after_agent`; it has nothing to wait for."""
        return self.after_agent(state, runtime)

    def parts_of(self, state: Mapping[str, Any]) -> tuple[Router, AnswerArbiter | None]:
        """Return the router of a run, and the arbiter where it is one too."""
        router = self.router
        if isinstance(router, ReloadingRouter):
            router = router.of_question((state.get("skr_question"), state.get("skr_started_at")))
        return router, router if isinstance(router, AnswerArbiter) else None

    def _prepare(self, state: SKRAgentState) -> Flow[Plain]:
        messages = state["messages"]
        places = [n for n, each in enumerate(messages) if isinstance(each, HumanMessage)]
        asked = str(messages[places[-1]].text).strip() if places else ""
        anew: Plain = {
            "skr_question": asked,
            "skr_decision": None,
            "skr_queries": [],
            "skr_refused": [],
            "skr_references": [],
            "skr_citations": [],
            "skr_removed_markers": 0,
            "skr_grounded": False,
            "skr_verdict": None,
            "skr_usage": to_plain(NO_USAGE),
            "skr_stop_reason": "",
            "skr_draft": None,
            "skr_reflection": None,
            "skr_started_at": steady_time(),
        }
        yield from refreshed(self.router)
        if asked:  # else there is nothing to route by, such as an image alone
            said = said_in(messages[: places[-1]])
            turns = latest_turns(said, history_tokens_for(self.budget, self.model))
            routed = self._route(state, anew, turns)
            with suppress(DeadlineError):  # the run ends before its model is asked
                yield from bounded(routed, Bounds.within(self.budget.deadline_s))
        return anew

    def _route(self, state: SKRAgentState, anew: Plain, turns: Sequence[str]) -> Flow[None]:
        """Decide and search, unless the router looks at what the model is yet to say."""
        question, spent = anew["skr_question"], NO_USAGE
        if self.model is not None and condensing.needs_condensing(question, turns, self.budget):
            condensed = yield from condensing.condense(
                self.model, question, turns, allow_query=self.allow_query
            )
            question, spent = condensed.question, condensed.usage
            anew |= {"skr_question": question, "skr_usage": to_plain(spent)}
            if condensed.error:
                warn_once("condense", condensed.error)
        asked = ASKED.get()
        decision = None if asked is None else asked.decision
        if decision is None:
            router, _ = self.parts_of(anew)
            if looks(router):
                return
            decision = yield from decided(router, question)
        decision = replace(decision, usage=decision.usage + spent)
        anew |= {"skr_decision": to_plain(decision), "skr_usage": to_plain(decision.usage)}
        if not decision.retrieve or self.retriever is None:
            return
        anew |= yield from self.searched(question, {**state, **anew})

    def searched(self, query: str, state: Plain) -> Flow[Plain]:
        """Search a query that may be searched; returns what that changes of the state."""
        source = self.retriever
        assert source is not None
        if not is_allowed(self.allow_query, query, state["skr_question"]):
            return {"skr_refused": [*state.get("skr_refused", ()), query]}
        found = yield from call(source.retrieve, source.aretrieve, query)
        return found_update(state, query, found, self.budget.max_references)

    def _called(self, request: ModelRequest[Any], handler: Callable[..., Any]) -> Flow[Reply]:
        self._check_tools(request)
        asked = ASKED.get()
        if asked is not None and asked.decision is None:
            asked.seen.append((self, request))
            return ModelResponse(result=[AIMessage("")])
        made = ModelCall(self, request, handler)
        response = yield from bounded(made.flow(), self._bounds(request.state))
        return ExtendedModelResponse(response, Command(update=made.update))

    def _bounds(self, state: Any) -> Bounds:
        seconds = self.budget.deadline_s
        if seconds is not None:
            seconds -= steady_time() - state.get("skr_started_at", steady_time())
        return Bounds.within(seconds)

    def _check_tools(self, request: ModelRequest[Any]) -> None:
        """Refuse names that are no tool's: they would withhold nothing, without a word.

        Names that were found once are not checked again: other middleware may select tools too.
        """
        if not self._unseen:
            return
        names = set(map(name_of, request.tools))
        self._unseen -= names
        if self._unseen:
            unknown, known = ", ".join(sorted(self._unseen)), ", ".join(sorted(names)) or "none"
            raise InputError(f"the agent has no tool {unknown} to withhold: its tools are {known}")


def _whole(router: Router) -> Router:
    """Refuse a router that holds what an agent's run cannot carry out."""
    if isinstance(router, AnswerArbiter) and not looks(router):
        raise InputError(
            "this router asks for all answers and weighs them, which would double the calls of an "
            "agent: calibrate with looks at the direct answer, or give it to a chain, an engine or "
            "a graph"
        )
    if {"single", "loop"} <= {*getattr(router, "actions", ())}:
        raise InputError(
            "this router chooses between one round of retrieval and more, and an agent's "
            "middleware searches before the model is asked, not after: calibrate on records that "
            "are collected over the agent, or with actions=['direct', 'single']"
        )
    return router


def final_answer(messages: Sequence[AnyMessage], made: object = None) -> AIMessage | None:
    """The agent's answer, where its markers can name no source but ours.

    None where the run has ended with something else, or a tool of this run gave numbers of its own.

    Args:
        messages: The messages of the conversation.
        made: The agent's object, where it was asked for one: a tool may have been called for it.
    """
    said = list(messages)
    while made is not None and said and isinstance(said[-1], ToolMessage):
        said.pop()
    last = said[-1] if said else None
    if not isinstance(last, AIMessage) or (last.tool_calls and made is None):
        return None
    for message in reversed(said):
        if isinstance(message, HumanMessage):
            break
        if isinstance(message, ToolMessage) and _NUMBERED.search(str(message.text)):
            return None
    return last


def resolved(message: AIMessage, sources: Sequence[Reference]) -> tuple[AIMessage, CitedText]:
    """The message without markers that name no source, and the citations of the others.

    Args:
        message: The message; of a content in blocks those of text are read.
        sources: The sources in the order of their numbers, from 1.
    """
    removed = 0

    def clean(text: str) -> str:
        nonlocal removed
        cited = resolve_citations(text, sources)
        removed += cited.removed
        return cited.text

    content: Any = message.content
    if isinstance(content, str):
        content = clean(content)
    else:
        content = [_with_text(block, clean) for block in content]
    message = message.model_copy(update={"content": content})
    cited = resolve_citations(str(message.text), sources)
    return message, CitedText(cited.text, cited.citations, removed)


def _with_text(block: Any, clean: Any) -> Any:
    if isinstance(block, str):
        return clean(block)
    if isinstance(block, dict) and block.get("type") == "text":
        return {**block, "text": clean(block["text"])}
    return block
