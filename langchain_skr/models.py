"""LangChain models behind the port, and models made by their id.

Callbacks need no passing on: LangChain finds the run that encloses a call through context
variables, so traces nest under the graph's nodes, sync and async.

Example:
    >>> from langchain_core.language_models import FakeListChatModel
    >>> from skr_core.types import Prompt
    >>> model = LangChainModel(FakeListChatModel(responses=["Paris"]))
    >>> model.generate(Prompt("answer_directly", "Capital of France?", "Capital of France?")).text
    'Paris'
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from langchain_core.language_models import (
    BaseChatModel,
    BaseLanguageModel,
    LanguageModelInput,
)
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    BaseMessageChunk,
    HumanMessage,
    SystemMessage,
)
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import (
    Runnable,
    RunnableConfig,
    RunnableParallel,
    RunnableSequence,
    ensure_config,
)
from langchain_core.runnables.base import RunnableBindingBase
from langgraph.errors import GraphBubbleUp

from langchain_skr.naming import described, layers, model_name, temperature_of
from skr_core._compat import renew_connections_in_children
from skr_core.budget import believed, estimate_usage
from skr_core.cleaning import break_tokens, remember_keys
from skr_core.errors import InputError, MissingDependency, ModelError, extra, translated
from skr_core.models.adapting import named_model
from skr_core.models.chunked import NO_IMAGES, ChunkedModel, Reply, logprobs_in
from skr_core.models.windows import Window
from skr_core.ports import LanguageModel
from skr_core.types import CUT_OFF, Generation, Prompt, Usage

LangChainLanguageModel = Runnable[LanguageModelInput, Any]
"""A chat or completion model, also behind ``bind``, ``with_retry`` or ``with_fallbacks``."""

ModelLike = LanguageModel | LangChainLanguageModel | str
"""A model of LangChain, an id such as ``openai:gpt-4.1-mini``, or a `LanguageModel`."""

TIMEOUT = 60.0
"""Seconds that a server may be silent; the clients' own ten minutes are longer than users wait."""

RETRIES = 2

NO_LOGPROBS = "{!r} has no log-probabilities to ask for: leave logprobs out"

_NOT_OF_A_MODEL = ("__", "thread_id", "checkpoint", "langgraph")
"""The beginnings of names in a run's config that do not choose a model."""


class _Reply(Reply):
    whole: Any = None

    def add(self, chunk: Any) -> None:
        self.take(_text(chunk) or _arguments(chunk))
        if isinstance(chunk, BaseMessageChunk):
            # The text is kept already, and adding it up takes time that grows with its square.
            chunk = chunk.model_copy(update={"content": ""})
        self.whole = chunk if self.whole is None else self.whole + chunk

    def generation(self, prompt: Prompt) -> Generation:
        reason = _finish_reason(self.whole)
        text = self.text(f" (finish reason: {reason})" if reason else "")
        made = generation_of(self.whole, text, prompt)
        return replace(made, finish_reason=CUT_OFF) if self._is_without_end() else made

    def _is_without_end(self) -> bool:
        """Whether this is a stream in OpenAI's language that ended before it said so."""
        about = getattr(self.whole, "response_metadata", {})
        ended = about.get("finish_reason") or about.get("status")
        streamed = isinstance(self.whole, BaseMessageChunk)
        return streamed and about.get("model_provider") == "openai" and not ended


