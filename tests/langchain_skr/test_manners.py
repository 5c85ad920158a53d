"""What a LangChain user does with any runnable, tool or model, and expects to work here too."""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langgraph.graph import START, MessagesState, StateGraph
from typing_extensions import TypedDict

from langchain_skr import (
    SKRChain,
    SKRMiddleware,
    SKRRetriever,
    create_skr_chain,
    create_skr_graph,
    create_skr_tool,
)
from skr_core import Decision
from skr_core.errors import RetrieverError
from skr_core.testing import MappingRetriever, ScriptedModel
from tests.langchain_skr.fakes import ANSWER, QUESTION, Agent, Library
from tests.servers import OpenAIServer

Invoke = Callable[..., Awaitable[Any]]


@pytest.fixture(params=["sync", "async"])
def invoke(request: pytest.FixtureRequest) -> Invoke:
    async def invoke(runnable: Any, *given: Any, **kwargs: Any) -> Any:
        if request.param == "sync":
            return await asyncio.to_thread(runnable.invoke, *given, **kwargs)
        return await runnable.ainvoke(*given, **kwargs)

    return invoke


def answering() -> FakeListChatModel:
    return FakeListChatModel(responses=[ANSWER])


# Tools


async def test_a_chain_is_a_tool(invoke: Invoke) -> None:
    tool = create_skr_chain(answering(), Library()).as_tool()
    assert list(tool.args) == ["question"]
    for given in ({"question": QUESTION}, QUESTION):
        assert (await invoke(tool, given)).startswith(f"{ANSWER}\n\nSources:\n[1] ")
    named = create_skr_chain(answering(), Library()).as_tool(name="mine", description="All of it.")
    assert (named.name, named.description) == ("mine", "All of it.")


@pytest.mark.parametrize("given", [{}, {"question": ""}, {"question": " "}, {"query": "Who?"}])
async def test_a_call_without_a_question_is_corrected(invoke: Invoke, given: Any) -> None:
    tool = create_skr_tool(answering(), Library())
    calls = [{"name": tool.name, "args": args, "id": str(n)} for n, args in enumerate([given])]
    chat = Agent(replies=[AIMessage("", tool_calls=calls), AIMessage("Sorry.")])
    result = await invoke(create_agent(chat, [tool]), {"messages": [HumanMessage(QUESTION)]})
    (message,) = [each for each in result["messages"] if isinstance(each, ToolMessage)]
    assert message.status == "error"
    assert "the argument `question`" in message.text
    assert result["messages"][-1].text == "Sorry."


# bind, stop, pickles


async def test_what_a_chain_does_not_take_is_refused(invoke: Invoke) -> None:
    chain = create_skr_chain(answering(), Library())
    message = r"a chain takes no stop: .*model\.bind"
    with pytest.raises(TypeError, match=message):
        await invoke(chain.bind(stop=["."]), QUESTION)
    with pytest.raises(TypeError, match=message):
        await invoke(chain, QUESTION, stop=["."])
    with pytest.raises(TypeError, match=message):
        list(chain.stream(QUESTION, stop=["."]))
    with pytest.raises(TypeError, match=message):
        _ = [token async for token in chain.astream(QUESTION, stop=["."])]
    assert await invoke(create_skr_chain(answering().bind(stop=["."]), Library()), QUESTION)


async def test_a_chain_that_was_used_comes_out_of_a_pickle(invoke: Invoke) -> None:
    chain = create_skr_chain(ScriptedModelOf(ANSWER), Library(), when_insufficient="refuse")
    await invoke(chain, QUESTION)
    again = pickle.loads(pickle.dumps(chain))
    assert await invoke(again, QUESTION) == ANSWER
    bound = pickle.loads(pickle.dumps(chain.with_config(run_name="mine")))
    assert await invoke(bound, QUESTION) == ANSWER


def test_a_chain_over_one_s_own_graph_says_why_it_is_in_no_pickle() -> None:
    chain = SKRChain(create_skr_graph(answering(), Library()))
    with pytest.raises(TypeError, match="cannot be pickled: make the chain"):
        pickle.dumps(chain)


@pytest.mark.parametrize("completes", [True, False])
async def test_a_retriever_that_was_used_comes_out_of_a_pickle(
    invoke: Invoke, completes: bool
) -> None:
    retriever = SKRRetriever(retriever=Library(), model=answering() if completes else None)
    found = await invoke(retriever, QUESTION)
    again = await invoke(pickle.loads(pickle.dumps(retriever)), QUESTION)
    assert [each.page_content for each in again] == [each.page_content for each in found]


