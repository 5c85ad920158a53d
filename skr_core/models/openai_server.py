"""Servers that speak OpenAI's language: their address and key, and how likely they find a text.

`CompletionScorer` needs a completions endpoint that echoes. vLLM gives the log-probabilities of a
prompt's own tokens, and so does llama-cpp-python with ``logits_all``, but rightly for models alone
that begin every text with a special token. OpenAI's chat models, Ollama, llama.cpp's own server and
most hosted services do not.

Example:
    >>> server = server_address("http://localhost:8000/v1")
    >>> server_key("mine", server)
    'mine'
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from skr_core.errors import InputError, ModelError, NoLikelihoodsError, extra, translated
from skr_core.types import Generation, Usage

PLACEHOLDER_KEY = "none"
"""Sent to a server that wants no key: the OpenAI client refuses to start without one."""

_NO_ECHO = re.compile(r"\becho\b|log_?probs?\b|logits", re.IGNORECASE)
_NO_SUCH_PATH = (404, 405, 501)


def server_address(base_url: str | None = None) -> str | None:
    """Return the address given, else that of the environment; None is OpenAI itself.

    Example:
        >>> server_address("http://localhost:8000/v1")
        'http://localhost:8000/v1'
    """
    return base_url or os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")


def server_key(api_key: str | None, server: str | None) -> str | None:
    """Return the key given, else that of the environment, else a placeholder.

    Args:
        api_key: The key that the caller gave.
        server: The address, as `server_address` returned it.

    Returns:
        None where a key is missing: OpenAI itself wants one.

    Example:
        >>> import os
        >>> expected = os.environ.get("OPENAI_API_KEY") or PLACEHOLDER_KEY
        >>> server_key(None, "http://localhost:8000/v1") == expected
        True
    """
    return api_key or os.environ.get("OPENAI_API_KEY") or (PLACEHOLDER_KEY if server else None)


class CompletionScorer:
    """A `TextScorer` over ``/v1/completions`` with ``echo`` and ``logprobs``.

    No chat template is applied: prompt and text are sent as they are, with a space between. One
    token is generated, which is not looked at, because servers differ in what none means.

    Args:
        model: The model's id on the server.
        base_url: The server's address, ending in ``/v1``, else from ``OPENAI_BASE_URL``.
        api_key: The key, else from ``OPENAI_API_KEY``; a server with an address of its own needs
            none.
        timeout: The seconds that the server may be silent; what is left of a question's deadline
            where that is less.

    Attributes:
        name: The name in records.

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
            from openai import AsyncOpenAI, OpenAI

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
        self._client = OpenAI(**given, http_client=clients.sync_client(timeout))
        self._aclient = AsyncOpenAI(**given, http_client=clients.async_client(timeout))

    def score(self, prompt: str, text: str) -> Generation:
        """Ask the server how likely the text is after the prompt.

        Raises:
            ModelError: The server failed.
            NoLikelihoodsError: It gives no likelihood of a given text.
        """
        with translated(ModelError, self.name):
            try:
                reply = self._client.completions.create(**self._request(prompt, text))
            except Exception as error:
                self._raise_unsupported(error)
                raise
            return self._generation(reply, text)

    async def ascore(self, prompt: str, text: str) -> Generation:
        """Async version of `score`."""
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
            echo, usage = reply.choices[0].logprobs, reply.usage
            made = usage.completion_tokens if usage else 1
            tokens, logprobs = list(echo.tokens or ()), list(echo.token_logprobs or ())
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
            f"{self.name}: the server gives no likelihood of a given text ({why}): use one whose "
            "completions echo their prompt with logprobs, such as vLLM, or leave likelihoods out"
        )


def last_tokens(tokens: Sequence[str], text: str) -> int:
    """Count the tokens at the end of a list that a text takes; 0 where all are shorter.

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