class LangChainModel(ChunkedModel):
    """A LangChain model as a `LanguageModel`.

    Calls are tagged ``nostream``, so that ``stream_mode="messages"`` does not show them, and
    ``skr:<task>``, which traces can be filtered by. LangChain runs a model without an async
    implementation in a thread; nothing here starts one.

    Args:
        model: The model. Completion models (``BaseLLM``) work too.
        name: Recorded name; by default provider and model, such as ``openai:gpt-4.1-mini``, of
            what it is or holds.
        streaming: Whether to ask for a stream when a call brings `on_token`. By default yes,
            except behind ``with_retry``, which does not retry streams. Without a stream `on_token`
            gets the whole reply at once.

    Example:
        >>> from langchain_core.language_models import FakeListChatModel
        >>> LangChainModel(FakeListChatModel(responses=["Paris"])).name
        'fake-list'
    """

    reply_class = _Reply

    def __init__(
        self,
        model: LangChainLanguageModel,
        *,
        name: str | None = None,
        streaming: bool | None = None,
    ) -> None:
        self.model = model
        self.name = name or model_name(model)
        if streaming is None:
            from langchain_core.runnables.retry import RunnableRetry

            streaming = not any(isinstance(layer, RunnableRetry) for layer in layers(model))
        self.streaming = streaming
        for layer in layers(model):
            remember_keys(layer)
        renew_connections_in_children(model)

    @property
    def window(self) -> Window | None:
        """The window of the model's profile, the smallest where there are fallbacks."""
        tokens = [
            profile["max_input_tokens"]
            for each in _held_models(self.model)
            if (profile := getattr(each, "profile", None)) and profile.get("max_input_tokens")
        ]
        return Window(min(tokens)) if tokens else None

    @property
    def version(self) -> str:
        """The settings that decide the model's replies, for whoever keeps these."""
        return _settings(self.model)

    @property
    def temperature(self) -> float | None:
        """The temperature of its replies; None where nobody has set it."""
        return temperature_of(self.model)

    @property
    def takes_schemas(self) -> bool:
        """Whether it is sent the schema of an object, as a response format or as a tool."""
        # Answers that are texts need none of it.
        from langchain_skr.structured import ANY_OBJECT, schema_options

        return bool(schema_options(self.model, ANY_OBJECT))

    def _chunks(self, prompt: Prompt, stream: bool) -> Generator[Any, None, None]:
        # LangGraph's interrupts travel as exceptions, and are no failure.
        self._check_images(prompt)
        with translated(ModelError, self.name, GraphBubbleUp):
            if stream:
                yield from self.model.stream(
                    _messages(prompt), _config(prompt), **self._options(prompt)
                )
            else:
                yield self.model.invoke(_messages(prompt), _config(prompt), **self._options(prompt))

    async def _achunks(self, prompt: Prompt, stream: bool) -> AsyncGenerator[Any, None]:
        self._check_images(prompt)
        asked, config = _messages(prompt), _config(prompt)
        with translated(ModelError, self.name, GraphBubbleUp):
            options = self._options(prompt)
            if stream:
                async for chunk in self.model.astream(asked, config, **options):
                    yield chunk
            else:
                yield await self.model.ainvoke(asked, config, **options)

    def _check_images(self, prompt: Prompt) -> None:
        chats = (isinstance(each, BaseChatModel) for each in _held_models(self.model))
        if prompt.images and not all(chats):
            raise InputError(NO_IMAGES.format(self.name))

    def _options(self, prompt: Prompt) -> dict[str, Any]:
        *_, inner = layers(self.model)
        options = self._asked_for(inner)
        if prompt.schema is not None:
            from langchain_skr.structured import schema_options

            options |= schema_options(self.model, prompt.schema)
        return options


def as_language_model(model: ModelLike, *, base_url: str | None = None) -> LanguageModel:
    """Make a `LanguageModel` of what a caller gave.

    Args:
        model: A LangChain model, a model id such as ``openai:gpt-4.1-mini``, or a `LanguageModel`,
            which is passed through.
        base_url: The address of an OpenAI-compatible server; for model ids only.

    Raises:
        InputError: It is none of these, or the id names no known provider.

    Example:
        >>> from langchain_core.language_models import FakeListChatModel
        >>> as_language_model(FakeListChatModel(responses=["Paris"])).name
        'fake-list'
    """
    if isinstance(model, str):
        return load_model(model, base_url=base_url)
    # Before the port: chat models have a `generate` of their own, with another meaning.
    if isinstance(model, Runnable):
        if not isinstance(model, BaseRetriever):
            _check_texts(model)
            return LangChainModel(model)
    elif isinstance(model, LanguageModel):
        return model
    raise InputError(
        f"a model is wanted, not {type(model).__name__}: "
        "give a LangChain chat model or an id such as 'openai:gpt-4.1-mini'"
    )


