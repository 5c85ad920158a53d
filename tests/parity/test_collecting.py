"""Collecting over both frameworks' models and retrievers gives the same records, in both forms."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.graph import START, StateGraph
from llama_index.core.prompts import PromptTemplate

import langchain_skr
import llamaindex_skr
from langchain_skr import create_skr_chain, create_skr_graph
from llamaindex_skr import SKRChatEngine, SKRQueryEngine
from skr_core import Budget, Question, Settings
from skr_core.errors import InputError
from skr_core.routers import NeverRetrieve
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_graphs import GraphAnswerer, SKRState
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


def search(query: str) -> list[Document]:
    return [Document("Paris is the capital of France.")]


def apps(**options: Any) -> dict[str, Any]:
    """Each app of ours over a model that says what the prompt's task is."""
    model = ScriptedModel({"answer_directly": ["Lyon."]}, otherwise="Paris [1].")
    found = RunnableLambda(search)
    parts = MappingRetriever({"Capital of France?": ["Paris is the capital of France."]})
    return {
        "chain": create_skr_chain(model, found, **options),
        "sources": create_skr_chain(model, found, return_sources=True, **options),
        "graph": create_skr_graph(model, found, **options),
        "engine": SKRQueryEngine.from_defaults(parts, llm=model, **options),
        "chat": SKRChatEngine.from_defaults(parts, llm=model, **options),
    }


CAPITAL = [Question("1", "Capital of France?", ("Paris",))]
OPTIONS = {"budget": Budget(max_rounds=2), "when_insufficient": "refuse", "router": NeverRetrieve()}


@pytest.mark.parametrize("name", apps())
async def test_what_is_served_is_what_is_collected(name: str) -> None:
    app = apps(**OPTIONS)[name]
    (record,) = collect(CAPITAL, app)
    assert (record.direct.answer, record.retrieved.answer) == ("Lyon.", "Paris [1].")
    model = ScriptedModel()
    assert record.stamp.system == Settings.of(model, None, **OPTIONS).version  # type: ignore[arg-type]
    assert record.stamp.system != collect(CAPITAL, apps()[name])[0].stamp.system
    assert await acollect(CAPITAL, app) == [record]


def test_what_a_config_replaces_is_collected_too() -> None:
    chain = apps()["chain"]
    bound = chain.with_config(configurable={"budget": {"max_rounds": 1}})
    plain, replaced = (collect(CAPITAL, each)[0].stamp.system for each in (chain, bound))
    assert replaced == Settings.of(ScriptedModel(), None, budget=Budget(max_rounds=1)).version
    assert plain != replaced


def test_words_that_an_engine_was_given_later_are_collected() -> None:
    engine = apps()["engine"]
    before = collect(CAPITAL, engine)[0].stamp
    engine.update_prompts({"answer_directly": PromptTemplate("Say it: {query_str}")})
    assert collect(CAPITAL, engine)[0].stamp.system != before.system


def test_the_config_of_a_graph_reaches_its_retriever() -> None:
    def search(query: str, config: RunnableConfig) -> list[Document]:
        return [Document(f"The capital of {config['configurable']['tenant']} is Paris.")]

    model = ScriptedModel(["Paris [1]."])
    graph = create_skr_graph(model, RunnableLambda(search))
    collect(CAPITAL, graph.with_config(configurable={"tenant": "Gaul"}))
    assert "capital of Gaul" in model.prompts[-1].text


class Foreign:
    def query(self, text: str) -> str:
        return text


@pytest.mark.parametrize(
    "app",
    [
        Foreign(),
        FakeListChatModel(responses=["Paris."]),
        FakeListChatModel(responses=["Paris."]).with_config(tags=["a"]),
        lambda question: "Paris.",
        SKRQueryEngine,
        "chain",
        None,
    ],
)
def test_what_is_not_ours_is_refused_with_what_to_make_of_it(app: object) -> None:
    with pytest.raises(InputError, match="by each action: give what is made of its"):
        collect(CAPITAL, app)


def test_a_graph_around_ours_is_refused() -> None:
    around = StateGraph(SKRState).add_node("ours", apps()["graph"]).add_edge(START, "ours")
    with pytest.raises(InputError, match="stands within it"):
        collect(CAPITAL, around.compile())
