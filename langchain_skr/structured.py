"""Objects of a schema: asked of LangChain's models in their own way, and given by a chain.

Example:
    >>> from langchain_core.language_models import FakeListChatModel
    >>> schema_options(FakeListChatModel(responses=[]), {"title": "Capital", "type": "object"})
    {}
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.configurable import DynamicRunnable
from langchain_core.runnables.fallbacks import RunnableWithFallbacks
from langchain_core.utils.json import parse_partial_json

from langchain_skr.chain import Asked, SKRChain
from langchain_skr.naming import layers
from skr_graphs.graph import response_format_of

ANY_OBJECT = {"title": "answer", "description": "Any.", "type": "object", "properties": {}}
"""The schema of an object of which nothing is said."""


def schema_options(model: Runnable[Any, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a call that make a model reply with an object, as ``create_agent`` sends them.

    Args:
        model: The model, also behind ``bind``, ``with_retry`` and the like.
        schema: The JSON Schema of the reply.

    Returns:
        The provider's response format where the model's profile has one; else a tool that must be
        called, where the model takes tools; else nothing, as behind fallbacks and models that are
        chosen run by run, which need not all understand the same options.
    """
    *outer, inner = layers(model)
    if any(isinstance(each, RunnableWithFallbacks | DynamicRunnable) for each in outer):
        return {}
    if not isinstance(inner, BaseChatModel) or type(inner).bind_tools is BaseChatModel.bind_tools:
        return {}
    title = str(schema["title"])
    if (inner.profile or {}).get("structured_output"):
        named = {"name": title, "schema": dict(schema)}
        wanted = {"type": "json_schema", "json_schema": named}
        bound = inner.bind_tools([], response_format=wanted)
    else:
        bound = inner.bind_tools([dict(schema)], tool_choice=title)
    options = dict(bound.kwargs) if isinstance(bound, RunnableBindingBase) else {}
    return {name: each for name, each in options.items() if each or name != "tools"}


class SKRObjectChain(SKRChain):
    """From a question to an object of the caller's schema; made with ``response_format=``.

    It gives an instance of the class, or a dict where the schema is a JSON Schema; None where
    there is no answer.
    """

    @property
    def OutputType(self) -> Any:
        """The caller's class, or a dict."""
        wanted = response_format_of(self.graph)
        return wanted.given if wanted and isinstance(wanted.given, type) else dict[str, Any]

    def invoke(self, input: Asked, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Answer a question, given as `Asked` says."""
        call = self._call(input, config, kwargs, output_keys="structured_response")
        return self._made_of_plain(self._untyped.invoke(**call))

    async def ainvoke(
        self, input: Asked, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Any:
        """Async version of `invoke`."""
        call = self._call(input, config, kwargs, output_keys="structured_response")
        return self._made_of_plain(await self._untyped.ainvoke(**call))

    def stream(
        self, input: Asked, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Any]:
        """Yield the object as it grows, as a dict; each holds all that is known so far."""
        growing = _Growing()
        call = self._call(input, config, kwargs, stream_mode="custom", output_keys="answer")
        events: Any = self._untyped.stream(**call)
        with call["context"].reading(events):
            for event in events:
                if growing.take(event):
                    yield growing.value

    async def astream(
        self, input: Asked, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Async version of `stream`."""
        growing = _Growing()
        call = self._call(input, config, kwargs, stream_mode="custom", output_keys="answer")
        async with aclosing(self._untyped.astream(**call)) as events:
            async for event in events:
                if growing.take(event):
                    yield growing.value

    def _made_of_plain(self, plain: Any) -> Any:
        wanted = response_format_of(self.graph)
        return wanted.made_of(plain) if wanted else plain


class _Growing:
    """The object that the tokens of an answer's JSON make so far."""

    def __init__(self) -> None:
        self.value: Any = None
        self._text = ""

    def take(self, event: Mapping[str, Any]) -> bool:
        """Read an event, and return whether the object has grown."""
        if event["type"] == "retract":
            self._text = ""
        if event["type"] != "token":
            return False
        self._text += event["text"]
        try:
            value = parse_partial_json(self._text)
        except ValueError:  # a refusal is no object
            return False
        before, self.value = self.value, value
        return bool(value is not None and value != before)
