"""What a run is told by and tells: LangGraph's store, the id for feedback, configurable fields."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Awaitable, Callable, Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from langchain.agents import create_agent
from langchain_core.caches import InMemoryCache
from langchain_core.documents import Document
from langchain_core.globals import set_llm_cache
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import (
    ConfigurableField,
    ConfigurableFieldMultiOption,
    ConfigurableFieldSingleOption,
    RunnableConfig,
    RunnableLambda,
    RunnablePassthrough,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_store
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore
from pydantic import Field

from langchain_skr import (
    SKRMiddleware,
    SKRRetriever,
    create_skr_chain,
    create_skr_graph,
    create_skr_tool,
)
from skr_core import Budget
from skr_core.errors import InputError
from skr_core.routers import AlwaysRetrieve, NeverRetrieve
from skr_core.settings import answerer_of
from skr_graphs import create_route_node, create_self_completion_graph
from tests.langchain_skr.fakes import (
    ANSWER,
    FOUND,
    FURTHER,
    QUESTION,
    Agent,
    Library,
    stating_model,
)
from tests.langchain_skr.test_tracing import Tracer, runs_of

Invoke = Callable[..., Awaitable[Any]]


@pytest.fixture(params=["sync", "async"])
def invoke(request: pytest.FixtureRequest) -> Invoke:
    async def invoke(runnable: Any, *given: Any) -> Any:
        if request.param == "sync":
            return await asyncio.to_thread(runnable.invoke, *given)
        return await runnable.ainvoke(*given)

    return invoke


def answering() -> FakeListChatModel:
    return FakeListChatModel(responses=[f"SUFFICIENT\n{ANSWER}"])


# LangGraph's store


def noting(user: str) -> Any:
    """A search by what LangGraph's store knows of the user."""

    def search(query: str) -> list[Document]:
        item = get_store().get(("users",), user)
        assert item is not None
        return [Document(f"For {item.value['name']}.")]

    return RunnableLambda(search)


@pytest.mark.parametrize("place", ["graph", "builder", "parent", "chain in a node", "tool"])
async def test_a_retriever_reads_langgraph_s_store(place: str, invoke: Invoke) -> None:
    store = InMemoryStore()
    store.put(("users",), "1", {"name": "Ada"})
    if place == "graph":
        app: Any = create_skr_graph(answering(), noting("1"), store=store)
    elif place == "builder":
        app = create_skr_graph(answering(), noting("1")).builder.compile(store=store)
    elif place == "tool":
        tool = create_skr_tool(answering(), noting("1"))
        call = {"name": tool.name, "args": {"question": QUESTION}, "id": "1"}
        replies = [AIMessage("", tool_calls=[call]), AIMessage("Done.")]
        app = create_agent(Agent(replies=replies), [tool], store=store)
    else:
        node: Any = create_skr_graph(answering(), noting("1"))
        if place != "parent":
            chain = create_skr_chain(answering(), noting("1"), return_sources=True)
            node = chain | (lambda said: {"messages": [("ai", said["context"][0].page_content)]})
        app = StateGraph(MessagesState).add_node("ask", node).add_edge(START, "ask")
        app = app.compile(store=store)
    given = {"question": QUESTION} if place in ("graph", "builder") else {}
    result = await invoke(app, given or {"messages": [("user", QUESTION)]})
    if "references" in result:
        assert result["references"][0]["text"] == "For Ada."
    elif place != "parent":
        assert any("For Ada." in message.text for message in result["messages"])
    assert result["messages"]


# What an answer cost, and in which run


async def runs_told(invoke: Invoke, runnable: Any, config: Any = None) -> tuple[str, str]:
    """The id that an answer has, and that of the run of the chain in its trace."""
    tracer = Tracer()
    said = await invoke(runnable, QUESTION, {"callbacks": [tracer], **(config or {})})
    (root,) = tracer.roots
    *_, run = (each for each in runs_of(root) if each.name == "skr")  # within a retry, two are
    assert said["decision"]["reason"] == "every question is retrieved for"
    assert [each["queries"] for each in said["rounds"]] == [[QUESTION]]
    assert said["usage"]["answer_with_references"]["calls"] == 1
    return said["run_id"], str(run.id)


async def test_an_answer_names_its_run_for_feedback(invoke: Invoke) -> None:
    chain = create_skr_chain(answering(), Library(), return_sources=True)
    around: list[Any] = [chain, RunnablePassthrough() | chain, chain.with_retry()]
    for asked in around:
        told, traced = await runs_told(invoke, asked)
        assert told == traced
        assert UUID(told)
    given = uuid4()
    assert await runs_told(invoke, chain, {"run_id": given}) == (str(given), str(given))


