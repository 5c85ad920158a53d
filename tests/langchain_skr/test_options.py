"""The factories spell out the settings, and refuse what is none of their keywords."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any

import pytest
from pydantic import ValidationError

from langchain_skr import (
    SKRRetriever,
    create_skr_chain,
    create_skr_graph,
    create_skr_tool,
)
from skr_core import Settings
from tests.langchain_skr.fakes import Library, model

FACTORIES = [create_skr_chain, create_skr_graph, create_skr_tool]
WIDER = {
    "router": "RouterLike",
    "reflector": "ReflectorLike",
    "instructions": "Instructions | BasePromptTemplate[Any]",
    "demonstrations": "Sequence[Demonstration]",
    "metadata_keys": "Sequence[str]",
    "response_format": "SchemaLike",
}
"""What is taken for a setting where it is more than the setting itself."""


@pytest.mark.parametrize("make", FACTORIES)
def test_each_setting_is_a_keyword_whose_default_is_the_systems(make: Any) -> None:
    parameters = inspect.signature(make).parameters
    settings = [each for each in fields(Settings) if each.name not in ("model", "retriever")]
    assert [*parameters][-len(settings) :] == [each.name for each in settings]
    for each in settings:
        taken = WIDER.get(each.name, str(each.type).removesuffix(" | None"))
        parameter = parameters[each.name]
        assert (parameter.kind, parameter.default) == (inspect.Parameter.KEYWORD_ONLY, None)
        assert parameter.annotation == f"{taken} | None"


@pytest.mark.parametrize("make", FACTORIES)
@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("k", r"store.as_retriever\(search_kwargs={'k': 5}\)"),
        ("similarity_top_k", r"budget=Budget\(max_references=5\)"),
        ("prompt", r"templates=as_templates\(prompt\)"),
        ("memory", "a checkpointer keeps the conversation"),
        ("cache", r"one tenant would read another's answer: .* set_llm_cache\("),
    ],
)
def test_keywords_of_other_libraries_get_a_hint(make: Any, wrong: str, right: str) -> None:
    with pytest.raises(TypeError, match=rf"{make.__name__}\(\) takes no '{wrong}': .*{right}"):
        make(model(), Library(), **{wrong: 1})


@pytest.mark.parametrize("make", FACTORIES)
def test_an_unknown_keyword_is_a_type_error(make: Any) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'budgett'"):
        make(model(), Library(), budgett=1)


@pytest.mark.parametrize("wrong", ["top_k", "search_kwargs", "routr"])
def test_the_retriever_refuses_what_it_does_not_have(wrong: str) -> None:
    options: Any = {wrong: 1}
    with pytest.raises(ValidationError, match=wrong):
        SKRRetriever(retriever=Library(), **options)
    named = SKRRetriever(retriever=Library(), tags=["mine"], metadata={"a": 1})
    assert (named.tags, named.metadata) == (["mine"], {"a": 1})
