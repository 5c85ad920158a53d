"""Models and their names: from ``openai:gpt-4.1-mini`` to a model, and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from langchain_core.language_models import BaseChatModel, BaseLanguageModel
from langchain_core.runnables import Runnable
from langchain_core.runnables.base import RunnableBindingBase

from skr_core.errors import InputError, MissingDependency, extra
from skr_core.models.adapting import named_model
from skr_core.models.openai_server import server_address, server_key
from skr_core.ports import LanguageModel

TIMEOUT = 60.0
"""Seconds that a server may be silent; the clients' own ten minutes outlast any reader."""

RETRIES = 2

NO_LOGPROBS = "{!r} has no log-probabilities to ask for: leave logprobs out"


def load_model(
    spec: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    temperature: float | None = None,
    logprobs: bool = False,
) -> LanguageModel:
    """Make a language model from its id, for the loop and for what decides in it.

    An agent of LangChain's takes a chat model instead, such as that of ``init_chat_model``.

    Args:
        spec: ``extractive``, which needs no model at all (``extractive:FILE`` knows what stands in
            a file), or an id of LangChain's ``init_chat_model``: ``provider:model``. With
            `base_url`, an id without a provider belongs to an OpenAI-compatible server; write
            ``openai:`` before an id that itself holds a colon.
        base_url: The server's address, ending in ``/v1``. The variables of each provider, such as
            ``OPENAI_BASE_URL``, work too.
        api_key: The provider's key, else from its variable. A server with an address of its own
            needs none.
        temperature: Sent with each request; without, none is, and the provider's own holds.
        logprobs: Ask for the log-probabilities of tokens, by which `UncertaintyRouter` decides; it
            samples answers without them. For OpenAI and servers that speak its language.

    Raises:
        InputError: The id names no known provider, its package is missing, or a key is; or the
            model has no log-probabilities to ask for.
        MissingDependency: The extra ``langchain`` is not installed; or ``openai``, for OpenAI's
            models and servers that speak their language.

    Example:
        >>> load_model("openai:gpt-4.1-mini", base_url="http://localhost:8000/v1").name
        'openai:gpt-4.1-mini'
    """
    from langchain_skr.adapters import LangChainModel  # that module imports this one

    if not spec.strip():
        raise InputError("the model has no name: give extractive, or provider:model")
    if (named := named_model(spec)) is not None:
        if logprobs:
            raise InputError(NO_LOGPROBS.format(spec))
        return named
    # The names that `init_chat_model` has for every provider.
    options: dict[str, Any] = {
        "base_url": base_url,
        "api_key": api_key,
        "temperature": temperature,
        "timeout": TIMEOUT,
        "max_retries": RETRIES,
    }
    options = {name: value for name, value in options.items() if value is not None}
    server = server_address(base_url)
    provider = "openai" if base_url and ":" not in spec else None
    try:
        model = _chat_model(spec, provider, server, options)
    except InputError:
        if not server or provider:
            raise
        # An id such as qwen3:8b: the part before the colon is no provider.
        model = _chat_model(spec, "openai", server, options)
    return LangChainModel(_with_logprobs(model, spec) if logprobs else model)


def model_name(model: Runnable[Any, Any]) -> str:
    """Name a model for records: its provider and its id, as far as it tells them.

    Example:
        >>> from langchain_core.language_models import FakeListChatModel
        >>> model_name(FakeListChatModel(responses=["Paris"]).with_retry())
        'fake-list'
    """
    *_, inner = layers_of(model)
    if not isinstance(inner, BaseLanguageModel):
        # Without `get_name`, at which a model that is chosen run by run makes itself, or fails.
        return str(vars(inner).get("name") or type(inner).__name__.lstrip("_"))
    provider = str(getattr(inner, "_llm_type", type(inner).__name__))
    provider = provider.removeprefix("chat-").removesuffix("-model").removesuffix("-chat")
    identity = getattr(inner, "model_name", None) or getattr(inner, "model", None)
    return f"{provider}:{identity}" if isinstance(identity, str) else provider


def streams_safely(model: Runnable[Any, Any]) -> bool:
    """Whether a stream of this model keeps its retries; ``with_retry`` retries calls alone.

    Example:
        >>> from langchain_core.language_models import FakeListChatModel
        >>> streams_safely(FakeListChatModel(responses=["Paris"]).with_retry())
        False
    """
    if isinstance(model, BaseLanguageModel):
        return True
    from langchain_core.runnables.retry import RunnableRetry  # where a model is wrapped alone

    return not any(isinstance(layer, RunnableRetry) for layer in layers_of(model))


def layers_of(model: object) -> Iterator[object]:
    """The model and what it wraps, from the outside to the inside.

    By class, because a configurable model makes itself where it is asked for any other attribute.

    Example:
        >>> from langchain_core.language_models import FakeListChatModel
        >>> model = FakeListChatModel(responses=["Paris"]).with_retry()
        >>> [type(layer).__name__ for layer in layers_of(model)]
        ['RunnableRetry', 'FakeListChatModel']
    """
    if isinstance(model, BaseLanguageModel):  # as most are: the wrappers need not be imported
        yield model
        return
    from langchain_core.runnables import RunnableWithFallbacks
    from langchain_core.runnables.configurable import DynamicRunnable

    while model is not None:
        yield model
        if isinstance(model, RunnableBindingBase):
            model = model.bound
        elif isinstance(model, RunnableWithFallbacks):
            model = model.runnable
        else:
            model = model.default if isinstance(model, DynamicRunnable) else None


def _chat_model(
    spec: str, provider: str | None, server: str | None, options: dict[str, Any]
) -> BaseChatModel:
    of_openai = provider == "openai" or spec.startswith(("openai:", "gpt-"))
    try:
        with extra("langchain"):
            from langchain.chat_models import init_chat_model
    except MissingDependency as error:
        if of_openai:  # which brings it too, and is wanted next
            raise MissingDependency("langchain", "openai") from error
        raise
    if of_openai:
        options = options | _openai_options(server, options)
    try:
        model: BaseChatModel = init_chat_model(spec, model_provider=provider, **options)
    except ImportError as error:
        if "langchain-openai" in str(error):
            raise MissingDependency("langchain-openai", "openai") from error
        raise InputError(f"cannot load {spec!r}: {_first_line(error)}") from error
    except Exception as error:
        if of_openai and "api_key" not in options:
            raise InputError(
                f"cannot load {spec!r}: set OPENAI_API_KEY, or give the base_url= of a server "
                "of yours"
            ) from error
        raise InputError(
            f"cannot load {spec!r}: {_first_line(error)} "
            "Give provider:model, such as openai:gpt-4.1-mini, and the provider's key."
        ) from error
    return model


def _openai_options(server: str | None, options: dict[str, Any]) -> dict[str, Any]:
    with extra("openai"):
        from skr_core.models import clients
    # Streams of other servers report no usage unless asked to.
    more: dict[str, Any] = {
        "stream_usage": True,
        "http_client": clients.sync_client(TIMEOUT),
        "http_async_client": clients.async_client(TIMEOUT),
    }
    if key := server_key(options.get("api_key"), server):
        more["api_key"] = key
    return more


def _with_logprobs(model: BaseChatModel, spec: str) -> BaseChatModel:
    # Clients of other providers take the option in silence, or fail when they are called.
    if "logprobs" not in type(model).model_fields:
        raise InputError(NO_LOGPROBS.format(spec))
    return model.model_copy(update={"logprobs": True})


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]
