"""SKRMiddleware: an agent of ``langchain.agents.create_agent`` that knows when to retrieve.

It needs the extra ``langchain``. A source has one number through all turns of a conversation:

Example:
    >>> from langchain_core.messages import AIMessage
    >>> paris, rome = Reference.of("Paris is in France."), Reference.of("Rome is in Italy.")
    >>> sources = with_new([paris], [rome, paris])
    >>> [sources.index(each) + 1 for each in (rome, paris)]
    [2, 1]
    >>> message, cited = resolved(AIMessage("In Italy [2]. In Spain [3]."), sources)
    >>> message.text, cited.citations[0].reference_id == rome.id, cited.removed
    ('In Italy [2]. In Spain.', True, 1)
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, NotRequired

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.vectorstores import VectorStore
from langgraph.runtime import Runtime

from langchain_skr.documents import RetrieverLike, as_retriever
from langchain_skr.models import LangChainModel, ModelLike, as_language_model
from skr_core import conversation as condensing
from skr_core.budget import Budget
from skr_core.conversation import exchanges, latest_turns
from skr_core.errors import InputError, extra
from skr_core.flow import Flow, arun, call, run
from skr_core.models.windows import tokens_for
from skr_core.plain import Plain, from_plain, to_plain
from skr_core.ports import Retriever, Router
from skr_core.prompts.templates import WITH_REFERENCES
from skr_core.references.citations import CitedText, resolve_citations
from skr_core.references.passages import fence_references, pack_references
from skr_core.routers.routing_alone import routing_alone
from skr_core.settings import RouterLike, Settings, as_router, decided
from skr_core.types import NO_USAGE, Decision, Reference
from skr_graphs import decide, said_in, unstreamed, until_it_fits, warn_once

with extra("langchain"):
    from langchain.agents.middleware import AgentMiddleware, AgentState
    from langchain.agents.middleware.types import ModelRequest, ModelResponse, OmitFromInput


_RETRIEVERS = (Runnable, VectorStore, Retriever, Mapping)
"""The classes of retrievers, one of which may have been given in the router's place."""

_NUMBER = re.compile(r"\[\d")


class SKRAgentState(AgentState[Any]):
    """The keys that the middleware adds to an agent's state, and to its output.

    Attributes:
        skr_question: The latest question as it was routed and searched.
        skr_decision: The `Decision`, as plain values; None where there was no question.
        skr_references: The references for the latest question, as plain values, best first.
        skr_sources: All references of the conversation, as plain values: [n] in any of its answers
            names the n-th.
        skr_citations: The latest answer's `Citation` objects, as plain values.
        skr_removed_markers: The number of its markers that named no source and were taken out.
    """

    skr_question: NotRequired[Annotated[str, OmitFromInput]]
    skr_decision: NotRequired[Annotated[Plain | None, OmitFromInput]]
    skr_references: NotRequired[Annotated[list[Plain], OmitFromInput]]
    skr_sources: NotRequired[Annotated[list[Plain], OmitFromInput]]
    skr_citations: NotRequired[Annotated[list[Plain], OmitFromInput]]
    skr_removed_markers: NotRequired[Annotated[int, OmitFromInput]]


