"""LlamaIndex's LLMs as language models, and LLMs by their id.

An LLM is sent what its own ``predict`` would send: its ``system_prompt`` first, then chat messages;
a completion model that has a ``query_wrapper_prompt`` gets one text in it.

Example:
    >>> from llama_index.core.llms import MockLLM
    >>> model = LlamaIndexModel(MockLLM(max_tokens=2))
    >>> model.generate(Prompt("answer_directly", "Capital of France?", "Capital of France?")).text
    'text text'
"""

from __future__ import annotations

import gc
import json
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from llama_index.core.base.llms.generic_utils import messages_to_prompt
from llama_index.core.base.llms.types import ImageBlock, TextBlock
from llama_index.core.constants import DEFAULT_CONTEXT_WINDOW
from llama_index.core.llms import LLM, ChatMessage, ChatResponse, CompletionResponse
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.tools import FunctionTool, ToolMetadata
from llama_index.core.tools.types import BaseTool
from pydantic import BaseModel

from llamaindex_skr._compat import takes_response_format
from llamaindex_skr.nodes import image_of
from skr_core._compat import renew_connections_in_children
from skr_core.budget import believed, estimate_usage
from skr_core.cleaning import break_tokens, remember_keys
from skr_core.errors import InputError, ModelError, extra, translated
from skr_core.models.adapting import framework_of, named_model
from skr_core.models.chunked import NO_IMAGES, ChunkedModel, Reply, logprobs_in
from skr_core.models.openai_server import server_address, server_key
from skr_core.models.windows import Window, context_window, most_tokens
from skr_core.ports import LanguageModel, OnToken
from skr_core.types import CUT_OFF, Generation, Prompt, Usage

if TYPE_CHECKING:
    from llama_index.llms.openai_like import OpenAILike

ModelLike = LanguageModel | LLM | str
"""A model of LlamaIndex, an id such as ``openai:gpt-4.1-mini``, or a `LanguageModel`."""

Chunk = ChatResponse | CompletionResponse
"""A reply, or a piece of one."""

CONTEXT_WINDOW = 128_000

OPENAI_PREFIXES = ("openai", "ft")
"""Words before the colon of OpenAI's ids; the second one begins the ids of fine-tuned models."""

_UNNAMED = ("custom_llm", "base_component")
"""The class names that LlamaIndex gives to classes without a name of their own."""

_NOT_SETTINGS = ("api_key", "default_headers", "timeout", "max_retries", "reuse_client")
"""Fields of an LLM that decide whether it replies, and not what it replies."""


class LlamaIndexReply(Reply):
    """A reply of a LlamaIndex LLM, taken chunk by chunk; one chunk where nothing is streamed."""

    def __init__(self, name: str, on_token: OnToken | None) -> None:
        super().__init__(name, on_token)
        self.usage: Usage | None = None
        self.logprobs: list[float] = []
        self.tokens: list[str] = []
        self.finish_reason = ""

    def add(self, chunk: Chunk) -> None:
        """Take the next chunk."""
        # A chunk of a stream has its new text in `delta`; a whole reply has none.
        whole = chunk.message.content if isinstance(chunk, ChatResponse) else chunk.text
        self.take((chunk.delta if chunk.delta is not None else whole) or "")
        self.usage = _usage(chunk) or self.usage  # the last chunk of a stream has it
        # LlamaIndex keeps the alternatives of each token, not the token's own: only `raw` has that.
        choice = (_get(chunk.raw, "choices") or [None])[0]
        logprobs, tokens = logprobs_in(_get(_get(choice, "logprobs"), "content"))
        self.logprobs += logprobs
        self.tokens += tokens
        reason = _get(choice, "finish_reason") or _get(chunk.raw, "stop_reason")
        self.finish_reason = str(reason or "") or self.finish_reason
        if not self.finish_reason and _get(chunk.raw, "object") == "chat.completion.chunk":
            self.finish_reason = CUT_OFF  # unless another one comes

    def generation(self, prompt: Prompt) -> Generation:
        """The whole reply; raises `ModelError` when it is empty."""
        text = self.text()
        usage = believed(self.usage, prompt, text) if self.usage else estimate_usage(prompt, text)
        logprobs = tuple(self.logprobs) or None
        return Generation(text, usage, logprobs, self.finish_reason, tuple(self.tokens))