async def test_each_of_a_batch_and_each_turn_of_a_thread_has_a_run_of_its_own() -> None:
    chain = create_skr_chain(
        answering(), Library(), return_sources=True, checkpointer=InMemorySaver()
    )
    threads: list[RunnableConfig] = [{"configurable": {"thread_id": str(n)}} for n in range(3)]
    asked: list[Any] = [QUESTION] * 3
    said = [*chain.batch(asked, threads), *await chain.abatch(asked, threads)]
    assert len({each["run_id"] for each in said}) == 6
    *_, last = chain.stream(QUESTION, {**threads[0], "run_id": (given := uuid4())})
    assert last["run_id"] == str(given)
    assert {"decision", "rounds", "usage"} <= last.keys()


# What a run's config may choose


def chosen(**options: Any) -> Any:
    routers = {"always": AlwaysRetrieve(), "never": NeverRetrieve()}
    return create_skr_chain(answering(), Library(), **options).configurable_fields(
        router=ConfigurableFieldSingleOption("search", routers, default="always"),
        when_insufficient=ConfigurableField(id="end", description="How it ends."),
    )


async def test_configurable_fields_of_a_chain(invoke: Invoke) -> None:
    chain = pickle.loads(pickle.dumps(chosen(return_sources=True)))
    for config, ended in (({}, "sufficient"), ({"search": "never"}, "known")):
        assert (await invoke(chain, QUESTION, {"configurable": config}))["stop_reason"] == ended
    bound = chain.with_config(configurable={"search": "never"})
    assert (await invoke(bound, QUESTION))["stop_reason"] == "known"
    # Nothing but the options may be chosen, under no other key.
    for hostile in ({"router": NeverRetrieve()}, {"when_insufficient": "abstain"}):
        said = await invoke(chain, QUESTION, {"configurable": hostile})
        assert said["stop_reason"] == "sufficient"
    for unknown in ("often", ["always"]):
        with pytest.raises(InputError, match=r"search is .*: give one of always, never"):
            await invoke(chain, QUESTION, {"configurable": {"search": unknown}})
    with pytest.raises(InputError, match="when_insufficient is 'abstain'"):
        await invoke(chain, QUESTION, {"configurable": {"end": "abstain"}})
    both = chain.configurable_fields(budget=ConfigurableField(id="limits"))
    limited: Any = {"search": "always", "limits": Budget(max_references=1)}
    assert len((await invoke(both, QUESTION, {"configurable": limited}))["context"]) == 1


