"""Canaries for `llamaindex_skr._compat`: what it relies on in llama-index-core 0.14.25.

Where one fails, the new version works otherwise: look whether the module is still needed.
"""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import AsyncStreamingResponse
from llama_index.core.query_engine import SubQuestionQueryEngine
from llama_index.core.query_engine.sub_question_query_engine import SubQuestionAnswerPair
from llama_index.core.question_gen.types import SubQuestion
from llama_index.core.response_synthesizers import ResponseMode, get_response_synthesizer
from llama_index.core.schema import TextNode
from llama_index.core.tools import QueryEngineTool
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters

from llamaindex_skr._compat import (
    READERS_OF_TEXT,
    is_read_as_text,
    settable,
    streams,
    takes_response_format,
)
from llamaindex_skr.llms import openai_like
from tests.llamaindex_skr.fakes import Search, Speaker


class AsString(AsyncStreamingResponse):
    """A stream that can be turned into a string, and keeps who does so."""

    def __str__(self) -> str:
        caller: Any = inspect.currentframe()
        self.readers.append(caller.f_back.f_globals["__name__"])
        return "read as text"

    readers: list[str] = []  # noqa: RUF012 - shared by all of a test


class Engine(BaseQueryEngine):
    """Answers with a stream, and keeps whether it is known to be read as text."""

    def __init__(self) -> None:
        super().__init__(None)
        self.known: list[bool] = []

    async def _aquery(self, query_bundle: Any) -> Any:
        self.known.append(is_read_as_text())
        return AsString(response_gen=None)  # type: ignore[arg-type]

    def _query(self, query_bundle: Any) -> Any:
        raise NotImplementedError

    def _get_prompt_modules(self) -> Any:
        return {}


@pytest.fixture
def engine() -> Engine:
    AsString.readers.clear()
    return Engine()


async def test_a_tool_turns_an_async_response_into_a_string_at_once(engine: Engine) -> None:
    output = await QueryEngineTool.from_defaults(engine).acall("Who?")
    assert output.content == "read as text", "it awaits the stream: _compat may go"
    assert engine.known == [True]
    assert all(name.startswith(READERS_OF_TEXT) for name in AsString.readers)


async def test_so_does_the_engine_of_sub_questions(engine: Engine) -> None:
    tool = QueryEngineTool.from_defaults(engine, name="films", description="Films.")

    class One:
        async def agenerate(self, tools: Any, query: Any) -> list[SubQuestion]:
            return [SubQuestion(sub_question="Who?", tool_name="films")]

    divided = SubQuestionQueryEngine(
        question_gen=One(),  # type: ignore[arg-type]
        response_synthesizer=get_response_synthesizer(llm=Speaker(lambda prompt: "Ada.")),
        query_engine_tools=[tool],
        verbose=False,
    )
    response = await divided.aquery("Who?")
    assert "read as text" in response.source_nodes[0].node.get_content()
    assert engine.known == [True]
    assert {*AsString.readers} == {SubQuestionAnswerPair.__module__}


async def test_whoever_awaits_a_response_gets_the_stream(engine: Engine) -> None:
    await engine.aquery("Who?")
    assert engine.known == [False]


@pytest.mark.parametrize("takes", [True, False])
def test_openais_llms_say_whether_they_take_a_response_format(takes: bool) -> None:
    llm = openai_like("test", base_url="http://localhost:1/v1")
    llm.should_use_structured_outputs = takes
    assert takes_response_format(llm) is takes
    assert not takes_response_format(Speaker())


def test_a_synthesizer_keeps_to_itself_whether_it_streams() -> None:
    for mode in (ResponseMode.COMPACT, ResponseMode.REFINE, ResponseMode.TREE_SUMMARIZE):
        for streaming in (True, False):
            made = get_response_synthesizer(llm=Speaker(), streaming=streaming, response_mode=mode)
            assert streams(made) == streaming


def test_a_retriever_of_vectors_keeps_its_filters_to_itself_and_reads_them_anew() -> None:
    nodes = [TextNode(text=each, metadata={"name": each}) for each in ("one", "two")]
    retriever = VectorStoreIndex(nodes, embed_model=MockEmbedding(2)).as_retriever()
    assert settable(retriever, "filters") == "_filters"
    wanted = MetadataFilters(filters=[MetadataFilter(key="name", value="two")])
    setattr(retriever, settable(retriever, "filters"), wanted)
    assert [each.text for each in retriever.retrieve("?")] == ["two"]
    assert settable(retriever, "similarity_top_k") == "similarity_top_k"
    assert settable(Search(), "filters") == ""
