from __future__ import annotations

import asyncio
import math
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata
from llama_index.core.llms import CustomLLM, MockLLM
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from pydantic import Field

from llamaindex_skr.adapters import (
    LlamaIndexModel,
    LlamaIndexRetriever,
    as_language_model,
    as_retriever,
)
from llamaindex_skr.models import load_model, openai_like
from llamaindex_skr.nodes import to_node
from skr_core.errors import InputError, ModelError, RetrieverError
from skr_core.ports import LanguageModel, Retriever
from skr_core.types import Generation, Prompt, Reference, Usage

PROMPT = Prompt("answer_directly", "Capital of France?", "Capital of France?")
Ask = Callable[..., Awaitable[Generation]]


class Scripted(MockLLM):
    """Sends back the responses given, one a chat or one a chunk, and notes what it was sent."""

    responses: list[Any] = Field(default_factory=list)
    sent: list[Any] = Field(default_factory=list)

    def __init__(self, responses: list[Any]) -> None:
        super().__init__()
        self.responses = responses

    def _next(self, messages: Sequence[ChatMessage]) -> list[ChatResponse]:
        self.sent.append([(message.role.value, message.content) for message in messages])
        for response in self.responses:
            if isinstance(response, BaseException):
                raise response
        return self.responses

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return self._next(messages)[0]

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return self._next(messages)[0]

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Any:
        return iter(self._next(messages))

    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Any:
        async def chunks() -> Any:
            for chunk in self._next(messages):
                yield chunk

        return chunks()


def response(text: str, **kwargs: Any) -> ChatResponse:
    return ChatResponse(message=ChatMessage(text, role="assistant"), **kwargs)


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Ask:
    async def ask(model: LanguageModel, prompt: Prompt = PROMPT, **kwargs: Any) -> Generation:
        if request.param == "sync":
            return model.generate(prompt, **kwargs)
        return await model.agenerate(prompt, **kwargs)

    return ask


@pytest.fixture(params=["sync", "async"])
def find(request: pytest.FixtureRequest) -> Callable[..., Awaitable[list[Reference]]]:
    async def find(retriever: Retriever, query: str = "Paris") -> list[Reference]:
        if request.param == "sync":
            return list(retriever.retrieve(query))
        return list(await retriever.aretrieve(query))

    return find


async def test_sends_history_in_turn_and_the_text_as_one_user_message(ask: Ask) -> None:
    llm = Scripted(responses=[response("Paris")])
    prompt = Prompt("self_complete", "now", "now", history=("hello", "hi"))
    assert (await ask(LlamaIndexModel(llm), prompt)).text == "Paris"
    assert llm.sent == [[("user", "hello"), ("assistant", "hi"), ("user", "now")]]


async def test_stock_fake(ask: Ask) -> None:
    generation = await ask(LlamaIndexModel(MockLLM(max_tokens=3)))
    assert generation.text == "text text text"
    assert generation.usage.estimated
    assert generation.logprobs is None


async def test_streams_pieces_that_add_up_when_built_to(ask: Ask) -> None:
    pieces: list[str] = []
    model = LlamaIndexModel(MockLLM(max_tokens=3), streaming=True)
    generation = await ask(model, on_token=pieces.append)
    assert pieces == ["text ", "text ", "text"]
    assert generation.text == "text text text"


async def test_gives_one_piece_otherwise(ask: Ask) -> None:
    pieces: list[str] = []
    await ask(LlamaIndexModel(MockLLM(max_tokens=3)), on_token=pieces.append)
    assert pieces == ["text text text"]


@pytest.mark.parametrize(
    "given",
    [
        {"additional_kwargs": {"prompt_tokens": 11, "completion_tokens": 2}},
        {"raw": SimpleNamespace(usage=SimpleNamespace(prompt_tokens=11, completion_tokens=2))},
        {"raw": {"usage": {"input_tokens": 11, "output_tokens": 2}}},
    ],
)
async def test_usage_is_the_providers(ask: Ask, given: dict[str, Any]) -> None:
    generation = await ask(LlamaIndexModel(Scripted(responses=[response("Paris", **given)])))
    assert generation.usage == Usage(11, 2, calls=1)
    chunks = [response("Paris", delta="Paris"), response("Paris", delta="", **given)]
    model = LlamaIndexModel(Scripted(responses=chunks), streaming=True)
    assert (await ask(model, on_token=lambda piece: None)).usage == Usage(11, 2, calls=1)


@pytest.mark.parametrize("raw", [None, "text", {"usage": None}, {"usage": {"prompt_tokens": 0}}])
async def test_usage_is_estimated_where_the_provider_is_silent(ask: Ask, raw: Any) -> None:
    generation = await ask(LlamaIndexModel(Scripted(responses=[response("Paris", raw=raw)])))
    assert generation.usage.estimated
    assert generation.usage.calls == 1


async def test_logprobs(ask: Ask) -> None:
    raw = {"choices": [{"logprobs": {"content": [{"token": "Paris", "logprob": -0.5}]}}]}
    generation = await ask(LlamaIndexModel(Scripted(responses=[response("Paris", raw=raw)])))
    assert generation.logprobs == (-0.5,)


@pytest.mark.parametrize("error", [ValueError("bad\n reply"), KeyError("choices"), OSError("gone")])
@pytest.mark.parametrize("on_token", [None, print])
async def test_failures_become_one_line_with_the_cause(
    ask: Ask, error: Exception, on_token: Any
) -> None:
    model = LlamaIndexModel(Scripted(responses=[error]), name="mine", streaming=True)
    with pytest.raises(ModelError, match=rf"^mine: {type(error).__name__}: .*$") as caught:
        await ask(model, on_token=on_token)
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is error


