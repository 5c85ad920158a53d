"""Models and their names: from ``openai:gpt-4.1-mini`` to a model, and back.

LlamaIndex's OpenAI models wrap retries around those of the OpenAI client, so that the numbers
multiply: ten requests for one question that a busy server refuses. `openai_like` leaves retrying
to the client alone, which honours Retry-After.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llama_index.core.llms import LLM

from skr_core.errors import InputError, extra
from skr_core.models.adapting import named_model
from skr_core.models.openai_server import server_address, server_key
from skr_core.ports import LanguageModel

if TYPE_CHECKING:
    from llama_index.llms.openai_like import OpenAILike

CONTEXT_WINDOW = 128_000
OF_OPENAI = ("openai", "ft")
"""What may stand before a colon in an id of OpenAI's; the second begins those of tuned models."""


def load_model(
    spec: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    temperature: float | None = None,
    logprobs: bool = False,
) -> LanguageModel:
    """Make a language model from its id.

    Args:
        spec: ``extractive``, which needs no model at all (``extractive:FILE`` knows what stands in
            a file), or ``openai:`` and the id of a model of OpenAI or of a server that speaks its
            language; the prefix may be left out. For other providers make the LlamaIndex ``LLM``
            and give that.
        base_url: The server's address, ending in ``/v1``, else from ``OPENAI_BASE_URL``.
        api_key: Else from ``OPENAI_API_KEY``. A server with an address of its own needs none.
        temperature: Sent with each request; without, none is, and the provider's own holds.
        logprobs: Ask for the log-probabilities of tokens, by which `UncertaintyRouter` decides; it
            samples answers without them.

    Raises:
        InputError: A key is missing, the id names another provider, or the model has no
            log-probabilities to ask for.
        MissingDependency: The extra ``llamaindex-openai`` is not installed.

    Example:
        >>> load_model("openai:gpt-4.1-mini", base_url="http://localhost:8000/v1").name
        'openai:gpt-4.1-mini'
    """
    from llamaindex_skr.adapters import LlamaIndexModel  # that module imports this one

    if (named := named_model(spec)) is not None:
        if logprobs:
            raise InputError(f"{spec!r} has no log-probabilities to ask for: leave logprobs out")
        return named
    provider, _, rest = spec.partition(":")
    if rest and provider not in OF_OPENAI and server_address(base_url) is None:
        raise InputError(
            f"cannot load {spec!r}: make the LlamaIndex LLM of that provider and give it, or give "
            "the base_url of a server of yours"
        )
    llm = openai_like(
        spec.removeprefix("openai:"),
        base_url=base_url,
        api_key=api_key,
        temperature=temperature,
        logprobs=logprobs,
    )
    return LlamaIndexModel(llm, streaming=True)


def openai_like(
    model: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    temperature: float | None = None,
    logprobs: bool = False,
    tries: int = 3,
    timeout: float = 60.0,
) -> OpenAILike:
    """Make an ``OpenAILike`` that sends each question at most `tries` times.

    Its streams report usage.

    Args:
        model: The model's id.
        base_url: The server's address, else from ``OPENAI_BASE_URL``, else OpenAI's.
        api_key: Else from ``OPENAI_API_KEY``; a server with an address of its own needs none.
        temperature: Sent with each request; without, none is, and the provider's own holds.
        logprobs: Ask for the log-probabilities of tokens, by which `UncertaintyRouter` decides; it
            samples answers without them.
        tries: Requests at most; the client waits between them as the server's Retry-After says.
        timeout: Seconds that the server may be silent; what is left of a question's deadline
            where that is less.

    Raises:
        InputError: A key is missing.
        MissingDependency: The extra ``llamaindex-openai`` is not installed.

    Example:
        >>> openai_like("llama-3.1-8b", base_url="http://localhost:8000/v1").max_retries
        0
    """
    with extra("llamaindex-openai"):
        from llama_index.llms.openai_like import OpenAILike
        from openai import NOT_GIVEN, AsyncOpenAI, OpenAI

        from skr_core.models import clients
    server = server_address(base_url)
    key = server_key(api_key, server)
    if key is None:
        raise InputError(
            f"cannot load {model!r}: set OPENAI_API_KEY, or give the base_url of a server of yours"
        )
    options: dict[str, Any] = {
        "base_url": server,
        "api_key": key,
        "timeout": timeout,
        "max_retries": tries - 1,
    }
    given: dict[str, Any] = {
        "openai_client": OpenAI(**options, http_client=clients.sync_client(timeout)),
        "async_openai_client": AsyncOpenAI(**options, http_client=clients.async_client(timeout)),
    }
    # Dropped by LlamaIndex from requests that are not streamed.
    sent: dict[str, Any] = {"stream_options": {"include_usage": True}}
    if temperature is None:
        sent["temperature"] = NOT_GIVEN  # LlamaIndex would send one of its own
    else:
        given["temperature"] = temperature
    return OpenAILike(
        model=model,
        api_base=server,
        api_key=key,
        context_window=CONTEXT_WINDOW,
        is_chat_model=True,
        logprobs=logprobs or None,  # False is sent too, and not every server knows the word
        timeout=timeout,
        max_retries=0,  # switches LlamaIndex's retries off; the clients bring their own
        reuse_client=True,
        additional_kwargs=sent,
        **given,
    )


_OF_THE_BASE = ("custom_llm", "base_component")
"""What LlamaIndex calls every class that gives itself no name."""


def model_name(llm: LLM) -> str:
    """Name a model for records: its provider and its id, as far as it tells them.

    What speaks OpenAI's language is called ``openai`` wherever it runs, as under LangChain. A class
    of the caller's own that gives itself no name has that of the class.

    Example:
        >>> from llama_index.core.llms import MockLLM
        >>> model_name(MockLLM())
        'mockllm'
    """
    name = llm.class_name()
    name = type(llm).__name__ if name in _OF_THE_BASE else name
    provider = name.lower().removesuffix("_llm").removesuffix("like")
    identity = llm.metadata.model_name
    return provider if identity == "unknown" else f"{provider}:{identity}"
