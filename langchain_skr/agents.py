"""AgentAnswerer: an agent with `SKRMiddleware` as what `collect` asks, by each action.

What the agent is made of stays its own: its prompt, its tools, its other middleware. A run that is
asked by an action says so in a context variable, which the middleware reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs
from langgraph.errors import GraphBubbleUp
from langgraph.graph.state import CompiledStateGraph

from langchain_skr.model_call import answer_in, name_of, text_of
from langchain_skr.models import as_language_model, generation_of
from skr_core._compat import cached_property
from skr_core.errors import InputError, ModelError, extra, translated
from skr_core.flow import Flow, arun, call, run
from skr_core.reflectors import RefusalReflector
from skr_core.settings import ActionAnswerer, Settings, answerer_of
from skr_core.types import Action, Answer, Decision, Prompt
from skr_graphs.graph import DECISIONS, answerer_of_graph

with extra("langchain"):
    from langchain.agents.middleware.types import ModelRequest, ModelResponse

if TYPE_CHECKING:
    from langchain_skr.middleware import SKRMiddleware


@dataclass
class Asked:
    """How a run of an agent is asked, where it is not by its own router.

    Attributes:
        decision: The decision that the middleware takes; None for a run that asks no model, and
            only notes what it would have been asked.
        seen: The middleware and the request that it noted.
    """

    decision: Decision | None = None
    seen: list[tuple[SKRMiddleware, ModelRequest[Any]]] = field(default_factory=list)


ASKED: ContextVar[Asked | None] = ContextVar("skr_asked", default=None)


class AgentAnswerer:
    """Answers with an agent: without retrieval, and with it, whatever its router would say.

    Args:
        agent: The agent, of ``create_agent`` with `SKRMiddleware`; it is asked without its memory.
        config: The config of every run, beside the agent's own.

    Example:
        >>> from langchain.agents import create_agent
        >>> from langchain_core.language_models import FakeListChatModel
        >>> from langchain_skr import SKRMiddleware
        >>> from skr_core.testing import MappingRetriever
        >>> library = MappingRetriever({"Capital?": ["Paris is the capital."]})
        >>> model = FakeListChatModel(responses=["Lyon.", "Paris [1]."])
        >>> agent = create_agent(model, middleware=[SKRMiddleware(retriever=library)])
        >>> {name: each.text for name, each in AgentAnswerer(agent).answer_each("Capital?").items()}
        {'direct': 'Lyon.', 'single': 'Paris [1].'}
    """

    def __init__(self, agent: Any, config: RunnableConfig | None = None) -> None:
        self._agent = agent.copy({"checkpointer": None})
        self._config = config

    @cached_property
    def _seen(self) -> tuple[SKRMiddleware, ModelRequest[Any]]:
        """The middleware, and the request that it is given; no model is asked."""
        asked = Asked()
        with _asking(asked):
            self._agent.invoke({"messages": [("user", "?")]}, self._config)
        if not asked.seen:
            raise InputError("SKRMiddleware was not asked in this agent: nothing can be collected")
        return asked.seen[0]

    @property
    def settings(self) -> Settings:
        """What the agent is made of, as its middleware sees it.

        Raises:
            InputError: The middleware was not asked: another one ended the run before it.
        """
        middleware, request = self._seen
        told = [] if request.system_message is None else [str(request.system_message.text)]
        return Settings(
            as_language_model(request.model),
            middleware.retriever,
            reflector=middleware.reflector or RefusalReflector(),
            budget=middleware.budget,
            allow_query=middleware.allow_query,
            instructions="\n".join([*told, *map(name_of, request.tools)]),
        )

    def answer(self, question: str, action: Action | None = None) -> Answer:
        """Answer by the agent's own router, or by the given action."""
        return run(self._answer(question, action))

    async def aanswer(self, question: str, action: Action | None = None) -> Answer:
        """Async version of `answer`."""
        return await arun(self._answer(question, action))

    def answer_each(
        self,
        question: str,
        *,
        history: Sequence[tuple[str, str]] = (),
        config: Mapping[str, Any] | None = None,
    ) -> Mapping[Action, Answer]:
        """Answer by each action: ``direct``, and ``single`` or, with a reflector, ``loop``.

        Args:
            question: The question.
            history: The messages before it, each a role and a text.
            config: The config of its runs, beside that of all.

        Raises:
            ModelError: The agent failed.
            RetrieverError: The search failed.
        """
        return run(self._answer_each(question, history, config))

    async def aanswer_each(
        self,
        question: str,
        *,
        history: Sequence[tuple[str, str]] = (),
        config: Mapping[str, Any] | None = None,
    ) -> Mapping[Action, Answer]:
        """Async version of `answer_each`."""
        return await arun(self._answer_each(question, history, config))

    def _answer_each(
        self, question: str, history: Sequence[tuple[str, str]], config: Any
    ) -> Flow[Mapping[Action, Answer]]:
        retrieving: Action = "loop" if self._seen[0].reflector else "single"
        answers: dict[Action, Answer] = {}
        for action in ("direct", retrieving):
            answers[action] = yield from self._answer(question, action, history, config)
        return answers

    def _answer(
        self,
        question: str,
        action: Action | None,
        history: Sequence[tuple[str, str]] = (),
        config: Any = None,
    ) -> Flow[Answer]:
        given = {"messages": [*history, ("user", question)]}
        agent, asked = self._agent, None if action is None else Asked(DECISIONS[action])
        with translated(ModelError, "the agent", GraphBubbleUp), _asking(asked):
            state = yield from call(
                agent.invoke, agent.ainvoke, given, merge_configs(self._config, config)
            )
        said = [each for each in state["messages"] if isinstance(each, AIMessage)][-1:]
        text = text_of(ModelResponse([*said], state.get("structured_response")))
        answer = answer_in(state, text)
        if answer.decision.retrieve or not said:
            return answer
        asked_for = Prompt("answer_directly", question, question)
        return replace(answer, logprob=generation_of(said[0], text, asked_for).mean_logprob)


@contextmanager
def _asking(asked: Asked | None) -> Iterator[None]:
    token = ASKED.set(asked)
    try:
        yield
    finally:
        ASKED.reset(token)


# An agent is a compiled graph too.
@answerer_of.register(CompiledStateGraph)
def _answerer_of_agent(graph: Any) -> ActionAnswerer:
    return AgentAnswerer(graph) if "skr_usage" in graph.channels else answerer_of_graph(graph)