class ScriptedModelOf(FakeListChatModel):
    """A chat model that a pickle finds by its name."""

    def __init__(self, *replies: str, **kwargs: Any) -> None:
        super().__init__(**{"responses": list(replies), **kwargs})


# Errors


class IndexDown(Exception):
    """As a vector store's client raises."""


async def test_a_chain_raises_what_its_retriever_raises(invoke: Invoke) -> None:
    def search(query: str) -> list[Document]:
        raise IndexDown("the index is down")

    chain = create_skr_chain(answering(), RunnableLambda(search))
    with pytest.raises(IndexDown) as caught:
        await invoke(chain, QUESTION)
    assert isinstance(caught.value, RetrieverError)
    other = RunnableLambda(lambda question: "from the other")
    kept = chain.with_fallbacks([other], exceptions_to_handle=(IndexDown,))
    assert await invoke(kept, QUESTION) == "from the other"


# Models that are chosen run by run


@pytest.mark.integration
async def test_a_model_that_the_config_chooses(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = create_skr_chain(init_chat_model(temperature=0), Library())
    with OpenAIServer(lambda messages: f"SUFFICIENT\n{ANSWER}", keep_alive=False) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        for model in ("one", "other"):
            config = {"configurable": {"model": f"openai:{model}"}}
            assert await invoke(chain, QUESTION, config) == ANSWER
    assert [request["model"] for request in server.requests] == ["one", "other"]
    assert [request["temperature"] for request in server.requests] == [0, 0]


# What is not the answer is not shown


class Hypothetical(BaseRetriever):
    """Asks a model for a passage to search by, as HyDE does, with or without passing callbacks."""

    model: Any
    passes: bool = True

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        self.model.invoke(query, {"callbacks": run_manager.get_child()} if self.passes else None)
        return [Document("Ada Quill was born in Port Elm.")]

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        config = {"callbacks": run_manager.get_child()} if self.passes else None
        await self.model.ainvoke(query, config)
        return [Document("Ada Quill was born in Port Elm.")]


class AskingRouter:
    """Asks a LangChain model of its own, as a user's router may."""

    def decide(self, question: str) -> Decision:
        return Decision(bool(FakeListChatModel(responses=["HYPOTHESIS"]).invoke(question)))

    async def adecide(self, question: str) -> Decision:
        reply = await FakeListChatModel(responses=["HYPOTHESIS"]).ainvoke(question)
        return Decision(bool(reply))


def of_graph(retriever: Any) -> Any:
    return create_skr_graph(answering(), retriever, router=AskingRouter())


def of_agent(retriever: Any) -> Any:
    chat = Agent(replies=[AIMessage(ANSWER)])
    return create_agent(chat, middleware=[SKRMiddleware(AskingRouter(), retriever=retriever)])


def of_users_graph(retriever: Any) -> Any:
    own = SKRRetriever(retriever=retriever, router=AskingRouter())

    def search(state: MessagesState) -> Any:
        own.invoke(state["messages"][-1].text)
        return {"messages": [AIMessage(ANSWER)]}

    async def asearch(state: MessagesState) -> Any:
        await own.ainvoke(state["messages"][-1].text)
        return {"messages": [AIMessage(ANSWER)]}

    node = RunnableLambda(search, asearch)
    return StateGraph(MessagesState).add_node("s", node).add_edge(START, "s").compile()


@pytest.mark.parametrize("system", [of_graph, of_agent, of_users_graph])
@pytest.mark.parametrize("passes", [True, False])
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_what_a_retriever_s_own_model_says_is_not_shown(
    system: Any, passes: bool, mode: str
) -> None:
    model = FakeListChatModel(responses=["HYPOTHESIS"])
    app = system(Hypothetical(model=model, passes=passes))
    given = {"question": QUESTION} if system is of_graph else {"messages": [("user", QUESTION)]}
    if mode == "sync":
        shown = await asyncio.to_thread(lambda: list(app.stream(given, stream_mode="messages")))
    else:
        shown = [each async for each in app.astream(given, stream_mode="messages")]
    assert "".join(chunk.text for chunk, _ in shown) == ANSWER


# Events come before what they tell of


class Waiting(ScriptedModel):
    """Answers when the consumer has been shown that it is asked."""

    def __init__(self, shown: Callable[[float], bool]) -> None:
        super().__init__([ANSWER])
        self.shown = shown
        self.was_shown: list[bool] = []

    def generate(self, prompt: Any, *, on_token: Any = None) -> Any:
        self.was_shown.append(self.shown(60))
        return super().generate(prompt, on_token=on_token)

    async def agenerate(self, prompt: Any, *, on_token: Any = None) -> Any:
        self.was_shown.append(await asyncio.to_thread(self.shown, 60))
        return super().generate(prompt, on_token=on_token)


class WaitingSearch:
    """Finds when the consumer has been shown that it searches."""

    name = "waiting"

    def __init__(self, shown: Callable[[float], bool]) -> None:
        self.shown = shown
        self.was_shown: list[bool] = []

    def retrieve(self, query: str) -> Any:
        self.was_shown.append(self.shown(60))
        return []

    async def aretrieve(self, query: str) -> Any:
        self.was_shown.append(await asyncio.to_thread(self.shown, 60))
        return []


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("known", [True, False])
async def test_a_task_is_shown_before_it_begins(mode: str, known: bool) -> None:
    asked, searched = threading.Event(), threading.Event()
    model, search = Waiting(asked.wait), WaitingSearch(searched.wait)
    documents = RunnableLambda(lambda query: [Document("Ada Quill was born in Port Elm.")])
    graph = create_skr_graph(model, documents if known else search)
    task = "answer_with_references"

    def note(event: Any) -> None:
        if event["type"] == "query":
            searched.set()
        if event["type"] == "start" and event["task"] in (task, "self_complete"):
            asked.set()

    if mode == "sync":

        def consume(events: Iterator[Any]) -> None:
            for event in events:
                note(event)

        await asyncio.to_thread(
            lambda: consume(graph.stream({"question": QUESTION}, stream_mode="custom"))
        )
    else:
        async for event in graph.astream({"question": QUESTION}, stream_mode="custom"):
            note(event)
    assert model.was_shown
    assert all(model.was_shown)
    assert all(search.was_shown)
    assert bool(search.was_shown) != known


ROOT = Path(__file__).resolve().parents[2]


MODEL, RETRIEVER = ScriptedModel(), MappingRetriever({})


def test_the_graph() -> None:
    graph: Any = create_skr_graph(MODEL, RETRIEVER)
    given = graph.get_input_jsonschema()["properties"]
    assert set(given) == {"question", "messages", "history"}
    assert given["question"]["type"] == "string"
    output = graph.get_output_jsonschema()["properties"]
    assert output["answer"]["type"] == "string"
    assert output["citations"]["type"] == "array"
    context = graph.get_context_jsonschema()["properties"]
    assert "when_insufficient" in context
    assert "model" not in context


def test_the_chain() -> None:
    chain = create_skr_chain(MODEL, RETRIEVER)
    schema = chain.get_input_jsonschema()
    text, mapping, messages = schema["anyOf"]
    assert messages["type"] == "array"
    assert text["type"] == "string"
    assert set(schema["$defs"]["SKRInput"]["properties"]) == {"question", "messages", "history"}
    assert mapping["$ref"].endswith("SKRInput")
    assert chain.input_schema.model_validate({"question": "Who?"})
    assert chain.get_output_jsonschema()["type"] == "string"
    assert chain.output_schema.model_validate("Ada.")
    configurable = chain.get_config_jsonschema()["$defs"]["Configurable"]["properties"]
    assert "budget" in configurable


def test_the_retriever_and_the_tool() -> None:
    assert SKRRetriever(retriever=RETRIEVER).get_input_jsonschema()["type"] == "string"
    tool = create_skr_tool(MODEL, RETRIEVER)
    assert tool.get_input_jsonschema()["required"] == ["question"]


def test_an_agent_with_the_middleware() -> None:
    middleware = [SKRMiddleware(retriever=RETRIEVER)]
    agent: Any = create_agent(FakeListChatModel(responses=["Hello."]), middleware=middleware)
    assert "skr_decision" not in agent.get_input_jsonschema()["properties"]
    assert "skr_decision" in agent.get_output_jsonschema()["properties"]


def test_a_graph_around_the_graph() -> None:
    class Mine(TypedDict, total=False):
        question: str
        answer: str

    builder = StateGraph(Mine)
    builder.add_node("ask", create_skr_graph(MODEL, RETRIEVER))
    builder.add_edge(START, "ask")
    assert set(builder.compile().get_output_jsonschema()["properties"]) == {"question", "answer"}


def test_no_page_or_example_shows_a_state_without_a_schema() -> None:
    """Before Python 3.12 pydantic makes no schema of ``typing.TypedDict``."""
    shown = [*ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.py"), ROOT / "README.md"]
    imports = [line for path in shown for line in path.read_text("utf-8").splitlines()]
    assert not [each for each in imports if "from typing import" in each and "TypedDict" in each]
