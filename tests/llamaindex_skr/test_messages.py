"""An LLM's own system prompt and wrapper are sent as LlamaIndex itself sends them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
from llama_index.core.llms import CustomLLM
from llama_index.core.prompts import PromptTemplate
from pydantic import Field

from llamaindex_skr import LlamaIndexModel
from skr_core.types import Prompt

PROMPT = Prompt("answer_directly", "Where?", "Where?")


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
def ask(request: pytest.FixtureRequest) -> Callable[..., Any]:
    async def ask(llm: CustomLLM, prompt: Prompt = PROMPT) -> str:
        colour, _, stream = request.param.partition(" ")
        model = LlamaIndexModel(llm, streaming=bool(stream))
        pieces: list[str] = []
        if colour == "sync":
            generation = model.generate(prompt, on_token=pieces.append)
        else:
            generation = await model.agenerate(prompt, on_token=pieces.append)
        assert "".join(pieces) == "In Paris."
        return generation.text

    return ask


async def test_what_is_sent_is_what_llamaindex_sends(ask: Callable[..., Any]) -> None:
    ours = Completion(system_prompt="You are kind.", query_wrapper_prompt=WRAPPER)
    theirs = Completion(system_prompt="You are kind.", query_wrapper_prompt=WRAPPER)
    assert await ask(ours) == theirs.predict(PromptTemplate(PROMPT.text)) == "In Paris."
    assert ours.sent == theirs.sent == ["<|USER|>You are kind.\n\nWhere?<|ASSISTANT|>"]


async def test_a_wrapper_holds_the_whole_conversation(ask: Callable[..., Any]) -> None:
    llm = Completion(query_wrapper_prompt=WRAPPER)
    prompt = Prompt("answer_directly", "Now?", "Now?", history=("Hi", "Ho"), system="Be brief.")
    await ask(llm, prompt)
    (sent,) = llm.sent
    assert sent.startswith("<|USER|>Be brief.\n\nuser: Hi\nassistant: Ho\nuser: Now?")


async def test_without_a_wrapper_the_system_prompt_is_a_message(ask: Callable[..., Any]) -> None:
    llm = Completion(system_prompt="You are kind.")
    await ask(llm)
    (sent,) = llm.sent
    assert sent.startswith("system: You are kind.\nuser: Where?")


def test_usage_of_a_completion_is_the_providers() -> None:
    model = LlamaIndexModel(Completion(query_wrapper_prompt=WRAPPER))
    assert model.generate(PROMPT).usage.prompt_tokens == 7
