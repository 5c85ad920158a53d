"""Replies as real models write them, through a socket, in both plug-ins and in every colour."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from pydantic import PrivateAttr

from langchain_skr import create_skr_graph
from langchain_skr import load_model as load_for_langchain
from llamaindex_skr import SKRQueryEngine, SKRRetractEvent
from llamaindex_skr import load_model as load_for_llamaindex
from skr_core import Budget
from skr_core.errors import RetrieverError
from skr_core.prompts import QUERY_LEAD, REFUSAL
from skr_graphs import SKRContext
from tests.servers import Messages, OpenAIServer

pytestmark = pytest.mark.integration

QUESTION = "Where was the director of Jaws born?"
FOLLOW_UP = "Steven Spielberg birthplace"
JAWS = "Jaws was directed by Steven Spielberg."
BORN = "Steven Spielberg was born in Cincinnati, Ohio."
ANSWER = "Steven Spielberg directed Jaws [1]. He was born in Cincinnati [2]."
FOUND = {QUESTION: [JAWS], FOLLOW_UP: [BORN]}
FROM_MEMORY = "Cincinnati, as far as I know."

Find = Callable[[str], list[str]]


@dataclass
class Told:
    """What a run said, whichever plug-in it was of."""

    text: str = ""
    about: dict[str, Any] = field(default_factory=dict)
    tokens: list[str] = field(default_factory=list)
    retracts: int = 0

    @property
    def queries(self) -> list[list[str]]:
        return [list(each["queries"]) for each in self.about["rounds"]]


Ask = Callable[..., Awaitable[Told]]


class Search(BaseRetriever):
    """LlamaIndex's retriever of a function; awaits for itself."""

    def __init__(self, find: Find) -> None:
        super().__init__()
        self.find = find

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self.find(query_bundle.query_str)
        return [NodeWithScore(node=TextNode(text=text), score=0.5) for text in found]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._retrieve(query_bundle)


class Retracts(BaseEventHandler):
    """Counts what a streamed answer of LlamaIndex takes back."""

    _seen: list[BaseEvent] = PrivateAttr(default_factory=list)

    def handle(self, event: BaseEvent, **kwargs: Any) -> None:
        if isinstance(event, SKRRetractEvent):
            self._seen.append(event)

    @property
    def number(self) -> int:
        return len(self._seen)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(keep_alive=False) as server:
        yield server


@pytest.fixture(params=["sync", "async", "sync stream", "async stream"])
def colour(request: pytest.FixtureRequest) -> str:
    colour: str = request.param
    return colour


@pytest.fixture(params=["langchain", "llamaindex"])
async def ask(
    request: pytest.FixtureRequest, colour: str, server: OpenAIServer
) -> AsyncIterator[Ask]:
    """Asks one of the plug-ins in one of four ways, over a model behind the server."""
    if request.param == "langchain":
        chat: Any = load_for_langchain("openai:test", base_url=server.url)

        async def ask_graph(find: Find, question: str = QUESTION, **options: Any) -> Told:
            search = RunnableLambda(lambda query: [Document(text) for text in find(query)])
            return await _ask_graph(create_skr_graph(chat, search, **options), question, colour)

        yield ask_graph
        chat.model.root_client.close()
        await chat.model.root_async_client.close()
    else:
        llm: Any = load_for_llamaindex("openai:test", base_url=server.url)
        retracts = Retracts()
        get_dispatcher().add_event_handler(retracts)

        async def ask_engine(find: Find, question: str = QUESTION, **options: Any) -> Told:
            engine = SKRQueryEngine.from_defaults(
                Search(find), llm=llm, streaming="stream" in colour, **options
            )
            told = await _ask_engine(engine, question, colour)
            told.retracts = retracts.number
            return told

        yield ask_engine
        get_dispatcher().event_handlers.remove(retracts)
        llm.llm._get_client().close()
        await llm.llm._get_aclient().close()


async def _ask_graph(graph: Any, question: str, colour: str) -> Told:
    given = {"question": question}
    if colour == "sync":
        output = await asyncio.to_thread(graph.invoke, given)
        return Told(output["answer"], output)
    if colour == "async":
        output = await graph.ainvoke(given)
        return Told(output["answer"], output)
    how: Any = {"context": SKRContext(stream=True), "stream_mode": ["custom", "values"]}
    if colour == "sync stream":
        chunks = await asyncio.to_thread(lambda: list(graph.stream(given, **how)))
    else:
        chunks = [chunk async for chunk in graph.astream(given, **how)]
    output = [chunk for mode, chunk in chunks if mode == "values"][-1]
    events = [chunk for mode, chunk in chunks if mode == "custom"]
    return Told(
        output["answer"],
        output,
        [event["text"] for event in events if event["type"] == "token"],
        sum(event["type"] == "retract" for event in events),
    )


async def _ask_engine(engine: SKRQueryEngine, question: str, colour: str) -> Told:
    response: Any
    tokens: list[str] = []
    if colour.startswith("sync"):
        response = await asyncio.to_thread(engine.query, question)
    else:
        response = await engine.aquery(question)
    if colour == "sync stream":
        tokens = await asyncio.to_thread(list, response.response_gen)
    elif colour == "async stream":
        tokens = [token async for token in response.async_response_gen()]
    text = response.response_txt if "stream" in colour else response.response
    return Told(text, response.metadata, tokens)


def find(query: str) -> list[str]:
    return FOUND.get(query, [])


def one_reply_says_it_all(messages: Messages) -> str:
    prompt = messages[-1]["content"]
    if QUERY_LEAD in prompt:
        return f"{QUERY_LEAD} {FOLLOW_UP}"
    if BORN in prompt:
        return f"SUFFICIENT\n{ANSWER}"
    return f"INSUFFICIENT\nSteven Spielberg directed Jaws [1].\nSearch: {FOLLOW_UP}"


