"""LlamaIndex's LLMs as language models: sent as LlamaIndex sends, read, failing, loaded by id."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    LLMMetadata,
)
from llama_index.core.llms import CustomLLM, MockLLM
from llama_index.core.prompts import PromptTemplate
from llama_index.llms.openai_like import OpenAILike
from pydantic import Field

from llamaindex_skr import LlamaIndexModel, as_language_model, load_model, openai_like
from skr_core import Generation, LanguageModel, Prompt, Usage
from skr_core.errors import InputError, ModelError

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
    assert (generation.logprobs, generation.tokens) == ((-0.5,), ("Paris",))


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


def test_settings_are_the_version_and_keys_are_not() -> None:
    def version(**options: Any) -> str:
        return LlamaIndexModel(OpenAILike(model="m", api_base="http://h/v1", **options)).version

    assert version(temperature=0.1) != version(temperature=0.2)
    assert version(max_tokens=1) != version(max_tokens=2)
    assert version(api_key="sk-one") == version(api_key="sk-two")
    assert "sk-one" not in version(api_key="sk-one")


def test_other_models_are_returned_as_they_are_or_refused() -> None:
    model = LlamaIndexModel(MockLLM())
    assert as_language_model(model) is model
    assert isinstance(as_language_model(MockLLM()), LlamaIndexModel)
    with pytest.raises(InputError, match="a model is wanted, not int"):
        as_language_model(5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a model is wanted, not FakeListChatModel: give a Llama"):
        as_language_model(FakeListChatModel(responses=["Paris."]))


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


# The system prompt and the wrapper of an LLM


class Completion(CustomLLM):
    """A completion model that notes the texts it is sent and answers in two pieces."""

    sent: list[str] = Field(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="completion")

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        self.sent.append(prompt)
        return CompletionResponse(text="In Paris.", raw={"usage": {"prompt_tokens": 7}})

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        self.sent.append(prompt)
        return (CompletionResponse(text="In Paris.", delta=piece) for piece in ("In ", "Paris."))


WRAPPER = PromptTemplate("<|USER|>{query_str}<|ASSISTANT|>")


@pytest.fixture(params=["sync", "async", "sync stream", "async stream"])
def say(request: pytest.FixtureRequest) -> Callable[..., Any]:
    async def say(llm: CustomLLM, prompt: Prompt = PROMPT) -> str:
        mode, _, stream = request.param.partition(" ")
        model = LlamaIndexModel(llm, streaming=bool(stream))
        pieces: list[str] = []
        if mode == "sync":
            generation = model.generate(prompt, on_token=pieces.append)
        else:
            generation = await model.agenerate(prompt, on_token=pieces.append)
        assert "".join(pieces) == "In Paris."
        return generation.text

    return say


async def test_what_is_sent_is_what_llamaindex_sends(say: Callable[..., Any]) -> None:
    ours = Completion(system_prompt="You are kind.", query_wrapper_prompt=WRAPPER)
    theirs = Completion(system_prompt="You are kind.", query_wrapper_prompt=WRAPPER)
    assert await say(ours) == theirs.predict(PromptTemplate(PROMPT.text)) == "In Paris."
    assert ours.sent == theirs.sent == ["<|USER|>You are kind.\n\nCapital of France?<|ASSISTANT|>"]


async def test_a_wrapper_holds_the_whole_conversation(say: Callable[..., Any]) -> None:
    llm = Completion(query_wrapper_prompt=WRAPPER)
    prompt = Prompt("answer_directly", "Now?", "Now?", history=("Hi", "Ho"), system="Be brief.")
    await say(llm, prompt)
    (sent,) = llm.sent
    assert sent.startswith("<|USER|>Be brief.\n\nuser: Hi\nassistant: Ho\nuser: Now?")


async def test_without_a_wrapper_the_system_prompt_is_a_message(say: Callable[..., Any]) -> None:
    llm = Completion(system_prompt="You are kind.")
    await say(llm)
    (sent,) = llm.sent
    assert sent.startswith("system: You are kind.\nuser: Capital of France?")


def test_usage_of_a_completion_is_the_providers() -> None:
    model = LlamaIndexModel(Completion(query_wrapper_prompt=WRAPPER))
    assert model.generate(PROMPT).usage.prompt_tokens == 7
