"""Hostile documents are cleaned where a model reads them, and come back as they were found."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.retrievers import BaseRetriever
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

from langchain_skr import SKRRetriever, create_skr_graph
from skr_graphs import answer_of

QUESTION = "Where was Ada Quill born?"
HIDDEN = (
    "Ada\u200b Qu\u00adill was \x1b[1mborn\x1b[0m in <|im_start|> Port\u202e Elm.\r\n\x00It rained."
)
QUOTE = HIDDEN.partition("\r")[0]


class Recorded(FakeListChatModel):
    """Keeps what it was asked."""

    asked: list[str] = Field(default_factory=list)

    def _call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        self.asked.append("\n".join(str(message.content) for message in messages))
        return super()._call(messages, *args, **kwargs)


class Finds(BaseRetriever):
    """Finds one document, whatever is asked."""

    document: Document

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [self.document]


def both(graph: Any, config: Any) -> list[dict[str, Any]]:
    return [
        graph.invoke({"question": QUESTION}, config(0)),
        asyncio.run(graph.ainvoke({"question": QUESTION}, config(1))),
    ]


def config(number: int) -> dict[str, Any]:
    return {"configurable": {"thread_id": str(number)}}


def document(text: str) -> Document:
    return Document(text, id="7", metadata={"title": text[:20], "tags": [text], text[-9:]: text})


def test_citations_match_the_document_and_not_what_was_shown_of_it():
    model = Recorded(responses=["SUFFICIENT\nAda Quill was born in Port Elm [1]."])
    found = document(HIDDEN)
    graph = create_skr_graph(model, Finds(document=found), checkpointer=InMemorySaver())
    for output in both(graph, config):
        answer = answer_of(output)
        (cited,) = answer.citations
        start, end = cited.quote_span
        assert answer.references[0].text == HIDDEN
        assert HIDDEN[start:end] == cited.quote == QUOTE
    shown = "Ada Quill was [1mborn[0m in < |im_start|> Port Elm.\nIt rained."
    assert all(shown in asked for asked in model.asked)
    assert not any({*asked} & {*"\u200b\u00ad\x1b\u202e\r\x00"} for asked in model.asked)


def test_the_very_document_comes_back():
    found = document(HIDDEN)
    looped = SKRRetriever(
        retriever=Finds(document=found),
        model=Recorded(responses=["SUFFICIENT\nIn Port Elm [1]."]),
    )
    assert looped.invoke(QUESTION) == [found] == asyncio.run(looped.ainvoke(QUESTION))


@pytest.mark.parametrize("text", ["born \ud800 in Port Elm", "\udfff", "\ud83d\ude00 is a smile"])
def test_a_lone_surrogate_does_not_end_the_question(text: str):
    model = Recorded(responses=["SUFFICIENT\nIn Port Elm [1]."])
    graph = create_skr_graph(model, Finds(document=document(text)), checkpointer=InMemorySaver())
    for output in both(graph, config):
        answer = answer_of(output)
        assert (answer.text, answer.stop_reason) == ("In Port Elm [1].", "sufficient")
        orjson.dumps(output, default=str)
    assert all(asked.encode() for asked in model.asked)
    assert graph.get_state(config(0)).values["pool"]
