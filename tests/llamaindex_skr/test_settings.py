"""The settings of the factories: the same everywhere, with hints for usual mistakes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, get_type_hints

import pytest

from llamaindex_skr import (
    SKRChatEngine,
    SKRQueryEngine,
    SKRRetriever,
)
from llamaindex_skr.query_engine import InstructionsLike
from skr_core import Demonstration, Settings
from skr_core.errors import InputError
from skr_core.settings import ReflectorLike, RouterLike, SchemaLike
from tests.llamaindex_skr.fakes import Search, Speaker

# Where a factory takes more than the setting itself.
WIDER: dict[str, Any] = {
    "router": RouterLike,
    "reflector": ReflectorLike,
    "scope": str | Callable[[], str],
    "instructions": InstructionsLike,
    "demonstrations": Sequence[Demonstration],
    "metadata_keys": Sequence[str],
    "response_format": SchemaLike,
}


@pytest.mark.parametrize("factory", [SKRQueryEngine.from_defaults, SKRChatEngine.from_defaults])
def test_each_factory_names_each_setting(factory: Callable[..., Any]) -> None:
    names = [each.name for each in fields(Settings) if each.name not in ("model", "retriever")]
    types = get_type_hints(Settings)
    taken = inspect.signature(factory).parameters
    assert [name for name in taken if name in names] == names
    assert {taken[name].default for name in names} == {None}
    assert {taken[name].kind for name in names} == {inspect.Parameter.KEYWORD_ONLY}
    module = inspect.getmodule(factory)
    assert module is not None
    for name in names:
        hint = eval(str(taken[name].annotation), vars(module))
        assert hint == WIDER.get(name, types[name]) | None


FACTORIES: dict[str, Callable[..., Any]] = {
    "SKRQueryEngine.from_defaults": SKRQueryEngine.from_defaults,
    "SKRChatEngine.from_defaults": SKRChatEngine.from_defaults,
    "SKRRetriever.__init__": SKRRetriever,
}


@pytest.mark.parametrize(
    ("factory", "wrong", "right"),
    [
        ("SKRQueryEngine.from_defaults", "k", "similarity_top_k is the number"),
        ("SKRQueryEngine.from_defaults", "top_k", "similarity_top_k is the number"),
        ("SKRQueryEngine.from_defaults", "refine_template", "give response_synthesizer="),
        ("SKRQueryEngine.from_defaults", "system_prompt", r"templates=PromptTemplates\("),
        ("SKRQueryEngine.from_defaults", "memory", r"SKRChatEngine.from_defaults\("),
        ("SKRQueryEngine.from_defaults", "chat_history", r"SKRChatEngine.from_defaults\("),
        ("SKRChatEngine.from_defaults", "top_k", "similarity_top_k is the number"),
        ("SKRChatEngine.from_defaults", "prompt", r"templates=PromptTemplates\("),
        ("SKRChatEngine.from_defaults", "prefix_messages", "instructions="),
        ("SKRRetriever.__init__", "similarity_top_k", "k is the number of nodes"),
        ("SKRRetriever.__init__", "text_qa_template", r"templates=PromptTemplates\("),
    ],
)
def test_usual_mistakes_get_a_hint(factory: str, wrong: str, right: str) -> None:
    with pytest.raises(TypeError, match=rf"{factory}\(\) takes no '{wrong}': .*{right}"):
        FACTORIES[factory](Search(), **{wrong: 1})


@pytest.mark.parametrize("factory", FACTORIES)
def test_other_mistakes_are_python_s_own(factory: str) -> None:
    with pytest.raises(TypeError, match=rf"{factory}\(\) got an unexpected keyword.*'budgett'"):
        FACTORIES[factory](Search(), budgett=1)


def test_what_is_not_made_of_a_graph_names_from_defaults() -> None:
    for made in (SKRQueryEngine, SKRChatEngine):
        with pytest.raises(InputError, match=rf"not from Search: {made.__name__}.from_defaults\("):
            made(Search())  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a memory of LlamaIndex is wanted, not int"):
        SKRChatEngine.from_defaults(Search(), llm=Speaker(), memory=3)  # type: ignore[arg-type]
    said: Any = ["Hello."]
    with pytest.raises(InputError, match="chat_history holds str: give a list of ChatMessage"):
        SKRChatEngine.from_defaults(Search(), llm=Speaker(), chat_history=said)
    with pytest.raises(InputError, match="chat_history holds str: give a list of ChatMessage"):
        SKRChatEngine.from_defaults(Search(), llm=Speaker()).chat("And he?", said)
