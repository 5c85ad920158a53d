"""ChunkedModel: another framework's model as a `LanguageModel`, its reply taken piece by piece.

A reply that is not streamed is one chunk, so that both ways are one.

Example:
    >>> class Words(Reply):
    ...     def add(self, chunk):
    ...         self.take(chunk)
    ...     def generation(self, prompt):
    ...         return Generation(self.text())
    >>> class Parrot(ChunkedModel):
    ...     name, streaming, reply_class = "parrot", True, Words
    ...     def _chunks(self, prompt, stream):
    ...         yield from prompt.text.split() if stream else [prompt.text]
    ...     async def _achunks(self, prompt, stream):
    ...         yield prompt.text
    >>> prompt = Prompt("answer_directly", "Who is it?", "Who is it?")
    >>> Parrot().generate(prompt, on_token=print).text
    Who
    is
    it?
    'Whoisit?'
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import aclosing, closing
from typing import Any, ClassVar, Self

from skr_core.bounds import MAX_CHARACTERS, check_time, reply_tokens
from skr_core.cleaning import without_known_keys
from skr_core.errors import ModelError
from skr_core.ports import LanguageModel, OnToken
from skr_core.types import Generation, Prompt

NO_IMAGES = "{} completes texts and is shown no image: give a chat model, or leave the images out"


class Reply(ABC):
    """A reply as it comes in.

    Args:
        name: The model's name, for errors.
        on_token: The function that is called with each piece.
    """

    def __init__(self, name: str, on_token: OnToken | None) -> None:
        self.name, self.on_token = name, on_token
        self.pieces: list[str] = []
        self._length = 0

    @abstractmethod
    def add(self, chunk: Any) -> None:
        """Read the framework's next chunk."""

    @abstractmethod
    def generation(self, prompt: Prompt) -> Generation:
        """Return the whole reply; raises `ModelError` when it is empty."""

    def take(self, piece: str) -> None:
        """Keep a piece of text, and pass it on; raises `ModelError` where there is no end to it."""
        if piece:
            self._length += len(piece)
            if self._length > MAX_CHARACTERS:
                raise ModelError(f"{self.name}: the reply has over {MAX_CHARACTERS:,} characters")
            self.pieces.append(piece)
            if self.on_token is not None:
                self.on_token(piece)

    def text(self, detail: str = "") -> str:
        """Return the pieces as one text; raises `ModelError` with this detail when it is empty.

        A server knows the key that it was sent, and what it replies is kept.
        """
        text = without_known_keys("".join(self.pieces))
        if not text.strip():
            raise ModelError(f"{self.name}: the model returned an empty reply{detail}")
        return text


def logprobs_in(tokens: Any) -> tuple[list[float], list[str]]:
    """The log-probabilities of a reply's tokens and their texts; none where they are no numbers.

    Args:
        tokens: What stands under ``logprobs`` and ``content`` in OpenAI's language: mappings, or
            the SDK's objects.

    Example:
        >>> logprobs_in([{"token": "Paris", "logprob": -0.5}]), logprobs_in([{"token": "Paris"}])
        (([-0.5], ['Paris']), ([], []))
    """
    if not isinstance(tokens, list):
        return [], []
    read = [each if isinstance(each, Mapping) else getattr(each, "__dict__", {}) for each in tokens]
    if not all(isinstance(each.get("logprob"), int | float) for each in read):
        return [], []
    said = [str(each.get("token") or "") for each in read]
    return [float(each["logprob"]) for each in read], said


class ChunkedModel(ABC):
    """The base of the frameworks' models as `LanguageModel`.

    Attributes:
        name: The name in records.
        streaming: Whether a stream is asked for when a call brings `on_token`; without one that
            gets the whole reply at once.
        reply_class: The class that reads the framework's chunks.
    """

    name: str
    streaming: bool
    reply_class: ClassVar[type[Reply]]
    _again: Callable[[], LanguageModel] | None = None

    def made_by(self, again: Callable[[], LanguageModel]) -> Self:
        """Return this model, which pickles as how it is made again, and not as what it holds.

        Args:
            again: The function that makes it in another process.
        """
        self._again = again
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        return super().__reduce_ex__(protocol) if self._again is None else (self._again, ())

    def generate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        """Send a prompt; raises `ModelError` when no usable reply comes."""
        reply = self.reply_class(self.name, on_token)
        with closing(self._chunks(prompt, on_token is not None and self.streaming)) as chunks:
            for chunk in chunks:
                check_time()
                reply.add(chunk)
        return reply.generation(prompt)

    async def agenerate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        """Async version of `generate`."""
        reply = self.reply_class(self.name, on_token)
        async with aclosing(
            self._achunks(prompt, on_token is not None and self.streaming)
        ) as chunks:
            async for chunk in chunks:
                check_time()
                reply.add(chunk)
        return reply.generation(prompt)

    def _asked_for(self, settings: object) -> dict[str, Any]:
        """Return the option for the reply's length, where the model's class knows one.

        Args:
            settings: The framework's model.
        """
        return reply_limit(settings, reply_tokens())

    # The model's errors are translated inside these two, so that those of on_token are not.

    @abstractmethod
    def _chunks(self, prompt: Prompt, stream: bool) -> Generator[Any, None, None]:
        """Ask the model."""

    @abstractmethod
    def _achunks(self, prompt: Prompt, stream: bool) -> AsyncGenerator[Any, None]:
        """Async version of `_chunks`."""


def reply_limit(settings: object, tokens: int | None) -> dict[str, int]:
    """Return the option for the length of a reply, where the model's class knows one.

    Args:
        settings: The framework's model.
        tokens: The tokens that the reply may have; None leaves it to the model.

    Example:
        >>> reply_limit(object(), 200)
        {}
    """
    if tokens is None or "max_tokens" not in getattr(type(settings), "model_fields", {}):
        return {}
    own = getattr(settings, "max_tokens", None)
    return {"max_tokens": min(tokens, own) if isinstance(own, int) and own > 0 else tokens}
