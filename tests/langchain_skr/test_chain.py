from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import (
    ConfigurableField,
    Runnable,
    RunnableLambda,
    RunnablePassthrough,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from langchain_skr import SKRChain, SKRRetriever, create_skr_chain
from skr_core import Budget
from skr_core.errors import InputError
from skr_core.reflectors import RefusalReflector
from skr_core.routers import NeverRetrieve
from tests.langchain_skr.fakes import ANSWER, FURTHER, QUESTION, Library, model, stating_model

Say = Callable[..., Awaitable[str]]


async def _astream(chain: Runnable[Any, str], question: Any, config: Any) -> str:
    return "".join([piece async for piece in chain.astream(question, config)])


@pytest.fixture(params=["invoke", "ainvoke", "stream", "astream", "batch", "abatch", "transform"])
def say(request: pytest.FixtureRequest) -> Say:
    """Each way to ask a chain, all of which give the same text."""

    async def say(chain: Runnable[Any, str], question: Any, config: Any = None) -> str:
        in_thread = asyncio.to_thread
        if request.param == "invoke":
            return await in_thread(chain.invoke, question, config)
        if request.param == "ainvoke":
            return await chain.ainvoke(question, config)
        if request.param == "stream":
            return await in_thread(lambda: "".join(chain.stream(question, config)))
        if request.param == "astream":
            return await _astream(chain, question, config)
        if request.param == "batch":
            return (await in_thread(chain.batch, [question], config))[0]
        if request.param == "abatch":
            return (await chain.abatch([question], config))[0]
        return await in_thread(lambda: "".join(chain.transform(iter([question]), config)))

    return say


async def test_every_way_gives_the_same_text(say: Say) -> None:
    assert await say(create_skr_chain(model(), Library()), QUESTION) == ANSWER
    assert await say(create_skr_chain(model(), Library()), {"question": QUESTION}) == ANSWER


async def test_a_stock_model_of_one_iterator(say: Say) -> None:
    stock = GenericFakeChatModel(messages=iter([AIMessage("Paris it is [1].")]))
    assert await say(create_skr_chain(stock, Library()), QUESTION) == "Paris it is [1]."


async def test_it_stands_in_a_pipe(say: Say) -> None:
    chain = (
        {"question": RunnablePassthrough()}
        | create_skr_chain(model(), Library())
        | RunnableLambda(str.upper)
    )
    assert await say(chain, QUESTION) == ANSWER.upper()


async def test_it_stands_in_an_assign_beside_other_keys(say: Say) -> None:
    chain = RunnablePassthrough.assign(answer=create_skr_chain(model(), Library())).pick("answer")
    assert await say(chain, {"question": QUESTION, "lang": "en", "context": "mine"}) == ANSWER


@pytest.mark.parametrize(
    "wrong",
    [5, None, b"x", {"query": "x"}, {"question": 5}, {"question": "x", "histroy": [("user", "y")]}],
)
async def test_another_input_is_refused(say: Say, wrong: Any) -> None:
    with pytest.raises(InputError, match="the chain takes a string"):
        await say(create_skr_chain(model(), Library()), wrong)


async def test_a_run_s_config_replaces_router_budget_reflector_and_abstention(say: Say) -> None:
    chain = create_skr_chain(FakeListChatModel(responses=["I say so."]), Library())
    never = chain.with_config(configurable={"router": NeverRetrieve()})
    seen = Starts()
    assert await say(never, QUESTION, {"callbacks": [seen]}) == "I say so."
    assert "Library" not in seen.names
    configurable = {
        "budget": {"max_rounds": 1},
        "when_insufficient": "refuse",
        "reflector": RefusalReflector(),
    }
    seen = Starts()
    text = await say(
        create_skr_chain(model(), Library()),
        QUESTION,
        {"configurable": configurable, "callbacks": [seen]},
    )
    assert text.startswith("I'm sorry")
    assert seen.names.count("Library") == 1


async def test_models_and_retrievers_keep_their_own_configurable_fields(say: Say) -> None:
    replies = ConfigurableField(id="replies")
    configurable: Any = FakeListChatModel(responses=["One."]).configurable_fields(responses=replies)
    chain = create_skr_chain(configurable, Library())
    assert await say(chain, QUESTION, {"configurable": {"replies": ["Two."]}}) == "Two."


class Starts(BaseCallbackHandler):
    def __init__(self) -> None:
        self.names: list[str] = []
        self.runs: dict[Any, tuple[str, Any]] = {}
        self.tags: dict[str, list[str]] = {}
        self.metadata: dict[str, dict[str, Any]] = {}

    def _note(self, name: str | None, **kwargs: Any) -> None:
        name = name or "model"
        self.names.append(name)
        self.runs[kwargs["run_id"]] = (name, kwargs["parent_run_id"])
        self.tags[name] = kwargs["tags"]
        self.metadata[name] = kwargs["metadata"]

    def on_chain_start(self, *args: Any, **kwargs: Any) -> None:
        self._note(**kwargs)

    def on_retriever_start(self, *args: Any, **kwargs: Any) -> None:
        self._note(**kwargs)

    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        self._note(**kwargs)

    def line(self, name: str) -> list[str]:
        """The names from a run up to its root."""
        (run,) = [key for key, (each, _) in self.runs.items() if each == name][:1]
        names = []
        while run is not None:
            each, run = self.runs[run]
            names.append(each)
        return names


async def test_config_reaches_the_graph_and_what_it_calls(say: Say) -> None:
    seen = Starts()
    config = {"callbacks": [seen], "tags": ["mine"], "metadata": {"user": "ada"}}
    chain = create_skr_chain(model(), Library())
    await say(chain.with_config(run_name="ask the library"), QUESTION, config)
    assert seen.line("Library") == ["Library", "retrieve", "ask the library"]
    assert seen.line("model") == ["model", "answer", "ask the library"]
    assert {"mine", "nostream"} <= set(seen.tags["model"])
    assert seen.metadata["Library"]["user"] == "ada"
    seen = Starts()
    await say(create_skr_chain(model(), Library()), QUESTION, {"callbacks": [seen]})
    assert seen.line("Library")[-1] == "skr"


def test_only_the_final_answer_streams_and_piece_by_piece() -> None:
    library = Library()
    pieces = list(create_skr_chain(stating_model(), library).stream(QUESTION))
    assert "".join(pieces) == ANSWER
    assert len(pieces) > 5
    assert library.asked == [QUESTION, FURTHER]


def test_a_reply_without_its_verdict_streams_once_it_is_read() -> None:
    assert list(create_skr_chain(model(), Library()).stream(QUESTION)) == [ANSWER]


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_the_tokens_of_a_model_inside_a_retriever_do_not_stream(mode: str) -> None:
    rewriter = FakeListChatModel(responses=["a rewritten query"])

    def search(query: str) -> list[Document]:
        return [Document("".join(chunk.text for chunk in rewriter.stream(query)))]

    inner = SKRRetriever(retriever=RunnableLambda(search), model=model())
    chain = create_skr_chain(FakeListChatModel(responses=[ANSWER]), inner)
    if mode == "sync":
        assert "".join(chain.stream(QUESTION)) == ANSWER
    else:
        assert await _astream(chain, QUESTION, None) == ANSWER


def test_a_stream_left_early_is_closed() -> None:
    closed = []

    class Slow(FakeListChatModel):
        def _stream(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
            try:
                yield from super()._stream(*args, **kwargs)
            finally:
                closed.append(True)

    stream: Any = create_skr_chain(Slow(responses=[ANSWER * 20]), Library()).stream(QUESTION)
    assert next(stream)
    stream.close()
    assert closed == [True]


async def test_streamed_input_is_gathered_first() -> None:
    chain = create_skr_chain(model(), Library())
    first, second = QUESTION[:10], QUESTION[10:]
    assert "".join(chain.transform(iter([first, second]))) == ANSWER

    async def pieces() -> Any:
        yield first
        yield second

    chain = create_skr_chain(model(), Library())
    assert "".join([piece async for piece in chain.atransform(pieces())]) == ANSWER


async def test_astream_events_tell_what_happens_inside() -> None:
    chain = create_skr_chain(model(), Library())
    events = [each async for each in chain.astream_events(QUESTION)]
    assert [each["name"] for each in events if each["event"] == "on_retriever_start"] == [
        "Library",
        "Library",
    ]
    assert events[0]["name"] == events[-1]["name"] == "skr"


async def test_abatch_keeps_order_and_max_concurrency() -> None:
    under_way = peak = 0
    together = 3

    async def search(query: str) -> list[Document]:
        nonlocal under_way, peak
        under_way += 1
        peak = max(peak, under_way)
        async with asyncio.timeout(60):
            while peak < together:  # noqa: ASYNC110  # another question ends that
                await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        under_way -= 1
        return [Document(query)]

    finds = RunnableLambda(lambda query: [Document(query)], search)
    echo: Any = RunnableLambda(lambda messages: AIMessage(messages[-1].text[-400:]))
    chain = create_skr_chain(echo, finds)
    questions = [f"Question {number}?" for number in range(8)]
    answers = await chain.abatch(questions, {"max_concurrency": 3})
    assert peak == together
    assert all(question in answer for question, answer in zip(questions, answers, strict=True))
    together = 8
    await chain.abatch(questions)
    assert peak == together


async def test_one_failure_of_a_batch_can_be_returned() -> None:
    chain = create_skr_chain(FakeListChatModel(responses=["Yes [1]."]), Library())
    good, bad = await chain.abatch([QUESTION, " "], return_exceptions=True)
    assert good == "Yes [1]."
    assert isinstance(bad, InputError)


def test_schemas_and_drawing() -> None:
    chain = create_skr_chain(model(), Library())
    assert chain.OutputType is str
    assert chain.get_output_jsonschema()["type"] == "string"
    configurable = chain.config_schema().model_json_schema()["$defs"]["Configurable"]
    assert sorted(configurable["properties"]) == [
        "abstain_below",
        "arbiter",
        "budget",
        "decompose",
        "instructions",
        "on_retriever_error",
        "reflector",
        "router",
        "when_insufficient",
    ]
    assert chain.get_name() == "skr"
    drawn = (chain | RunnableLambda(str.upper)).get_graph().draw_mermaid()
    assert "follow_up" in drawn
    assert "reflect" in drawn


async def test_threads_of_a_checkpointer_inherit_nothing(say: Say) -> None:
    chain = create_skr_chain(
        FakeListChatModel(responses=["One [1].", "Two [1]."]),
        Library(),
        checkpointer=InMemorySaver(),
    )
    config = {"configurable": {"thread_id": "1"}}
    assert await say(chain, QUESTION, config) == "One [1]."
    assert await say(chain, FURTHER, config) == "Two [1]."


def test_a_chain_cannot_wait_for_a_person() -> None:
    wrong: Any = {"review_queries": True}
    with pytest.raises(TypeError, match="use create_skr_graph"):
        create_skr_chain(model(), Library(), **wrong)


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_inside_a_node_its_answer_streams_with_the_sub_graphs(mode: str) -> None:
    chain: SKRChain = create_skr_chain(model(), Library(), budget=Budget(max_rounds=2))

    def node(state: Any) -> Any:
        return {"messages": [AIMessage(chain.invoke(state["messages"][-1].text))]}

    async def anode(state: Any) -> Any:
        return {"messages": [AIMessage(await chain.ainvoke(state["messages"][-1].text))]}

    builder = StateGraph(MessagesState)
    builder.add_node("ask", RunnableLambda(node, anode))
    builder.add_edge(START, "ask")
    builder.add_edge("ask", END)
    graph = builder.compile()
    given: Any = {"messages": [("user", QUESTION)]}
    options: Any = {"stream_mode": "messages", "subgraphs": True}
    if mode == "sync":
        events = list(graph.stream(given, **options))
    else:
        events = [each async for each in graph.astream(given, **options)]
    texts = [message.text for namespace, (message, _) in events if namespace]
    assert "".join(texts) == ANSWER
