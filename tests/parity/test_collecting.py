"""Collecting over both frameworks' models and retrievers gives the same records, in both forms."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda

import langchain_skr
import llamaindex_skr
from skr_core import Question, Settings
from skr_core.testing import MappingRetriever
from skr_graphs import GraphAnswerer
from skr_learn import acollect, collect

ASKED = [
    Question("1", "Who directed the film Jaws?", ("Steven Spielberg",)),
    Question("2", "Where was Steven Spielberg born?", ("Cincinnati",)),
]
PASSAGES = {
    "Who directed the film Jaws?": ["Jaws is a film directed by Steven Spielberg."],
    "Where was Steven Spielberg born?": ["Steven Spielberg was born in Cincinnati."],
}


@pytest.mark.parametrize("plug_in", [langchain_skr, llamaindex_skr])
async def test_both_forms_collect_the_same(plug_in: Any) -> None:
    model = plug_in.load_model("extractive")
    answerer = GraphAnswerer(Settings.of(model, MappingRetriever(PASSAGES), decompose=True))
    found = collect(ASKED, answerer, corpus="films", ask=["confidence"])
    assert [each.effect for each in found] == ["helps", "helps"]
    assert [list(each.statements) for each in found] == [["confidence:punish_explain"]] * 2
    assert found[0].stamp.corpus == "films"
    assert await acollect(ASKED, answerer, corpus="films", ask=["confidence"]) == found


def test_a_framework_s_own_model_and_retriever_are_taken() -> None:
    model = FakeListChatModel(responses=["Lyon.", "Paris [1]."])
    search = RunnableLambda(lambda query: [Document("Paris is the capital of France.")])
    (record,) = collect(
        [Question("1", "Capital of France?", ("Paris",))], GraphAnswerer(Settings.of(model, search))
    )
    assert record.effect == "helps"
