"""What is not taken is a TypeError that names what is right."""

from __future__ import annotations

from typing import Any

import pytest

from langchain_skr import SKRRetriever, create_skr_chain, create_skr_graph, create_skr_tool
from tests.langchain_skr.fakes import Library, model


@pytest.mark.parametrize("make", [create_skr_chain, create_skr_graph, create_skr_tool])
@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("k", r"store.as_retriever\(search_kwargs={'k': 5}\)"),
        ("prompt", r"templates=PromptTemplates\(...\)"),
        ("llm", "the model comes first"),
        ("memory", "a checkpointer remembers"),
        ("reranker", "compressor is meant"),
        ("temperature", "it is the model's"),
        ("filter", "it is the retriever's"),
        ("callbacks", "in a run's config"),
        ("return_source_documents", "return_sources=True"),
        ("max_references", r"budget=Budget\(max_references=...\) is meant"),
        ("budgett", "budget is meant, perhaps"),
        ("colour", "it takes arbiter, budget, checkpointer"),
    ],
)
def test_factories(make: Any, wrong: str, right: str) -> None:
    with pytest.raises(TypeError, match=f"{make.__name__} takes no {wrong}: .*{right}"):
        make(model(), Library(), **{wrong: 1})


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("top_k", "k is meant"),
        ("search_kwargs", r"store.as_retriever\(...\)"),
        ("compressor", r"as_retriever\(retriever, compressor=...\)"),
        ("llm", "model is meant"),
        ("routr", "router is meant, perhaps"),
    ],
)
def test_the_retriever(wrong: str, right: str) -> None:
    options: Any = {wrong: 1}
    with pytest.raises(TypeError, match=f"SKRRetriever takes no {wrong}: .*{right}"):
        SKRRetriever(retriever=Library(), **options)
    named = SKRRetriever(retriever=Library(), tags=["mine"], metadata={"a": 1})
    assert (named.tags, named.metadata) == (["mine"], {"a": 1})