def test_configurable_fields_are_in_the_schema_and_in_what_is_collected() -> None:
    chain = chosen()
    ids = {each.id for each in chain.config_specs}
    assert {"search", "end", "budget"} <= ids
    assert not {"router", "when_insufficient"} & ids
    schema = chain.get_config_jsonschema()["$defs"]["Configurable"]["properties"]
    assert schema["search"]["default"] == "always"
    assert schema["end"]["description"] == "How it ends."
    assert answerer_of(chain).settings.router.decide(QUESTION).retrieve
    never = chain.with_config(configurable={"search": "never"})
    assert not answerer_of(never).settings.router.decide(QUESTION).retrieve


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("model", r"give the chain model.configurable_alternatives\(\.\.\.\)"),
        ("retriever", r"give the chain retriever.configurable_alternatives\(\.\.\.\)"),
        ("scope", "a run replaces router, .*, and not scope"),
    ],
)
def test_what_a_run_may_not_choose_is_refused_by_name(wrong: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        chosen().configurable_fields(**{wrong: ConfigurableField(id=wrong)})
    many = ConfigurableFieldMultiOption("budgets", {"small": Budget()}, default=["small"])
    with pytest.raises(InputError, match="budget takes one value, and not"):
        chosen().configurable_fields(budget=many)


async def test_configurable_alternatives_of_chains_models_and_retrievers(invoke: Invoke) -> None:
    which = ConfigurableField(id="which")
    short = FakeListChatModel(responses=["SUFFICIENT\nElm [1]."])
    chain = create_skr_chain(answering(), Library())
    alternatives = [
        chain.configurable_alternatives(
            which, default_key="long", short=create_skr_chain(short, Library())
        ),
        create_skr_chain(
            answering().configurable_alternatives(which, default_key="long", short=short),
            Library().configurable_alternatives(which, default_key="long", short=Library()),
        ),
    ]
    for each in alternatives:
        for choice, said in (("long", ANSWER), ("short", "Elm [1].")):
            piped = (each | str.upper).with_config(configurable={"which": choice})
            assert await invoke(piped, QUESTION) == said.upper()
    assert "which" in {each.id for each in alternatives[0].config_specs}


async def test_configurable_fields_of_a_retriever(invoke: Invoke) -> None:
    retriever = SKRRetriever(retriever=Library()).configurable_fields(
        router=ConfigurableField(id="router"), k=ConfigurableField(id="k")
    )
    assert len(await invoke(retriever, QUESTION, {"configurable": {"k": 2}})) == 2
    assert await invoke(retriever, QUESTION, {"configurable": {"router": "never"}}) == []


# A router that asks a model


@pytest.mark.parametrize("name", ["confidence", "uncertainty", "prompt:can_answer"])
@pytest.mark.parametrize(
    "make",
    [
        lambda router, **model: SKRRetriever(retriever=Library(), router=router, **model),
        lambda router, **model: SKRMiddleware(router, retriever=Library(), **model),
        create_route_node,
    ],
)
def test_a_router_that_needs_a_model_says_so_at_construction(make: Any, name: str) -> None:
    with pytest.raises(ValueError, match="asks a model: give model="):
        make(name)
    assert make(name, model=answering())


# Beside them


async def test_a_cached_reply_costs_nothing_in_any_chain(invoke: Invoke) -> None:
    model = FakeListChatModel(responses=[f"SUFFICIENT\n{ANSWER}"], cache=InMemoryCache())
    chain = create_skr_chain(model, Library(), return_sources=True)
    costs = [(await invoke(chain, QUESTION))["usage"]["answer_with_references"] for _ in range(2)]
    assert [each["calls"] for each in costs] == [1, 0]
    assert [each["cached_calls"] for each in costs] == [0, 1]


class Counted(FakeListChatModel):
    """Says what it was not yet asked; a cache has replied to the rest."""

    asked: list[str] = Field(default_factory=list)

    def _call(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> str:
        self.asked.append(str(messages[-1].text))
        return super()._call(messages, *args, **kwargs)


@pytest.fixture
def cache() -> Iterator[None]:
    set_llm_cache(InMemoryCache())
    yield
    set_llm_cache(None)


CALL = {"name": "ask", "args": {"question": QUESTION}, "id": "1", "type": "tool_call"}
CACHED: dict[str, tuple[Callable[[Any], Any], Any, Callable[[Any], Any]]] = {
    "graph": (
        lambda model: create_skr_graph(model, Library()),
        {"question": QUESTION},
        lambda said: said["usage"]["answer_with_references"],
    ),
    "middleware": (
        lambda model: create_agent(model, middleware=[SKRMiddleware(retriever=Library())]),
        {"messages": [("user", QUESTION)]},
        lambda said: said["skr_usage"],
    ),
    "tool": (
        lambda model: create_skr_tool(model, Library(), name="ask"),
        CALL,
        lambda said: said.artifact["usage"]["answer_with_references"],
    ),
}


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("name", CACHED)
async def test_langchain_s_own_cache_counts(name: str, invoke: Invoke) -> None:
    make, given, cost_in = CACHED[name]
    model = Counted(responses=[f"SUFFICIENT\n{ANSWER}"])
    costs = [cost_in(await invoke(make(model), given)) for _ in range(2)]
    assert len(model.asked) == 1
    assert [each["calls"] for each in costs] == [1, 0]
    assert [each["cached_calls"] for each in costs] == [0, 1]


@pytest.mark.usefixtures("cache")
async def test_what_the_cache_replied_leaves_a_retriever_s_budget_whole(invoke: Invoke) -> None:
    model = Counted(responses=stating_model().responses)
    retriever = SKRRetriever(retriever=Library(), model=model, budget=Budget(max_calls=2))
    assert len(await invoke(retriever, QUESTION)) == len(FOUND[QUESTION])
    assert len(model.asked) == 1
    # The first call costs nothing now, so that the round that it asks for is within the budget.
    both = len(FOUND[QUESTION]) + len(FOUND[FURTHER])
    assert len(await invoke(retriever, QUESTION)) == both
    assert len(model.asked) == 2


async def test_listeners_hear_of_a_chain_once(invoke: Invoke) -> None:
    heard: list[Any] = []
    chain: Any = create_skr_chain(answering(), Library())
    listened = chain.with_listeners(
        on_start=lambda run: heard.append(run.inputs), on_end=lambda run: heard.append(run.outputs)
    )
    assert await invoke(listened, QUESTION) == ANSWER
    assert heard == [{"question": QUESTION}, {"output": ANSWER}]


def test_the_builder_s_graph_is_named_as_it_is_compiled() -> None:
    builder = create_self_completion_graph(router="never")
    assert (builder.compile().name, builder.compile(name="mine").name) == ("skr", "mine")