def generation_of(message: Any, text: str, prompt: Prompt) -> Generation:
    """Return a message as a generation: with what it cost, and its tokens' log-probabilities.

    Args:
        message: The message of a model.
        text: Its text, which the caller has read already.
        prompt: The prompt that it replies to; its tokens are counted where the message says none.

    Example:
        >>> asked = Prompt("agent", "Capital of France?", "Capital of France?")
        >>> generation_of(AIMessage("Paris."), "Paris.", asked).usage.estimated
        True
    """
    about: Mapping[str, Any] = getattr(message, "response_metadata", {})
    spent = _mapping(getattr(message, "usage_metadata", None))
    read = _mapping(spent.get("input_token_details")).get("cache_read") or 0
    sent, received = spent.get("input_tokens", 0), spent.get("output_tokens", 0)
    usage = Usage(sent, received, calls=1, cache_read_tokens=read)
    usage = believed(usage, prompt, text) if sent or received else estimate_usage(prompt, text)
    if spent.get("total_cost") == 0:  # LangChain marks replies of its own cache so
        usage = usage.from_cache()
    logprobs, named = logprobs_in(_mapping(about.get("logprobs")).get("content"))
    reason = _finish_reason(message)
    return Generation(text, usage, tuple(logprobs) or None, reason, tuple(named))


def load_model(
    spec: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    temperature: float | None = None,
    logprobs: bool = False,
    special_tokens: Sequence[str] = (),
) -> LanguageModel:
    """Make a language model from its id.

    It is a model for the loop, for routers and for reflectors. An agent of LangChain takes a chat
    model instead, such as that of ``init_chat_model``.

    Args:
        spec: The id: ``provider:model``, as for LangChain's ``init_chat_model``; or ``extractive``,
            which needs no weights (``extractive:FILE`` knows the passages of a file). With
            `base_url`, an id without a provider belongs to an OpenAI-compatible server; write
            ``openai:`` before an id that itself holds a colon.
        base_url: The server's address, ending in ``/v1``. The variables of each provider, such as
            ``OPENAI_BASE_URL``, work too.
        api_key: The provider's key; by default that of its variable. A server with an address of
            its own needs none.
        temperature: The temperature that is sent with each request; by default none is sent, and
            the provider's own holds.
        logprobs: Whether to ask for the log-probabilities of tokens. `UncertaintyRouter` decides by
            them, and samples answers without. OpenAI has them, and servers that speak its language.
        special_tokens: The tokens that separate the turns of a chat for a model whose own have no
            usual shape, as its tokenizer spells them: broken wherever a passage is shown from now
            on, see `skr_core.cleaning.break_tokens`.

    Raises:
        InputError: The id names no known provider, its package is missing, or a key is; or the
            model has no log-probabilities to ask for.
        MissingDependency: The extra ``langchain`` is not installed; or ``openai``, for OpenAI's
            models and servers that speak their language.

    Example:
        >>> load_model("openai:gpt-4.1-mini", base_url="http://localhost:8000/v1").name
        'openai:gpt-4.1-mini'
    """
    break_tokens(special_tokens)
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
    from skr_core.models.openai_server import server_address

    server = server_address(base_url)
    provider = "openai" if base_url and ":" not in spec else None
    try:
        model = _chat_model(spec, provider, server, options)
    except InputError:
        if not server or provider:
            raise
        # An id such as qwen3:8b: the part before the colon is no provider.
        model = _chat_model(spec, "openai", server, options)
    if logprobs:
        # Other providers' clients ignore the option, or fail when they are called.
        if "logprobs" not in type(model).model_fields:
            raise InputError(NO_LOGPROBS.format(spec))
        model = model.model_copy(update={"logprobs": True})
    again = partial(
        load_model,
        spec,
        base_url=base_url,
        api_key=api_key,
        temperature=temperature,
        logprobs=logprobs,
    )
    return LangChainModel(model).made_by(again)


def _check_texts(model: Runnable[Any, Any]) -> None:
    """Refuse a model that was given a schema: its replies would hold no verdict and no citations.

    ``with_structured_output`` makes a sequence, whose first step has the model.
    """
    waiting: list[Any] = [model]
    while waiting:
        for layer in layers(waiting.pop()):
            bound = getattr(layer, "kwargs", {}) if isinstance(layer, RunnableBindingBase) else {}
            if bound.keys() & {"ls_structured_output_format", "response_format"}:
                raise InputError(
                    "this model was given a schema already, by with_structured_output or "
                    "bind(response_format=...): give the model without it, and response_format= "
                    "beside it"
                )
            if isinstance(layer, RunnableSequence):
                waiting.append(layer.first)
            elif isinstance(layer, RunnableParallel):
                waiting += layer.steps__.values()


def _held_models(model: Runnable[Any, Any]) -> Iterator[BaseLanguageModel[Any]]:
    """The models that a runnable may ask: itself or what it wraps, and its fallbacks."""
    from langchain_core.runnables.fallbacks import RunnableWithFallbacks

    for layer in layers(model):
        if isinstance(layer, BaseLanguageModel):
            yield layer
        elif isinstance(layer, RunnableWithFallbacks):
            for fallback in layer.fallbacks:
                yield from _held_models(fallback)


