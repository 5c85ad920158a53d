"""LangChain models behind the port: replies, names, ids, and replies of LangChain's own cache."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import (
    BaseChatModel,
    FakeListChatModel,
    FakeListLLM,
    GenericFakeChatModel,
)
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import ConfigurableField, RunnableConfig, RunnableLambda
from langchain_openai import ChatOpenAI
from langgraph.cache.memory import InMemoryCache as NodeCache
from langgraph.errors import GraphInterrupt
from langgraph.graph import END, START, StateGraph
from langgraph.types import CachePolicy
from pydantic import Field
from typing_extensions import TypedDict

from langchain_skr import (
    LangChainModel,
    LangChainRetriever,
    as_language_model,
    as_retriever,
    create_skr_chain,
    load_model,
)
from skr_core import Generation, LanguageModel, Prompt, Usage
from skr_core.errors import InputError, ModelError, install_line
from skr_core.routers import PromptRouter
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_graphs import create_route_node
from tests.langchain_skr.fakes import Library
from tests.servers import OpenAIServer

PROMPT = Prompt("answer_directly", "Capital of France?", "Capital of France?")


Ask = Callable[..., Awaitable[Generation]]


class Recording(BaseChatModel):
    """Async on its own, says what it was sent, and streams word by word."""

    reply: AIMessage = AIMessage("Paris it is")
    error: Any = None
    sent: list[list[BaseMessage]] = Field(default_factory=list)
    threads: set[int] = Field(default_factory=set)

    @property
    def _llm_type(self) -> str:
        return "recording-chat"

    def _note(self, messages: list[BaseMessage]) -> AIMessage:
        self.sent.append(messages)
        self.threads.add(threading.get_ident())
        if self.error is not None:
            raise self.error
        return self.reply

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._note(messages))])

    async def _agenerate(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._note(messages))])

    def _chunks(self, messages: list[BaseMessage]) -> Iterator[ChatGenerationChunk]:
        reply = self._note(messages)
        for word in str(reply.text).split(" "):
            yield ChatGenerationChunk(message=AIMessageChunk(word + "|"))
        last = AIMessageChunk("", usage_metadata=reply.usage_metadata)
        yield ChatGenerationChunk(message=last)

    def _stream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        yield from self._chunks(messages)

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._chunks(messages):
            yield chunk


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Ask:
    async def ask(model: LanguageModel, prompt: Prompt = PROMPT, **kwargs: Any) -> Generation:
        if request.param == "sync":
            return model.generate(prompt, **kwargs)
        return await model.agenerate(prompt, **kwargs)

    return ask


def replying(*replies: AIMessage) -> LangChainModel:
    return LangChainModel(FakeMessagesListChatModel(responses=list(replies)))


async def test_sends_history_in_turn_and_the_text_as_one_human_message(ask: Ask) -> None:
    model = Recording()
    prompt = Prompt("self_complete", "now", "now", history=("hello", "hi", "and"))
    assert (await ask(LangChainModel(model), prompt)).text == "Paris it is"
    assert [(m.type, m.content) for m in model.sent[0]] == [
        ("human", "hello"),
        ("ai", "hi"),
        ("human", "and"),
        ("human", "now"),
    ]


async def test_streams_pieces_that_add_up(ask: Ask) -> None:
    pieces: list[str] = []
    generation = await ask(LangChainModel(Recording()), on_token=pieces.append)
    assert pieces == ["Paris|", "it|", "is|"]
    assert generation.text == "".join(pieces)


async def test_gives_one_piece_where_nothing_streams(ask: Ask) -> None:
    for model in (
        replying(AIMessage("Paris it is")),
        LangChainModel(Recording(), streaming=False),
        LangChainModel(Recording(disable_streaming=True)),
        LangChainModel(Recording().with_retry()),  # retries invoke alone
    ):
        pieces: list[str] = []
        await ask(model, on_token=pieces.append)
        assert pieces == ["Paris it is"]


async def test_joins_text_blocks(ask: Ask) -> None:
    blocks: list[str | dict[Any, Any]] = [
        {"type": "reasoning", "reasoning": "hm"},
        {"type": "text", "text": "Par"},
        {"type": "text", "text": "is"},
    ]
    assert (await ask(replying(AIMessage(blocks)))).text == "Paris"


async def test_completion_models_work_too(ask: Ask) -> None:
    pieces: list[str] = []
    model = LangChainModel(FakeListLLM(responses=["Paris"]))
    assert (await ask(model, on_token=pieces.append)).text == "Paris" == "".join(pieces)


async def test_usage_and_logprobs_are_the_providers(ask: Ask) -> None:
    reply = AIMessage(
        "Paris",
        usage_metadata={"input_tokens": 11, "output_tokens": 2, "total_tokens": 13},
        response_metadata={"logprobs": {"content": [{"token": "Paris", "logprob": -0.5}]}},
    )
    generation = await ask(replying(reply))
    assert generation.usage == Usage(11, 2, calls=1)
    assert (generation.logprobs, generation.tokens) == ((-0.5,), ("Paris",))
    streamed = await ask(LangChainModel(Recording(reply=reply)), on_token=lambda piece: None)
    assert streamed.usage == Usage(11, 2, calls=1)


async def test_usage_is_estimated_where_the_provider_is_silent(ask: Ask) -> None:
    generation = await ask(replying(AIMessage("Paris", response_metadata={"logprobs": None})))
    assert generation.usage.estimated
    assert generation.usage.calls == 1
    assert generation.usage.prompt_tokens > generation.usage.completion_tokens > 0
    assert generation.logprobs is None


@pytest.mark.parametrize("error", [ValueError("bad\n reply"), KeyError("choices"), OSError("gone")])
@pytest.mark.parametrize("on_token", [None, print])
async def test_failures_become_one_line_with_the_cause(
    ask: Ask, error: Exception, on_token: Any
) -> None:
    model = LangChainModel(Recording(error=error), name="mine")
    with pytest.raises(ModelError, match=rf"^mine: {type(error).__name__}: .*$") as caught:
        await ask(model, on_token=on_token)
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is error


async def test_an_exhausted_fake_is_a_model_error_too(ask: Ask) -> None:
    model = LangChainModel(GenericFakeChatModel(messages=iter([])))
    with pytest.raises(ModelError):
        await ask(model)
    with pytest.raises(ModelError):
        await ask(model, on_token=print)


async def test_an_empty_reply_is_an_error(ask: Ask) -> None:
    reply = AIMessage(" \n", response_metadata={"finish_reason": "length"})
    with pytest.raises(
        ModelError, match=r"the model returned an empty reply \(finish reason: length\)$"
    ):
        await ask(replying(reply))


async def test_what_on_token_raises_is_not_the_models_fault(ask: Ask) -> None:
    def hang_up(piece: str) -> None:
        raise ConnectionResetError(piece)

    for streaming in (True, False):
        with pytest.raises(ConnectionResetError):
            await ask(LangChainModel(Recording(), streaming=streaming), on_token=hang_up)


async def test_something_else_than_a_message_is_an_error(ask: Ask) -> None:
    with pytest.raises(ModelError, match="returned int, not a message"):
        await ask(LangChainModel(RunnableLambda(lambda messages: 5)))


@pytest.mark.parametrize("on_token", [None, lambda piece: None])
def test_an_interrupt_passes(on_token: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        LangChainModel(Recording(error=KeyboardInterrupt())).generate(PROMPT, on_token=on_token)


@pytest.mark.parametrize("on_token", [None, lambda piece: None])
async def test_a_cancellation_passes(on_token: Any) -> None:
    async def wait(messages: Any) -> AIMessage:
        await asyncio.Event().wait()
        return AIMessage("never")

    model = LangChainModel(RunnableLambda(wait))
    task = asyncio.ensure_future(model.agenerate(PROMPT, on_token=on_token))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_graphs_interrupt_passes(ask: Ask) -> None:
    with pytest.raises(GraphInterrupt):
        await ask(LangChainModel(Recording(error=GraphInterrupt())))


async def test_awaiting_starts_no_thread() -> None:
    model = Recording()
    await LangChainModel(model).agenerate(PROMPT)
    await LangChainModel(model).agenerate(PROMPT, on_token=lambda piece: None)
    assert model.threads == {threading.get_ident()}


class State(TypedDict, total=False):
    question: str
    text: str


class Starts(BaseCallbackHandler):
    run_inline = True

    def __init__(self) -> None:
        self.seen: list[tuple[list[str], dict[str, Any]]] = []

    def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
        self.seen.append((kwargs["tags"], kwargs["metadata"]))


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_in_a_graph_inner_calls_are_hidden_and_tokens_arrive(version: Any, mode: str) -> None:
    inner = LangChainModel(GenericFakeChatModel(messages=iter(["inner words"])))
    outer = GenericFakeChatModel(messages=iter(["outer words"]))
    pieces: list[str] = []

    def node(state: State) -> State:
        text = inner.generate(PROMPT, on_token=pieces.append).text
        outer.invoke("hello")
        return {"text": text}

    async def anode(state: State) -> State:
        text = (await inner.agenerate(PROMPT, on_token=pieces.append)).text
        await outer.ainvoke("hello")
        return {"text": text}

    builder = StateGraph(State)
    builder.add_node("answer", RunnableLambda(node, anode))
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    graph = builder.compile()
    starts = Starts()
    options: Any = {
        "config": {"callbacks": [starts]},
        "stream_mode": "messages",
        "version": version,
    }
    if mode == "sync":
        events: list[Any] = list(graph.stream({"question": "?"}, **options))
    else:
        events = [event async for event in graph.astream({"question": "?"}, **options)]
    shown = [event["data"][0] if version == "v2" else event[0] for event in events]
    assert "".join(message.content for message in shown) == "outer words"
    assert pieces == ["inner", " ", "words"]
    tags, metadata = starts.seen[0]
    assert {"nostream", "skr:answer_directly"} <= set(tags)
    assert metadata["skr_task"] == "answer_directly"
    assert metadata["langgraph_node"] == "answer"  # nested without any config passed


def test_names() -> None:
    class Named(Recording):
        model_name: str = "gpt-4.1-mini"

    assert LangChainModel(Named()).name == "recording:gpt-4.1-mini"
    assert LangChainModel(Named().bind(stop=["x"]).with_retry()).name == "recording:gpt-4.1-mini"
    assert LangChainModel(Named().with_fallbacks([Recording()])).name == "recording:gpt-4.1-mini"
    assert LangChainModel(Recording()).name == "recording"
    assert LangChainModel(Recording(), name="mine").name == "mine"
    assert isinstance(LangChainModel(Recording()), LanguageModel)


def test_coercions_pass_ports_through_and_refuse_the_rest() -> None:
    model = LangChainModel(Recording())
    retriever = LangChainRetriever(Library())
    assert as_language_model(model) is model
    assert as_retriever(retriever) is retriever
    # A chat model has `generate`, `agenerate` and `name`, and is no LanguageModel all the same.
    assert isinstance(as_language_model(FakeListChatModel(responses=["x"])), LangChainModel)
    for wrong in (None, 5, Library()):
        with pytest.raises(InputError, match="a model is wanted"):
            as_language_model(wrong)
    for wrong in (None, "x", FakeListChatModel(responses=["x"])):
        with pytest.raises(InputError, match="a retriever is wanted"):
            as_retriever(wrong)


@pytest.fixture
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("no_key")
@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("openai:gpt-4.1-mini", "openai:gpt-4.1-mini"),
        ("llama-3.1-8b", "openai:llama-3.1-8b"),
        ("mistral-7b", "openai:mistral-7b"),
        ("qwen3:8b", "openai:qwen3:8b"),
        ("openai:mistral:7b", "openai:mistral:7b"),
    ],
)
def test_a_server_of_ones_own_needs_no_key(spec: str, name: str) -> None:
    assert as_language_model(spec, base_url="http://127.0.0.1:9/v1").name == name


@pytest.mark.usefixtures("no_key")
def test_the_server_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert load_model("openai:gpt-4.1-mini", temperature=None).name == "openai:gpt-4.1-mini"


@pytest.mark.usefixtures("no_key")
@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("openai:gpt-4.1-mini", "OPENAI_API_KEY"),
        ("nonsense", "provider:model"),
        ("nobody:model", "provider:model"),
        ("groq:llama", "pip install langchain-groq"),
    ],
)
def test_an_unusable_id_is_an_input_error_of_one_line(spec: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        load_model(spec)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("no_key")
def test_log_probabilities_are_asked_for_where_there_are_any() -> None:
    server = {"base_url": "http://127.0.0.1:9/v1"}
    asking, silent = load_model("m", **server, logprobs=True), load_model("m", **server)
    assert isinstance(asking, LangChainModel)
    assert isinstance(silent, LangChainModel)
    assert (asking.model.logprobs, silent.model.logprobs) == (True, None)  # type: ignore[attr-defined]
    assert asking.name == silent.name
    with pytest.raises(InputError, match="'extractive' has no log-probabilities"):
        load_model("extractive", logprobs=True)


def test_a_model_without_log_probabilities_is_not_asked_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("langchain.chat_models.init_chat_model", lambda *_, **__: Recording())
    with pytest.raises(InputError, match="'other:model' has no log-probabilities"):
        load_model("other:model", logprobs=True)


def test_without_langchain_the_adapters_import_and_an_id_says_what_to_install() -> None:
    code = """