class SKRMiddleware(AgentMiddleware[SKRAgentState, Any, Any]):
    """Middleware that routes the user's latest message once a run, and retrieves for it or not.

    When the model knows, the named tools are withheld from it. When it does not, and a retriever
    is given, the references found join the system message, as many as the budget and the model's
    context allow. A source keeps its number through the conversation. In the final answer markers
    are resolved; those that name no source are taken out, unless a tool of the run gave numbers of
    its own. For self-completion give an `SKRRetriever` with a model.

    Middleware that writes the whole system message, as ``dynamic_prompt`` does, stands before this
    one in the list: behind it, it would write over the references.

    Args:
        router: The router, or the file of a saved one; by default every message is retrieved
            for. Of a policy the decision before the search is taken; one warning says what is left
            out.
        retriever: The retriever, as for `create_skr_graph`; asked once a run, before the model.
            Its failure ends the run with `RetrieverError`.
        tools: The retrieval tools, or their names, that are withheld when the model knows.
        model: The model, as for `create_skr_graph`, for a saved router that asks a model, and for
            one that looks at the direct answer. It also rewrites a message that leans on the
            conversation, with one call, before it is routed and searched; without it messages are
            searched as they are.
        budget: The limits: ``max_references`` and ``max_reference_tokens`` of the references,
            ``max_history_tokens`` of the turns by which a message is rewritten.

    Raises:
        InputError: There is neither router nor retriever, or one of them or the model is not
            usable, or the router only weighs answers; or, when the model is first called, the agent
            has no tool of a given name.

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

    def __init__(
        self,
        router: RouterLike | None = None,
        *,
        retriever: RetrieverLike | None = None,
        tools: Iterable[str | BaseTool] = (),
        model: ModelLike | None = None,
        budget: Budget | None = None,
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
        self.router = routing_alone(
            as_router(router, self.model, self.retriever),
            "SKRMiddleware",
            has_model=self.model is not None,
        )
        self.budget = budget or Budget()
        self.withheld = frozenset(
            map(_name, [tools] if isinstance(tools, str | BaseTool) else tools)
        )
        self._unseen = self.withheld

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
    ) -> ModelResponse[Any]:
        """Call the model with references, or without retrieval tools."""
        return run(self._answer(request, handler))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Async version of `wrap_model_call`."""
        return await arun(self._answer(request, handler))

    def after_agent(self, state: SKRAgentState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Resolve the answer's citations."""
        answer = final_answer(state["messages"])
        if self.retriever is None or answer is None or state.get("skr_decision") is None:
            return None
        message, cited = resolved(answer, _references(state, "skr_sources"))
        update: dict[str, Any] = {
            "skr_citations": to_plain(list(cited.citations)),
            "skr_removed_markers": cited.removed,
        }
        return update if message.content == answer.content else {**update, "messages": [message]}

    async def aafter_agent(
        self, state: SKRAgentState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """Async version of `after_agent`; it has nothing to wait for."""
        return self.after_agent(state, runtime)

    def _prepare(self, state: SKRAgentState) -> Flow[Plain]:
        messages = state["messages"]
        places = [n for n, each in enumerate(messages) if isinstance(each, HumanMessage)]
        asked = str(messages[places[-1]].text).strip() if places else ""
        anew: Plain = {"skr_references": [], "skr_citations": [], "skr_removed_markers": 0}
        if not asked:  # nothing to route by, such as an image alone
            return {**anew, "skr_decision": None, "skr_question": ""}
        said = said_in(messages[: places[-1]])
        turns = latest_turns(said, self.budget.max_history_tokens)
        question, spent = asked, NO_USAGE
        if self.model is not None and condensing.needs_condensing(asked, turns, self.budget):
            condensed = yield from condensing.condense(self.model, asked, turns)
            question, spent = condensed.question, condensed.usage
            if condensed.error:
                warn_once("condense", condensed.error)
        decision = yield from self._decide(question, asked, turns)
        anew["skr_decision"] = to_plain(replace(decision, usage=decision.usage + spent))
        anew["skr_question"] = question
        if not decision.retrieve or self.retriever is None:
            return anew
        source = self.retriever
        found = yield from call(source.retrieve, source.aretrieve, question)
        references = with_new((), found)[: self.budget.max_references]
        sources = with_new(_references(state, "skr_sources"), references)
        return {**anew, "skr_references": to_plain(references), "skr_sources": to_plain(sources)}

    def _decide(self, question: str, asked: str, turns: Sequence[str]) -> Flow[Decision]:
        if self.model is None:
            return (yield from decided(self.router, question))
        system = Settings(self.model, router=self.router)
        return (yield from decide(question, system, asked=asked, history=exchanges(turns)))

    def _answer(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]
    ) -> Flow[Any]:
        self._check_tools(request)
        state: Any = request.state
        decision = state.get("skr_decision")
        if decision is not None and not decision["retrieve"]:
            return (yield from call(handler, handler, self._without_tools(request)))
        references = _references(state, "skr_references")
        if not references:
            return (yield from call(handler, handler, request))
        numbers = {each.id: n for n, each in enumerate(_references(state, "skr_sources"), start=1)}
        messages = [request.system_message, *request.messages]
        beside = [str(each.text) for each in messages if each is not None]

        def ask(given: Sequence[Reference]) -> Flow[Any]:
            return (yield from call(handler, handler, _with_references(request, given, numbers)))

        _, answered, _ = yield from until_it_fits(
            ask,
            partial(pack_references, references),
            tokens_for(self.budget, LangChainModel(request.model), beside),
        )
        return answered

    def _check_tools(self, request: ModelRequest[Any]) -> None:
        """Refuse names that are no tool's: they would withhold nothing, without a word.

        Names that were found once are not checked again: other middleware may select tools too.
        """
        if not self._unseen:
            return
        names = {_name(tool) for tool in request.tools}
        self._unseen -= names
        if self._unseen:
            unknown, known = ", ".join(sorted(self._unseen)), ", ".join(sorted(names)) or "none"
            raise InputError(f"the agent has no tool {unknown} to withhold: its tools are {known}")

    def _without_tools(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        kept = [tool for tool in request.tools if _name(tool) not in self.withheld]
        forced = _name(request.tool_choice) in self.withheld
        return request.override(
            tools=kept, tool_choice=None if forced or not kept else request.tool_choice
        )


def with_new(sources: Sequence[Reference], found: Sequence[Reference]) -> list[Reference]:
    """The sources so far, then the new ones among those found; the place of each is its number."""
    known = {each.id: each for each in sources}
    for each in found:
        known.setdefault(each.id, each)
    return list(known.values())


def final_answer(messages: Sequence[AnyMessage]) -> AIMessage | None:
    """The agent's answer, where its markers can name no source but ours.

    None where the run has ended with something else, or a tool of this run gave numbers of its own.
    """
    last = messages[-1] if messages else None
    if not isinstance(last, AIMessage) or last.tool_calls:
        return None
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            break
        if isinstance(message, ToolMessage) and _NUMBER.search(str(message.text)):
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


def _references(state: Any, key: str) -> list[Reference]:
    return [from_plain(Reference, each) for each in state.get(key, ())]


def _with_references(
    request: ModelRequest[Any], references: Sequence[Reference], numbers: Mapping[str, int]
) -> ModelRequest[Any]:
    shown = fence_references(references, numbers=[numbers[each.id] for each in references])
    text = WITH_REFERENCES.format(references=shown)
    return request.override(system_message=_joined(request.system_message, text))


def _joined(message: SystemMessage | None, text: str) -> SystemMessage:
    """The agent's own instructions first; blocks stay blocks, for they may mark a cache."""
    content = "" if message is None else message.content
    if isinstance(content, str):
        return SystemMessage(f"{content}\n\n{text}" if content else text)
    return SystemMessage([*content, {"type": "text", "text": text}])


def _name(tool: object) -> str:
    """The name of a tool, of a provider's description of one, or of the one that must be called."""
    if isinstance(tool, BaseTool):
        return tool.name
    if isinstance(tool, dict):
        return str(tool.get("name") or tool.get("function", {}).get("name", ""))
    return tool if isinstance(tool, str) else ""
