"""The chain in a conversation: its inputs, a thread of its own, and LangChain's histories."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory
from langgraph.checkpoint.memory import InMemorySaver

from langchain_skr import create_skr_chain
from skr_core.errors import InputError

FIRST = "What is the capital of France?"
LEANING = "And its river?"
ALONE = "Which river flows through Paris?"
HISTORY = [HumanMessage(FIRST), AIMessage("Paris [1].")]
CONFIG: Any = {"configurable": {"session_id": "ada"}}


class World:
    """A chat model that notes what it is sent, and a retriever that notes what is searched."""

    def __init__(self) -> None:
        self.sent: list[list[BaseMessage]] = []
        self.queries: list[str] = []
        self.model: Any = RunnableLambda(self._reply)
        self.retriever = RunnableLambda(self._search)

    def _reply(self, messages: list[BaseMessage]) -> AIMessage:
        self.sent.append(messages)
        if "Standalone question:" in messages[-1].text:
            return AIMessage(f"<think>its = Paris</think>**Standalone question:** {ALONE}")
        return AIMessage("SUFFICIENT\nThe Seine [1].")

    def _search(self, query: str) -> list[Document]:
        self.queries.append(query)
        return [Document(f"All about: {query}")]

    def chain(self, **options: Any) -> Any:
        return create_skr_chain(self.model, self.retriever, **options)


@pytest.fixture(params=["invoke", "ainvoke", "stream", "astream", "batch", "abatch"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def say(way: str, chain: Any, asked: Any, config: Any = None) -> str:
    if way == "invoke":
        return str(await asyncio.to_thread(chain.invoke, asked, config))
    if way == "ainvoke":
        return str(await chain.ainvoke(asked, config))
    if way == "stream":
        return await asyncio.to_thread(lambda: "".join(chain.stream(asked, config)))
    if way == "astream":
        return "".join([piece async for piece in chain.astream(asked, config)])
    if way == "batch":
        return str((await asyncio.to_thread(chain.batch, [asked], config))[0])
    return str((await chain.abatch([asked], config))[0])


@pytest.mark.parametrize(
    "asked",
    [
        {"question": LEANING, "history": HISTORY},
        {"question": HumanMessage(LEANING), "history": [("user", FIRST), ("ai", "Paris [1].")]},
        {"messages": [*HISTORY, HumanMessage(LEANING)]},
        {"messages": [{"role": "user", "content": LEANING}], "history": HISTORY},
        [*HISTORY, ("user", LEANING)],
        {"input": LEANING, "chat_history": HISTORY},
    ],
    ids=["history", "message", "messages", "messages and history", "a list", "langchain's keys"],
)
async def test_a_conversation_as_input(way: str, asked: Any) -> None:
    world = World()
    assert await say(way, world.chain(), asked) == "The Seine [1]."
    assert world.queries == [ALONE]
    *turns, prompt = world.sent[-1]
    assert [(each.type, each.text) for each in turns] == [("human", FIRST), ("ai", "Paris.")]
    assert f"Question: {LEANING}" in prompt.text
    assert FIRST not in prompt.text, "turns are messages, not prose"


async def test_a_thread_of_its_own_remembers(way: str) -> None:
    world = World()
    chain = world.chain(checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    await say(way, chain, FIRST, thread)
    await say(way, chain, LEANING, thread)
    assert world.queries == [FIRST, ALONE]


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"query": FIRST}, r"question \(or input\) or messages, and history.*among 'query'"),
        ({"question": FIRST, "histroy": []}, "no 'histroy': 'history' is meant, perhaps"),
        ({"question": 5}, "the question is int"),
        ({"history": HISTORY}, "no question among 'history'"),
        ([], "the question is empty"),
        (5, "this is int"),
    ],
)
async def test_what_has_no_question_or_a_misspelt_key_is_refused(
    way: str, wrong: Any, match: str
) -> None:
    with pytest.raises(InputError, match=match):
        await say(way, World().chain(), wrong)


async def test_keys_of_names_like_those_that_are_given_are_left_alone(way: str) -> None:
    given = {"question": FIRST, "questions": 3, "message": "hi", "history": [], "chat_histories": 2}
    assert await say(way, World().chain(), given) == await say(way, World().chain(), FIRST)


@pytest.mark.parametrize("asked", [[*HISTORY, ("user", LEANING)], {"input": LEANING}])
async def test_with_sources_it_echoes_what_it_was_asked_with(asked: Any) -> None:
    world = World()
    chain = world.chain(return_sources=True)
    given = {**asked, "chat_history": HISTORY} if isinstance(asked, dict) else asked
    whole = await chain.ainvoke(given)
    assert whole["answer"] == "The Seine [1]."
    assert [each.page_content for each in whole["context"]] == [f"All about: {ALONE}"]
    assert whole | (given if isinstance(given, dict) else {"messages": given}) == whole
    pieces = await asyncio.to_thread(lambda: list(chain.stream(given)))
    assert sum(pieces[1:], pieces[0]) == {**whole, "run_id": pieces[-1]["run_id"]}


KEYS: list[dict[str, Any]] = [
    {"input_messages_key": "question", "history_messages_key": "history"},
    {"input_messages_key": "messages", "history_messages_key": "history"},
    {"input_messages_key": "input", "history_messages_key": "chat_history"},
    {"input_messages_key": "messages"},
    {},
]


# It is deprecated, and used.
@pytest.mark.filterwarnings("ignore:.*History.*deprecated")
@pytest.mark.parametrize("keys", KEYS, ids=["question", "both", "input", "messages", "none"])
async def test_runnable_with_message_history(
    way: str, keys: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    world, kept = World(), InMemoryChatMessageHistory()
    chain: Any = RunnableWithMessageHistory(world.chain(), lambda session_id: kept, **keys)

    def asked(text: str) -> Any:
        name = keys.get("input_messages_key")
        messages = [HumanMessage(text)]
        return messages if name is None else {name: messages if name == "messages" else text}

    with caplog.at_level(logging.WARNING):
        assert await say(way, chain, asked(FIRST), CONFIG) == "The Seine [1]."
        assert await say(way, chain, asked(LEANING), CONFIG) == "The Seine [1]."
    logged = [record.getMessage() for record in caplog.records]
    assert [each for each in logged if "Error" in each] == []
    assert [(each.type, each.text) for each in kept.messages] == [
        ("human", FIRST),
        ("ai", "The Seine [1]."),
        ("human", LEANING),
        ("ai", "The Seine [1]."),
    ]
    assert world.queries == [FIRST, ALONE]
    assert [each.text for each in world.sent[-1][:-1]] == [FIRST, "The Seine."]


def _agent(world: World, **options: Any) -> Any:
    from langchain.agents import create_agent
    from langchain_core.language_models import FakeListChatModel

    from langchain_skr import SKRMiddleware

    middleware: Any = SKRMiddleware(retriever=world.retriever, **options)
    model = FakeListChatModel(responses=["Paris [1].", "The Seine [2]."])
    return create_agent(model, middleware=[middleware], checkpointer=InMemorySaver())


async def _tell(way: str, agent: Any, text: str) -> Any:
    given, thread = {"messages": [("user", text)]}, {"configurable": {"thread_id": "1"}}
    if way == "ainvoke":
        return await agent.ainvoke(given, thread)
    return await asyncio.to_thread(agent.invoke, given, thread)


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
async def test_an_agent_s_middleware_searches_what_is_meant(way: str) -> None:
    world = World()
    agent = _agent(world, model=world.model)
    first = await _tell(way, agent, FIRST)
    assert first["skr_question"] == FIRST
    state = await _tell(way, agent, LEANING)
    assert world.queries == [FIRST, ALONE]
    assert len(world.sent) == 1, "one call, and only where it is needed"
    assert state["skr_question"] == ALONE
    assert state["skr_decision"]["usage"]["calls"] == 1
    assert [each["text"] for each in state["skr_references"]] == [f"All about: {ALONE}"]


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
async def test_a_middleware_without_a_model_searches_what_was_said(way: str) -> None:
    world = World()
    agent = _agent(world)
    await _tell(way, agent, FIRST)
    state = await _tell(way, agent, LEANING)
    assert world.queries == [FIRST, LEANING]
    assert state["skr_question"] == LEANING


@pytest.mark.filterwarnings("ignore:.*History.*deprecated")
@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])
async def test_a_history_around_a_chain_with_sources(
    way: str, caplog: pytest.LogCaptureFixture
) -> None:
    """With the keys that ``create_retrieval_chain`` is wrapped with."""
    world, kept = World(), InMemoryChatMessageHistory()
    chain: Any = RunnableWithMessageHistory(
        world.chain(return_sources=True),
        lambda session_id: kept,
        input_messages_key="input",
        history_messages_key="chat_history",
        output_messages_key="answer",
    )
    with caplog.at_level(logging.WARNING):
        for text in (FIRST, LEANING):
            asked = ({"input": text}, CONFIG)
            if way == "invoke":
                pieces = [await asyncio.to_thread(chain.invoke, *asked)]
            elif way == "ainvoke":
                pieces = [await chain.ainvoke(*asked)]
            elif way == "stream":
                pieces = await asyncio.to_thread(lambda: list(chain.stream(*asked)))  # noqa: B023
            else:
                pieces = [each async for each in chain.astream(*asked)]
            assert sum(pieces[1:], pieces[0])["answer"] == "The Seine [1]."
    logged = [record.getMessage() for record in caplog.records]
    assert [each for each in logged if "Error" in each] == []
    assert [each.text for each in kept.messages] == [
        *(FIRST, "The Seine [1]."),
        *(LEANING, "The Seine [1]."),
    ]
    assert world.queries == [FIRST, ALONE]