import sys
sys.modules["langchain"] = None
from langchain_skr import as_language_model
heavy = {"torch", "transformers", "chromadb", "openai"} & set(sys.modules)
assert not heavy, heavy
try:
    as_language_model("openai:gpt-4.1-mini")
except ImportError as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=150
    )
    assert done.stdout.startswith("MissingDependency langchain")
    assert done.stdout.endswith(f"is not installed: run  {install_line('openai')}\n")


SEARCH = MappingRetriever({"Capital?": ["Paris is the capital of France."]})


def chat(server: OpenAIServer, **options: Any) -> ChatOpenAI:
    return ChatOpenAI(model="tiny", base_url=server.url, api_key="none", **options)


@pytest.mark.parametrize("awaited", [False, True])
def test_a_chain_asks_nothing_twice(awaited: bool) -> None:
    cache = InMemoryCache()
    for _ in range(2):  # another chain, the same cache
        replies = ["SUFFICIENT\nIt is Paris [1].", "SUFFICIENT\nNo [1]."]
        chain = create_skr_chain(FakeListChatModel(responses=replies, cache=cache), SEARCH)
        for _ in range(2):
            said = asyncio.run(chain.ainvoke("Capital?")) if awaited else chain.invoke("Capital?")
            assert said == "It is Paris [1]."