async def test_an_empty_reply_is_an_error(ask: Ask) -> None:
    with pytest.raises(ModelError, match="the model returned an empty reply"):
        await ask(LlamaIndexModel(Scripted(responses=[response(" ")])))


async def test_what_on_token_raises_is_not_the_models_fault(ask: Ask) -> None:
    def hang_up(piece: str) -> None:
        raise ConnectionResetError(piece)

    for streaming in (True, False):
        model = LlamaIndexModel(Scripted(responses=[response("x", delta="x")]), streaming=streaming)
        with pytest.raises(ConnectionResetError):
            await ask(model, on_token=hang_up)


def test_an_interrupt_passes() -> None:
    with pytest.raises(KeyboardInterrupt):
        LlamaIndexModel(Scripted(responses=[KeyboardInterrupt()])).generate(PROMPT)


async def test_a_cancellation_passes() -> None:
    with pytest.raises(asyncio.CancelledError):
        await LlamaIndexModel(Scripted(responses=[asyncio.CancelledError()])).agenerate(PROMPT)


def test_names() -> None:
    class Named(MockLLM):
        @classmethod
        def class_name(cls) -> str:
            return "OpenAILike"

        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata(model_name="gpt-4.1-mini")

    assert LlamaIndexModel(Named()).name == "openai:gpt-4.1-mini"
    assert LlamaIndexModel(Named(), name="mine").name == "mine"
    assert isinstance(LlamaIndexModel(Named()), LanguageModel)

    class OnTheShelf(MockLLM):
        @classmethod
        def class_name(cls) -> str:
            return CustomLLM.class_name()  # of whoever derives from it and says nothing else

    assert LlamaIndexModel(OnTheShelf()).name == "ontheshelf"


class Fixed(BaseRetriever):
    name = "a name makes it look like the port"

    def __init__(self, nodes: list[NodeWithScore], error: Exception | None = None) -> None:
        super().__init__()
        self.nodes, self.error = nodes, error

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self.error is not None:
            raise self.error
        return self.nodes


def node(text: str, score: float | None = None, **metadata: Any) -> NodeWithScore:
    return NodeWithScore(node=TextNode(text=text, metadata=metadata), score=score)


async def test_nodes_become_references(find: Any) -> None:
    nodes = [
        node("one", 0.5, title="T", page=3, tags=["a"]),
        node("two", math.nan, file_name="s.txt"),
        node(" "),
        node("three", title=7, part=math.inf, n=2**63),
    ]
    one, two, three = await find(LlamaIndexRetriever(Fixed(nodes)))
    assert one == Reference.of("one", "T", score=0.5)
    assert dict(one.metadata) == {"title": "T", "page": 3}
    assert two == Reference.of("two", "s.txt")
    assert three == Reference.of("three")
    assert dict(three.metadata) == {"title": 7}  # what a store would refuse is left out


async def test_a_node_made_of_a_reference_is_the_same_reference_again(find: Any) -> None:
    reference = Reference.of("one", "T", score=0.5, metadata={"page": 3})
    made = to_node(reference)
    assert made.node.node_id == reference.id
    assert await find(LlamaIndexRetriever(Fixed([made]))) == [reference]
    assert to_node(Reference.of("one")).node.metadata == {}


async def test_retriever_failures_become_one_line(find: Any) -> None:
    retriever = LlamaIndexRetriever(Fixed([], OSError("index\ngone")))
    with pytest.raises(RetrieverError, match=r"^Fixed: OSError: index gone$") as caught:
        await find(retriever)
    assert isinstance(caught.value.__cause__, OSError)


def test_coercions_pass_ports_through_and_refuse_the_rest() -> None:
    class Index:
        def as_retriever(self) -> BaseRetriever:
            return Fixed([])

    model = LlamaIndexModel(MockLLM())
    retriever = LlamaIndexRetriever(Fixed([]))
    assert as_language_model(model) is model
    assert isinstance(as_language_model(MockLLM()), LlamaIndexModel)
    assert as_retriever(retriever) is retriever
    assert isinstance(as_retriever(Fixed([])), LlamaIndexRetriever)
    assert isinstance(as_retriever(Index()), LlamaIndexRetriever)
    with pytest.raises(InputError, match="a model is wanted, not Fixed"):
        as_language_model(Fixed([]))
    with pytest.raises(InputError, match="a model is wanted, not FakeListChatModel: give a Llama"):
        as_language_model(FakeListChatModel(responses=["Paris."]))
    with pytest.raises(InputError, match="a retriever is wanted, not MockLLM"):
        as_retriever(MockLLM())


@pytest.fixture
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("no_key")
def test_load_model(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="OPENAI_API_KEY"):
        load_model("openai:gpt-4.1-mini")
    with pytest.raises(InputError, match="'anthropic:claude': make the LlamaIndex LLM"):
        load_model("anthropic:claude", api_key="k")
    assert load_model("ft:gpt-4.1-mini:me::1", api_key="k").name == "openai:ft:gpt-4.1-mini:me::1"
    assert as_language_model("m", base_url="http://127.0.0.1:9/v1").name == "openai:m"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert load_model("openai:qwen3:8b").name == "openai:qwen3:8b"
    assert openai_like("m").api_base == "http://127.0.0.1:9/v1"


def test_importing_the_adapters_imports_nothing_heavy() -> None:
    code = """
import sys
import llamaindex_skr.adapters
heavy = {"torch", "transformers", "chromadb", "openai", "langchain"} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=150
    )
    assert (done.returncode, done.stderr) == (0, "")