class LlamaIndexModel(ChunkedModel):
    """A LlamaIndex LLM as a `LanguageModel`.

    An LLM derived from ``CustomLLM`` has no async implementation: its ``achat`` blocks the event
    loop while it works.

    Args:
        llm: The LLM. A completion model is prompted through LlamaIndex's own chat template, or
            through its ``query_wrapper_prompt``.
        name: The name in records; by default provider and model, such as ``openai:gpt-4.1-mini``.
        streaming: Whether a call with `on_token` asks for a stream; otherwise `on_token` gets the
            whole reply at once. Many servers report no usage in a stream unless they are asked to,
            see `openai_like`.

    Example:
        >>> from llama_index.core.llms import MockLLM
        >>> LlamaIndexModel(MockLLM()).name
        'mockllm'
    """

    reply_class = LlamaIndexReply

    def __init__(self, llm: LLM, *, name: str | None = None, streaming: bool = False) -> None:
        self.llm = llm
        self.name = name or _name_of(llm)
        self.streaming = streaming
        remember_keys(llm)
        renew_connections_in_children(llm)

    @property
    def version(self) -> str:
        """The LLM's settings that decide what it replies, such as its temperature."""
        fields = self.llm.to_dict().items()
        return str(sorted((name, value) for name, value in fields if name not in _NOT_SETTINGS))

    @property
    def temperature(self) -> float | None:
        """The temperature of its replies; None where it has none."""
        given = getattr(self.llm, "temperature", None)
        return float(given) if isinstance(given, int | float) else None

    @property
    def window(self) -> Window | None:
        """The window that the LLM's metadata declare; None where they only have the default.

        The LLM's own system prompt, which is sent with every prompt, is taken off.
        """
        try:
            metadata = self.llm.metadata
        except ValueError:  # OpenAI's knows its own models alone
            return None
        if metadata.context_window in (None, DEFAULT_CONTEXT_WINDOW):
            return None
        left = metadata.context_window - most_tokens(self.llm.system_prompt or "")
        return Window(max(0, left), max(0, metadata.num_output or 0))

    @property
    def takes_schemas(self) -> bool:
        """Whether it is sent the schema of an object, as a response format or as a tool."""
        return takes_response_format(self.llm) or self._takes_tools

    @property
    def _takes_tools(self) -> bool:
        return isinstance(self.llm, FunctionCallingLLM) and (
            self.llm.metadata.is_function_calling_model
        )

    def _chunks(self, prompt: Prompt, stream: bool) -> Generator[Chunk, None, None]:
        with translated(ModelError, self.name):
            verb, sent, options = self._request(prompt)
            if (tool := self._tool_for(prompt)) is not None:
                llm: Any = self.llm  # a FunctionCallingLLM
                said = llm.chat_with_tools([tool], chat_history=sent, tool_required=True, **options)
                yield self._called(said)
            elif stream:
                try:
                    yield from getattr(self.llm, f"stream_{verb}")(sent, **options)
                except GeneratorExit:
                    # OpenAI's client keeps a stream in a cycle of references, and its connection
                    # open with it, where LlamaIndex does not read it to its end.
                    gc.collect()
                    raise
            else:
                yield getattr(self.llm, verb)(sent, **options)

    async def _achunks(self, prompt: Prompt, stream: bool) -> AsyncGenerator[Chunk, None]:
        with translated(ModelError, self.name):
            verb, sent, options = self._request(prompt)
            if (tool := self._tool_for(prompt)) is not None:
                llm: Any = self.llm  # a FunctionCallingLLM
                said = await llm.achat_with_tools(
                    [tool], chat_history=sent, tool_required=True, **options
                )
                yield self._called(said)
            elif stream:
                async for chunk in await getattr(self.llm, f"astream_{verb}")(sent, **options):
                    yield chunk
            else:
                yield await getattr(self.llm, f"a{verb}")(sent, **options)

    def _request(self, prompt: Prompt) -> tuple[Literal["chat", "complete"], Any, dict[str, Any]]:
        """The LLM's method for a prompt, and the arguments of the call."""
        llm, options = self.llm, self._asked_for(self.llm)
        if prompt.schema is not None and takes_response_format(llm):
            named = {"name": prompt.schema["title"], "schema": dict(prompt.schema)}
            options["response_format"] = {"type": "json_schema", "json_schema": named}
        roles = ("user", "assistant")
        turns = [
            ChatMessage(turn, role=roles[number % 2]) for number, turn in enumerate(prompt.history)
        ]
        images = _images(prompt)
        if images and not llm.metadata.is_chat_model:
            raise InputError(NO_IMAGES.format(self.name))
        turns.append(ChatMessage(role="user", blocks=[TextBlock(text=prompt.text), *images]))
        systems = [text for text in (llm.system_prompt, prompt.system) if text]
        if llm.query_wrapper_prompt is None or llm.metadata.is_chat_model:
            messages = [ChatMessage(text, role="system") for text in systems] + turns
            return "chat", messages, options
        asked = messages_to_prompt(turns) if prompt.history else prompt.text
        text = llm.query_wrapper_prompt.format(query_str="\n\n".join([*systems, asked]))
        return "complete", text, {"formatted": True, **options}

    def _tool_for(self, prompt: Prompt) -> BaseTool | None:
        """The tool whose arguments are the object that is wanted, for an LLM that takes tools."""
        if prompt.schema is None or takes_response_format(self.llm) or not self._takes_tools:
            return None
        schema = dict(prompt.schema)

        class Arguments(BaseModel):
            @classmethod
            def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
                return schema

        metadata = ToolMetadata(str(schema["description"]), str(schema["title"]), Arguments)
        return FunctionTool(fn=lambda **given: given, metadata=metadata)

    def _called(self, said: ChatResponse) -> ChatResponse:
        """The reply with the arguments of its tool as its text; as it is where it calls none."""
        llm: Any = self.llm
        calls = llm.get_tool_calls_from_response(said, error_on_no_tool_call=False)
        if not calls:
            return said
        text = json.dumps(calls[0].tool_kwargs, ensure_ascii=False)
        message = ChatMessage(text, role="assistant")
        return ChatResponse(message=message, raw=said.raw, additional_kwargs=said.additional_kwargs)


