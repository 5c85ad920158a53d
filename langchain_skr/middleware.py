"""SKRMiddleware: an agent of ``langchain.agents.create_agent`` that knows when to retrieve.

Needs the extra ``langchain``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Annotated, Any, NotRequired

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime

from langchain_skr.adapters import RetrieverLike, as_retriever
from skr_core.errors import extra
from skr_core.flow import Flow, arun, call, run
from skr_core.plain import from_plain, to_plain
from skr_core.prompts.parts import number_references
from skr_core.prompts.templates import WITH_REFERENCES
from skr_core.settings import RouterLike, as_router
from skr_core.types import Reference
from skr_graphs.nostream import unstreamed
from skr_graphs.state import Plain

with extra("langchain"):
    from langchain.agents.middleware import AgentMiddleware, AgentState
    from langchain.agents.middleware.types import ModelRequest, ModelResponse, OmitFromInput


class SKRAgentState(AgentState[Any]):
    """What the middleware adds to an agent's state, and to its output.

    Attributes:
        skr_decision: A `Decision`, plain; None where there was no question.
        skr_references: Those found for the latest question, plain.
    """

    skr_decision: NotRequired[Annotated[Plain | None, OmitFromInput]]
    skr_references: NotRequired[Annotated[list[Plain], OmitFromInput]]


class SKRMiddleware(AgentMiddleware[SKRAgentState, Any, Any]):
    """Routes the user's latest message once a run, and lets the model retrieve or not.

    When the model knows, the named tools are withheld from it. When it does not, and a retriever
    is given, what that finds joins the system message. For self-completion give an `SKRRetriever`
    with a model.

    Args:
        router: Decides whether to retrieve; always, by default. The folder of a saved router that
            asks no model is loaded.
        retriever: As for `create_skr_graph`; asked once a run, before the model. Its failure ends
            the run with `RetrieverError`.
        tools: Names of retrieval tools, withheld when the model knows.

    Raises:
        InputError: The retriever is not usable.

    Example:
        >>> from langchain.agents import create_agent
        >>> from langchain_core.documents import Document
        >>> from langchain_core.language_models import FakeListChatModel
        >>> from langchain_core.runnables import RunnableLambda
        >>> search = RunnableLambda(lambda query: [Document("Paris is the capital of France.")])
        >>> agent = create_agent(
        ...     FakeListChatModel(responses=["Paris [1]."]),
        ...     middleware=[SKRMiddleware(retriever=search)],
        ... )
        >>> result = agent.invoke({"messages": [("user", "What is the capital of France?")]})
        >>> result["messages"][-1].text, result["skr_references"][0]["text"]
        ('Paris [1].', 'Paris is the capital of France.')
    """

    state_schema = SKRAgentState

    def __init__(
        self,
        router: RouterLike | None = None,
        *,
        retriever: RetrieverLike | None = None,
        tools: Iterable[str] = (),
    ) -> None:
        super().__init__()
        self.retriever = None if retriever is None else as_retriever(retriever)
        self.router = as_router(router, retriever=self.retriever)
        self.withheld = frozenset([tools] if isinstance(tools, str) else tools)

    def before_agent(self, state: SKRAgentState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Decide, and retrieve."""
        with unstreamed():
            return run(self._prepare(state["messages"]))

    async def abefore_agent(self, state: SKRAgentState, runtime: Runtime[Any]) -> dict[str, Any]:
        """The same, awaited."""
        with unstreamed():
            return await arun(self._prepare(state["messages"]))

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Call the model with references, or without retrieval tools."""
        return handler(self._adapted(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """The same, awaited."""
        return await handler(self._adapted(request))

    def _prepare(self, messages: Sequence[AnyMessage]) -> Flow[Plain]:
        asked = [each.text for each in messages if isinstance(each, HumanMessage)]
        question = asked[-1].strip() if asked else ""
        if not question:  # nothing to route by, such as an image alone
            return {"skr_decision": None, "skr_references": []}
        decision = yield from call(self.router.decide, self.router.adecide, question)
        references: Sequence[Reference] = ()
        if decision.retrieve and self.retriever is not None:
            source = self.retriever
            references = yield from call(source.retrieve, source.aretrieve, question)
        return {"skr_decision": to_plain(decision), "skr_references": to_plain(list(references))}

    def _adapted(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        state: Any = request.state
        decision = state.get("skr_decision")
        if decision is not None and not decision["retrieve"]:
            kept = [tool for tool in request.tools if _name(tool) not in self.withheld]
            forced = _name(request.tool_choice) in self.withheld
            return request.override(
                tools=kept, tool_choice=None if forced or not kept else request.tool_choice
            )
        references = [from_plain(Reference, each) for each in state.get("skr_references", ())]
        if not references:
            return request
        text = WITH_REFERENCES.format(references=number_references(references))
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