async def test_one_reply_says_it_all(ask: Ask, server: OpenAIServer) -> None:
    server.reply = one_reply_says_it_all
    told = await ask(find)
    assert told.text == ANSWER
    assert told.queries == [[QUESTION], [FOLLOW_UP]]
    assert told.about["stop_reason"] == "sufficient"
    assert told.about["grounded"] is True
    assert server.calls == 2


async def test_a_retriever_that_is_down_is_an_error(ask: Ask, server: OpenAIServer) -> None:
    def broken(query: str) -> list[str]:
        raise ConnectionError("the library is down")

    with pytest.raises(RetrieverError, match="the library is down") as caught:
        await ask(broken)
    assert "\n" not in str(caught.value)
    assert server.calls == 0


async def test_an_empty_first_search_is_searched_again(ask: Ask, server: OpenAIServer) -> None:
    answer = "He was born in Cincinnati [1]."

    def reply(messages: Messages) -> str:
        return one_reply_says_it_all(messages).replace(ANSWER, answer)

    server.reply = reply
    told = await ask(lambda query: [BORN] if query == FOLLOW_UP else [])
    assert told.text == answer
    assert told.queries == [[QUESTION], [FOLLOW_UP]]
    assert told.about["grounded"] is True
    assert server.calls == 2


@pytest.mark.parametrize(
    ("when_insufficient", "said", "calls"),
    [
        ("best_draft", f"{REFUSAL}.", 3),
        ("own_knowledge", FROM_MEMORY, 4),
        ("refuse", f"{REFUSAL}.", 3),
    ],
)
async def test_a_model_that_always_refuses_ends_within_its_budget(
    ask: Ask, server: OpenAIServer, when_insufficient: str, said: str, calls: int
) -> None:
    numbers = count()

    def refuse(messages: Messages) -> str:
        if "internal knowledge" in messages[-1]["content"]:
            return FROM_MEMORY
        return f"INSUFFICIENT\nSearch: Spielberg biography volume {next(numbers)}"

    server.reply = refuse
    told = await ask(
        lambda query: [f"A passage about {query}"],
        budget=Budget(max_rounds=3),
        when_insufficient=when_insufficient,
    )
    assert told.text == said
    assert told.about["stop_reason"] == "max_rounds"
    assert told.about["grounded"] is False
    assert len(told.queries) == 3
    assert server.calls == calls


@pytest.mark.parametrize(
    ("question", "follow_up", "passages", "refusal", "answer"),
    [
        (
            "Wo wurde der Regisseur des Films „Der weiße Hai“ geboren?",
            "Steven Spielberg Geburtsort",
            (
                "„Der weiße Hai“ ist ein Film von Steven Spielberg.",
                "Steven Spielberg wurde in Cincinnati geboren.",
            ),
            "Die Quellen nennen den Geburtsort des Regisseurs nicht.",
            "Der Regisseur ist Steven Spielberg [1]. Er wurde in Cincinnati geboren [2].",
        ),
        (
            "电影《大白鲨》的导演在哪里出生？",
            "史蒂文·斯皮尔伯格 出生地",
            ("《大白鲨》由史蒂文·斯皮尔伯格执导。", "史蒂文·斯皮尔伯格出生于辛辛那提。"),
            "参考资料没有提到导演的出生地。",
            "导演是史蒂文·斯皮尔伯格[1]。他出生于辛辛那提[2]。",
        ),
    ],
    ids=["German", "Chinese"],
)
async def test_other_languages(
    ask: Ask,
    server: OpenAIServer,
    question: str,
    follow_up: str,
    passages: tuple[str, str],
    refusal: str,
    answer: str,
) -> None:
    def reply(messages: Messages) -> str:
        if passages[1] in messages[-1]["content"]:
            return f"SUFFICIENT\n{answer}"
        return f"INSUFFICIENT\n{refusal}\nSearch: {follow_up}"

    server.reply = reply
    found = {question: [passages[0]], follow_up: [passages[1]]}
    told = await ask(lambda query: found.get(query, []), question)
    assert told.text == answer
    assert told.queries == [[question], [follow_up]]
    assert told.about["rounds"][0]["draft"] == ""
    assert told.about["stop_reason"] == "sufficient"
    assert told.about["grounded"] is True
    assert [each["marker"] for each in told.about["citations"]] == [1, 2]
    assert "".join(told.tokens) in ("", answer)
    assert server.calls == 2


async def test_what_a_model_thinks_aloud_is_no_verdict_and_no_answer(
    ask: Ask, server: OpenAIServer, colour: str
) -> None:
    def think(messages: Messages) -> str:
        reply = one_reply_says_it_all(messages)
        other = "INSUFFICIENT" if reply.startswith("SUFFICIENT") else "SUFFICIENT"
        return f"<think>\n{other}\nIt may be [1].\nSearch: whales\n</think>\n\n{reply}"

    server.reply = think
    told = await ask(find)
    assert told.text == ANSWER
    assert told.queries == [[QUESTION], [FOLLOW_UP]]
    assert told.about["grounded"] is True
    assert "".join(told.tokens) == (ANSWER if "stream" in colour else "")
    assert told.retracts == 0


@pytest.mark.parametrize("colour", ["sync stream", "async stream"], indirect=True)
async def test_the_first_token_comes_behind_the_verdict(ask: Ask, server: OpenAIServer) -> None:
    server.reply = one_reply_says_it_all
    told = await ask(find)
    first, *others = told.tokens
    assert first
    assert ANSWER.startswith(first)
    assert len(others) > 5
    assert "".join(told.tokens) == told.text == ANSWER
    assert not any("SUFFICIENT" in token for token in told.tokens)
    assert told.retracts == 0