def _images(prompt: Prompt) -> list[TextBlock | ImageBlock]:
    """The images of a prompt for an answer and of its references, each behind its name."""
    shown = list(prompt.images)
    if prompt.task in ("answer_with_references", "answer_anyway"):
        shown += [
            replace(image, name=f"[{number}]")
            for number, reference in enumerate(prompt.references, start=1)
            if (image := image_of(reference)) is not None
        ]
    blocks: list[TextBlock | ImageBlock] = []
    for each in shown:
        if each.name:
            blocks.append(TextBlock(text=each.name))
        # Without a type LlamaIndex looks at the data for one.
        data, kind = each.data.encode() or None, each.mime_type or None
        blocks.append(ImageBlock(image=data, url=each.url or None, image_mimetype=kind))
    return blocks


def as_language_model(
    model: ModelLike, *, base_url: str | None = None, streaming: bool = False
) -> LanguageModel:
    """Make a `LanguageModel` of a LlamaIndex LLM or of a model's id.

    Args:
        model: A LlamaIndex LLM, an id for `load_model`, or a `LanguageModel`, which is returned as
            it is.
        base_url: The address of an OpenAI-compatible server; for ids only.
        streaming: Whether an LLM is asked for a stream, as in `LlamaIndexModel`; models loaded by
            their id stream anyway.

    Raises:
        InputError: The model is none of these, or the id cannot be used.

    Example:
        >>> from llama_index.core.llms import MockLLM
        >>> as_language_model(MockLLM()).name
        'mockllm'
    """
    if isinstance(model, str):
        return load_model(model, base_url=base_url)
    if isinstance(model, LLM):
        given = getattr(model, "additional_kwargs", None) or {}
        if model.class_name() == "structured_llm" or "response_format" in given:
            raise InputError(
                "this LLM was given a schema already, by as_structured_llm or a response_format of "
                "its own: give the LLM without it, and output_cls= or response_format= beside it"
            )
        return LlamaIndexModel(model, streaming=streaming)
    # LangChain's models have all methods of the port, with other meanings.
    if isinstance(model, LanguageModel) and framework_of(model) is None:
        return model
    raise InputError(
        f"a model is wanted, not {type(model).__name__}: "
        "give a LlamaIndex LLM or an id such as 'openai:gpt-4.1-mini'"
    )


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

    Args:
        spec: The id: ``extractive``, which needs no model at all (``extractive:FILE`` knows the
            contents of a file), or ``openai:`` and the id of a model of OpenAI or of a server with
            OpenAI's API; the prefix may be left out. For other providers make the LlamaIndex
            ``LLM`` and give that.
        base_url: The server's address, ending in ``/v1``; by default that in ``OPENAI_BASE_URL``.
        api_key: The key; by default that in ``OPENAI_API_KEY``. A server with an address of its
            own needs none.
        temperature: The temperature sent with each request; None sends none, and the provider's
            own holds.
        logprobs: Whether to ask for the log-probabilities of tokens, by which `UncertaintyRouter`
            decides; it samples answers without them.
        special_tokens: The tokens that separate the turns of a chat for a model whose own have no
            usual shape, as its tokenizer spells them: broken wherever a passage is shown from now
            on, see `skr_core.cleaning.break_tokens`.

    Raises:
        InputError: A key is missing, the id names another provider, or the model has no
            log-probabilities to ask for.
        MissingDependency: The extra ``llamaindex-openai`` is not installed.

    Example:
        >>> load_model("openai:gpt-4.1-mini", base_url="http://localhost:8000/v1").name
        'openai:gpt-4.1-mini'
    """
    break_tokens(special_tokens)
    if (named := named_model(spec)) is not None:
        if logprobs:
            raise InputError(f"{spec!r} has no log-probabilities to ask for: leave logprobs out")
        return named
    provider, _, rest = spec.partition(":")
    if rest and provider not in OPENAI_PREFIXES and server_address(base_url) is None:
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
    again = partial(
        load_model,
        spec,
        base_url=base_url,
        api_key=api_key,
        temperature=temperature,
        logprobs=logprobs,
    )
    return LlamaIndexModel(llm, streaming=True).made_by(again)


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

    LlamaIndex's OpenAI models wrap retries around those of the OpenAI client, so that the numbers
    multiply: ten requests for one question that a busy server refuses. Here retrying is left to
    the client alone, which honours Retry-After. Streams report usage. The model may be used in any
    number of event loops, see `skr_core.models.clients`.

    Args:
        model: The model's id.
        base_url: The server's address; by default that in ``OPENAI_BASE_URL``, else OpenAI's.
        api_key: The key; by default that in ``OPENAI_API_KEY``. A server with an address of its
            own needs none.
        temperature: The temperature sent with each request; None sends none, and the provider's
            own holds.
        logprobs: Whether to ask for the log-probabilities of tokens, by which `UncertaintyRouter`
            decides; it samples answers without them.
        tries: The largest number of requests; the client waits between them as the server's
            Retry-After says.
        timeout: The seconds that the server may be silent; at most those that the question's
            deadline leaves.

    Raises:
        InputError: A key is missing.
        MissingDependency: The extra ``llamaindex-openai`` is not installed.

    Example:
        >>> openai_like("llama-3.1-8b", base_url="http://localhost:8000/v1").max_retries
        0
    """
    with extra("llamaindex-openai"):
        import openai
        from llama_index.llms.openai_like import OpenAILike

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
        "openai_client": openai.OpenAI(**options, http_client=clients.sync_client(timeout)),
        "async_openai_client": openai.AsyncOpenAI(
            **options, http_client=clients.async_client(timeout)
        ),
    }
    # LlamaIndex drops stream_options from requests that are not streamed.
    sent: dict[str, Any] = {"stream_options": {"include_usage": True}}
    if temperature is None:
        sent["temperature"] = openai.NOT_GIVEN  # LlamaIndex would send one of its own
    else:
        given["temperature"] = temperature
    return OpenAILike(
        model=model,
        api_base=server,
        api_key=key,
        context_window=context_window(model) or CONTEXT_WINDOW,
        is_chat_model=True,
        logprobs=logprobs or None,  # False is sent too, and not every server knows the word
        timeout=timeout,
        max_retries=0,  # switches LlamaIndex's retries off; the clients bring their own
        additional_kwargs=sent,
        **given,
    )


def _name_of(llm: LLM) -> str:
    """An LLM's name in records: its provider and, where it gives one, its id.

    Every server with OpenAI's API is called ``openai``, as under LangChain. A class of the caller's
    own that gives itself no name is called by the name of the class.
    """
    name = llm.class_name()
    name = type(llm).__name__ if name in _UNNAMED else name
    provider = name.lower().removesuffix("_llm").removesuffix("like")
    identity = llm.metadata.model_name
    return provider if identity == "unknown" else f"{provider}:{identity}"


def _get(source: Any, *names: str) -> Any:
    """The first of these that a raw reply has; providers send objects or mappings."""
    for name in names:
        value = source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
        if value is not None:
            return value
    return None


def _usage(chunk: Chunk) -> Usage | None:
    raw = _get(chunk.raw, "usage", "usage_metadata")
    details = _get(raw, "prompt_tokens_details", "input_tokens_details")
    for given in (chunk.additional_kwargs, raw):
        sent = _get(given, "prompt_tokens", "input_tokens") or 0
        received = _get(given, "completion_tokens", "output_tokens") or 0
        if sent or received:
            read = _get(details, "cached_tokens") or 0
            return Usage(sent, received, calls=1, cache_read_tokens=read)
    return None
