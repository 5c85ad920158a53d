"""CompletionScorer: how likely a model finds a given text, by a completions endpoint that echoes.

vLLM tells the log-probabilities of a prompt's own tokens, and so does llama-cpp-python with
``logits_all``, but rightly for models alone that begin every text with a special token. OpenAI's
chat models, Ollama, llama.cpp's own server and most hosted services do not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from skr_core.errors import InputError, ModelError, NoLikelihoodsError, extra, translated
from skr_core.models.openai_server import server_address, server_key
from skr_core.types import Generation, Usage

_NO_ECHO = re.compile(r"\becho\b|log_?probs?\b|logits", re.IGNORECASE)
_NO_SUCH_PATH = (404, 405, 501)


class CompletionScorer:
    """A `TextScorer` over ``/v1/completions`` with ``echo`` and ``logprobs``.

    No chat template is applied: prompt and text are sent as they are, with a space between. One
    token is generated, which is not looked at, because servers differ in what none means.

    Args:
        model: Its id on the server.
        base_url: The server's address, ending in ``/v1``, else from ``OPENAI_BASE_URL``.
        api_key: Else from ``OPENAI_API_KEY``; a server with an address of its own needs none.
        timeout: Seconds that the server may be silent; what is left of a question's deadline
            where that is less.

    Attributes:
        name: For records.

    Raises:
        InputError: A key is missing.
        MissingDependency: The extra ``openai`` is not installed.

    Example:
        >>> CompletionScorer("llama-3.1-8b", base_url="http://localhost:8000/v1").name
        'openai:llama-3.1-8b'
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 60.0,
    ) -> None:
        with extra("openai"):
            from openai import AsyncOpenAI, OpenAI, OpenAIError

            from skr_core.models import clients
        server = server_address(base_url)
        key = server_key(api_key, server)
        if key is None:
            raise InputError(
                f"cannot ask {model!r}: set OPENAI_API_KEY, or give the base_url= of a server "
                "of yours"
            )
        self.model, self.name = model, f"openai:{model}"
        given: dict[str, Any] = {"base_url": server, "api_key": key, "timeout": timeout}
        self._client = OpenAI(**given, http_client=clients.blocking_client(OpenAIError, timeout))
        self._aclient = AsyncOpenAI(
            **given, http_client=clients.awaiting_client(OpenAIError, timeout)
        )

    def score(self, prompt: str, text: str) -> Generation:
        """How likely the text is after the prompt, with a blocking call.

        Raises:
            ModelError: The server failed.
            NoLikelihoodsError: It tells no likelihood of a given text.
        """
        with translated(ModelError, self.name):
            try:
                reply = self._client.completions.create(**self._request(prompt, text))
            except Exception as error:
                self._raise_unsupported(error)
                raise
            return self._generation(reply, text)

    async def ascore(self, prompt: str, text: str) -> Generation:
        """The same, awaited."""
        with translated(ModelError, self.name):
            try:
                reply = await self._aclient.completions.create(**self._request(prompt, text))
            except Exception as error:
                self._raise_unsupported(error)
                raise
            return self._generation(reply, text)

    def _request(self, prompt: str, text: str) -> dict[str, Any]:
        asked = {"model": self.model, "prompt": f"{prompt} {text}", "temperature": 0.0}
        return {**asked, "echo": True, "logprobs": 1, "max_tokens": 1}

    def _raise_unsupported(self, error: Exception) -> None:
        status = getattr(error, "status_code", None)
        if status in _NO_SUCH_PATH or (status is not None and _NO_ECHO.search(str(error))):
            raise self._unsupported(str(error).split("\n", 1)[0]) from error

    def _generation(self, reply: Any, text: str) -> Generation:
        try:
            told, usage = reply.choices[0].logprobs, reply.usage
            made = usage.completion_tokens if usage else 1
            tokens, logprobs = list(told.tokens or ()), list(told.token_logprobs or ())
        except (AttributeError, IndexError, TypeError) as error:
            raise self._unsupported("its reply has no log-probabilities") from error
        echoed = len(tokens) - made
        last = last_tokens(tokens[:echoed], text) if echoed > 0 else 0
        found = [each for each in logprobs[echoed - last : echoed] if each is not None]
        if not found:
            raise self._unsupported("its reply does not echo the prompt")
        sent = usage.prompt_tokens if usage else echoed
        spent = Usage(sent, made, calls=1, estimated=usage is None)
        return Generation(text, spent, tuple(map(float, found)))

    def _unsupported(self, why: str) -> NoLikelihoodsError:
        return NoLikelihoodsError(
            f"{self.name}: the server tells no likelihood of a given text ({why}): use one whose "
            "completions echo their prompt with logprobs, such as vLLM, or leave likelihoods out"
        )


def last_tokens(tokens: Sequence[str], text: str) -> int:
    """How many tokens at the end of a list a text takes; 0 where all of them are shorter.

    Counted from the end: what stands before may begin with special tokens, or hold characters that
    are split over several.

    Example:
        >>> last_tokens(["<s>", "Answer", ":", " New", " York"], "New York")
        2
    """
    length = 0
    for count, token in enumerate(reversed(tokens), start=1):
        length += len(token)
        if length >= len(text):
            return count
    return 0