def test_settings_tell_models_apart() -> None:
    def chat(**options: Any) -> ChatOpenAI:
        return ChatOpenAI(model="tiny", api_key="sk-secret", **options)

    cold, other = chat(temperature=0), chat(base_url="http://127.0.0.1:9/v1")
    models: list[Any] = [
        cold,
        chat(temperature=1),
        chat(max_tokens=5),
        cold.bind(stop=["."]),
        other,
    ]
    versions = [LangChainModel(each).version for each in models]
    assert len({*versions}) == len(models)
    assert versions[0] == LangChainModel(chat(temperature=0)).version
    assert "sk-secret" not in " ".join(versions)


def test_a_completion_model_and_fallbacks_have_settings() -> None:
    one, other = FakeListLLM(responses=["a"]), FakeListLLM(responses=["b"])
    models: list[Any] = [one, other, one.with_fallbacks([one]), one.with_fallbacks([other])]
    assert len({LangChainModel(each).version for each in models}) == len(models)


def test_a_model_that_a_runs_config_chooses_is_another() -> None:
    warm = FakeListChatModel(responses=["a"]).configurable_fields(
        responses=ConfigurableField(id="said")
    )
    model = LangChainModel(warm)
    versions = []

    def look(_: object, config: RunnableConfig) -> None:
        versions.append(model.version)

    for said, thread in (("a", "1"), ("b", "1"), ("b", "2")):
        RunnableLambda(look).invoke(None, {"configurable": {"said": said, "thread_id": thread}})
    assert versions[0] != versions[1] == versions[2]


@pytest.mark.parametrize("awaited", [False, True])
def test_what_langchains_own_cache_replied_is_counted_apart(awaited: bool) -> None:
    with OpenAIServer() as server:
        model = LangChainModel(chat(server, cache=InMemoryCache()))

        def ask():
            return asyncio.run(model.agenerate(PROMPT)) if awaited else model.generate(PROMPT)

        first, second = ask(), ask()
        assert server.calls == 1
        assert first.usage.calls == 1
        assert second.usage == first.usage.from_cache()


def test_a_route_node_takes_langgraphs_cache_policy() -> None:
    class State(TypedDict, total=False):
        question: str
        decision: dict[str, Any]

    model = ScriptedModel(["No, I do not.", "Yes, I know."])
    builder = StateGraph(State)
    builder.add_node("route", create_route_node(PromptRouter(model)), cache_policy=CachePolicy())
    builder.add_edge(START, "route")
    graph = builder.compile(cache=NodeCache())
    first, second = (graph.invoke({"question": "Who?"}) for _ in range(2))
    assert first == second
    assert len(model.prompts) == 1
