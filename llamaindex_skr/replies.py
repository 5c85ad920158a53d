"""LlamaIndexReply: what a LlamaIndex model sends, read into a `Generation`.

Example:
    >>> from llama_index.core.base.llms.types import ChatMessage
    >>> reply = LlamaIndexReply("a model", None)
    >>> for piece in ("In ", "Paris."):
    ...     reply.add(ChatResponse(message=ChatMessage(""), delta=piece))
    >>> reply.generation(Prompt("answer_directly", "Where?", "Where?")).text
    'In Paris.'
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llama_index.core.base.llms.types import ChatResponse, CompletionResponse

from skr_core.budget import estimate_usage
from skr_core.models.chunked import Reply
from skr_core.ports import OnToken
from skr_core.types import Generation, Prompt, Usage

Chunk = ChatResponse | CompletionResponse
"""A reply or a piece of one."""


class LlamaIndexReply(Reply):
    """A reply as it comes in: one chunk where nothing is streamed."""

    def __init__(self, name: str, on_token: OnToken | None) -> None:
        super().__init__(name, on_token)
        self.usage: Usage | None = None
        self.logprobs: list[float] = []
        self.finish_reason = ""

    def add(self, chunk: Chunk) -> None:
        """Take the next chunk."""
        # A chunk of a stream says what is new in `delta`; a whole reply has none.
        whole = chunk.message.content if isinstance(chunk, ChatResponse) else chunk.text
        self.take((chunk.delta if chunk.delta is not None else whole) or "")
        self.usage = _usage(chunk) or self.usage  # the last chunk of a stream has it
        self.logprobs += _logprobs(chunk)
        self.finish_reason = _finish_reason(chunk) or self.finish_reason

    def generation(self, prompt: Prompt) -> Generation:
        """All of it; raises `ModelError` when it is empty."""
        text = self.text()
        usage = self.usage or estimate_usage(prompt, text)
        return Generation(text, usage, tuple(self.logprobs) or None, self.finish_reason)


def _get(source: Any, *names: str) -> Any:
    """The first of these that a raw reply has; providers send objects or mappings."""
    for name in names:
        value = source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
        if value is not None:
            return value
    return None


def _usage(chunk: Chunk) -> Usage | None:
    for given in (chunk.additional_kwargs, _get(chunk.raw, "usage", "usage_metadata")):
        usage = Usage(
            _get(given, "prompt_tokens", "input_tokens") or 0,
            _get(given, "completion_tokens", "output_tokens") or 0,
            calls=1,
        )
        if usage.total_tokens:
            return usage
    return None


def _logprobs(chunk: Chunk) -> list[float]:
    # LlamaIndex keeps the alternatives of each token, not the token's own: only `raw` has that.
    choices = _get(chunk.raw, "choices") or [None]
    tokens = _get(_get(choices[0], "logprobs"), "content") or []
    return [float(_get(token, "logprob")) for token in tokens]


def _finish_reason(chunk: Chunk) -> str:
    choices = _get(chunk.raw, "choices") or [None]
    return str(_get(choices[0], "finish_reason") or _get(chunk.raw, "stop_reason") or "")