def _settings(model: Runnable[Any, Any]) -> str:
    from langchain_core.runnables.fallbacks import RunnableWithFallbacks

    said: list[object] = []
    for layer in layers(model):
        if isinstance(layer, BaseLanguageModel):
            said.append(sorted(described(layer).items()))
        elif isinstance(layer, RunnableBindingBase):
            said.append(sorted(layer.kwargs.items()))
        elif isinstance(layer, RunnableWithFallbacks):
            said += [_settings(fallback) for fallback in layer.fallbacks]
        else:  # a run's config chooses the model
            chosen = ensure_config().get("configurable", {})
            said.append(
                sorted(
                    (name, str(value))
                    for name, value in chosen.items()
                    if not name.startswith(_NOT_OF_A_MODEL)
                )
            )
    return "\n".join(map(str, said))


def _chat_model(
    spec: str, provider: str | None, server: str | None, options: dict[str, Any]
) -> BaseChatModel:
    of_openai = provider == "openai" or spec.startswith(("openai:", "gpt-"))
    try:
        with extra("langchain"):
            from langchain.chat_models import init_chat_model
    except MissingDependency as error:
        if of_openai:  # the extra `openai` brings LangChain too, and is needed next
            raise MissingDependency("langchain", "openai") from error
        raise
    if of_openai:
        options = options | _openai_options(server, options.get("api_key"))
    try:
        model: BaseChatModel = init_chat_model(spec, model_provider=provider, **options)
    except ImportError as error:
        if of_openai:
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


def _openai_options(server: str | None, api_key: str | None) -> dict[str, Any]:
    with extra("openai"):
        from skr_core.models import clients
    from skr_core.models.openai_server import server_key

    options: dict[str, Any] = {
        "stream_usage": True,  # streams of other servers report no usage unless asked to
        "http_client": clients.sync_client(TIMEOUT),
        "http_async_client": clients.async_client(TIMEOUT),
    }
    if key := server_key(api_key, server):
        options["api_key"] = key
    return options


def _mapping(given: object) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}


def _finish_reason(message: Any) -> str:
    about: Mapping[str, Any] = getattr(message, "response_metadata", {})
    return str(about.get("finish_reason") or about.get("stop_reason") or "")


def _messages(prompt: Prompt) -> list[BaseMessage]:
    turns: list[BaseMessage] = [
        AIMessage(turn) if number % 2 else HumanMessage(turn)
        for number, turn in enumerate(prompt.history)
    ]
    instructions = [SystemMessage(prompt.system)] if prompt.system else []
    return [*instructions, *turns, HumanMessage(_content(prompt))]


def _content(prompt: Prompt) -> Any:
    """The text, and with images LangChain's standard blocks, each image behind its name."""
    if not prompt.images:
        return prompt.text
    blocks: list[dict[str, str]] = [{"type": "text", "text": prompt.text}]
    for image in prompt.images:
        if image.name:
            blocks.append({"type": "text", "text": image.name})
        given = {"url": image.url, "base64": image.data, "mime_type": image.mime_type}
        blocks.append({"type": "image", **{name: each for name, each in given.items() if each}})
    return blocks


def _config(prompt: Prompt) -> RunnableConfig:
    around = ensure_config()  # whose tags and metadata those of a call would replace
    return {
        "tags": [*around.get("tags", ()), "nostream", f"skr:{prompt.task}"],
        "metadata": {**around.get("metadata", {}), "skr_task": prompt.task},
    }


def _text(reply: Any) -> str:
    if isinstance(reply, str):
        return reply
    if isinstance(reply, BaseMessage):
        return str(reply.text)  # joins the text blocks where the content is a list
    raise ModelError(f"the model returned {type(reply).__name__}, not a message")


def _arguments(reply: Any) -> str:
    """The arguments of a tool that was called in place of a text, as JSON or a piece of it."""
    if pieces := getattr(reply, "tool_call_chunks", ()):
        return "".join(each["args"] or "" for each in pieces)
    if calls := getattr(reply, "tool_calls", ()):
        return json.dumps(calls[0]["args"], ensure_ascii=False)
    broken = getattr(reply, "invalid_tool_calls", ())
    return str(broken[0]["args"] or "") if broken else ""


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]
