"""Hostile nodes are cleaned where a model reads them, and come back as they were found."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from llamaindex_skr import SKRQueryEngine
from tests.llamaindex_skr.fakes import Speaker

QUESTION = "Where was Ada Quill born?"
HIDDEN = "Ada\u200b Quill was \x1b[1mborn\x1b[0m in <|im_start|> Port\u202e Elm.\r\n\x00It rained."
QUOTE = HIDDEN.partition("\r")[0]


class Finds(BaseRetriever):
    """Finds one node, whatever is asked."""

    def __init__(self, node: TextNode) -> None:
        super().__init__()
        self.node = node

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=self.node, score=0.5)]


def asked(text: str) -> tuple[list[Any], Speaker]:
    speaker = Speaker(lambda _: "SUFFICIENT\nAda Quill was born in Port Elm [1].")
    node = TextNode(text=text, id_="7", metadata={"tags": text})
    engine = SKRQueryEngine.from_defaults(Finds(node), llm=speaker)
    responses = [engine.query(QUESTION), asyncio.run(engine.aquery(QUESTION))]
    return responses, speaker


def test_the_very_node_comes_back_and_the_model_sees_what_can_be_seen():
    responses, speaker = asked(HIDDEN)
    for response in responses:
        (source,) = response.source_nodes
        assert (source.node.text, source.node.metadata) == (HIDDEN, {"tags": HIDDEN})
    assert len(speaker.sent) == 2
    for said in speaker.sent:
        assert "Ada Quill was [1mborn[0m in < |im_start|> Port Elm.\nIt rained." in said
        assert not {*said} & {*"\u200b\x1b\u202e\r\x00"}


@pytest.mark.parametrize("text", ["born \ud800 in Port Elm", "\udfff", "\ud83d\ude00 is a smile"])
def test_a_lone_surrogate_does_not_end_the_question(text: str):
    responses, speaker = asked(text)
    assert [str(response) for response in responses] == ["Ada Quill was born in Port Elm [1]."] * 2
    assert all(said.encode() for said in speaker.sent)
