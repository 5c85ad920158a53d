"""The nodes alone, and in a graph made by hand, over states of several kinds, sync and async."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic import BaseModel
from typing_extensions import TypedDict

from skr_core import Decision, PromptTemplates, Reference
from skr_core.errors import InputError, ModelError
from skr_core.plain import from_plain
from skr_core.reflectors import JudgeReflector
from skr_core.routers import (
    AlwaysRetrieve,
    NeverRetrieve,
)
from skr_core.testing import BrokenModel, ScriptedModel
from skr_graphs import (
    StateKeys,
    create_follow_up_node,
    create_reflect_node,
    create_route_node,
)
from tests.skr_graphs.deciding import drafting

Run = Callable[[Any, Any], Any]


def blocking(runnable: Any, state: Any) -> Any:
    return runnable.invoke(state)


def awaited(runnable: Any, state: Any) -> Any:
    return asyncio.run(runnable.ainvoke(state))


both = pytest.mark.parametrize("run", [blocking, awaited])

QUESTION = "Where was the designer of the lighthouse born?"
BRIEF = PromptTemplates(answer_directly="In one word: {question}")
LIBRARY = {
    QUESTION: "Ada Quill designed the lighthouse.",
    "birthplace of Ada Quill": "Ada Quill was born in Port Elm.",
}


class Mine(TypedDict, total=False):
    question: str
    decision: dict[str, Any]
    queries: list[str]
    asked: list[str]
    documents: Annotated[list[Document], operator.add]
    generation: str
    reflection: dict[str, Any]


def make_graph(model: ScriptedModel, router: Any) -> Any:
    """What a user writes: own retrieval, own answers, own edges."""
    keys = StateKeys(references="documents", answer="generation")

    def retrieve(state: Mine) -> Mine:
        queries = state.get("queries") or [state["question"]]
        return {"documents": [Document(LIBRARY[query]) for query in queries]}

    def answer(state: Mine) -> Mine:
        found = [document.page_content for document in state.get("documents", [])]
        known = LIBRARY["birthplace of Ada Quill"] in found
        return {"generation": "In Port Elm [2]." if known else "I don't know."}

    def after_reflect(state: Mine) -> str:
        return END if state["reflection"]["sufficient"] else "follow_up"

    builder = StateGraph(Mine)
    builder.add_node("route", create_route_node(router, keys=keys))
    builder.add_node("retrieve", retrieve)
    builder.add_node("answer", answer)
    builder.add_node("reflect", create_reflect_node(keys=keys))
    builder.add_node("follow_up", create_follow_up_node(model, keys=keys))
    builder.add_edge(START, "route")
    builder.add_conditional_edges(
        "route", lambda state: "retrieve" if state["decision"]["retrieve"] else "answer"
    )
    builder.add_edge("retrieve", "answer")
    builder.add_conditional_edges(
        "answer", lambda state: "reflect" if state["decision"]["retrieve"] else END
    )
    builder.add_conditional_edges("reflect", after_reflect)
    builder.add_conditional_edges(
        "follow_up", lambda state: "retrieve" if state["queries"] else END
    )
    return builder.compile()


@both
def test_a_graph_made_by_hand_goes_on_until_its_references_suffice(run: Run) -> None:
    model = ScriptedModel(["birthplace of Ada Quill"])
    state = run(make_graph(model, AlwaysRetrieve()), {"question": QUESTION})
    assert state["generation"] == "In Port Elm [2]."
    assert state["reflection"]["sufficient"]
    assert state["asked"] == [QUESTION, "birthplace of Ada Quill"]
    (prompt,) = model.prompts
    assert "Ada Quill designed the lighthouse." in prompt.text


@both
def test_a_known_question_is_not_retrieved_for(run: Run) -> None:
    state = run(make_graph(ScriptedModel(), NeverRetrieve()), {"question": QUESTION})
    assert state["generation"] == "I don't know."
    assert not state["decision"]["retrieve"]
    assert state["documents"] == []


@both
def test_the_loop_ends_where_no_new_query_is_named(run: Run) -> None:
    state = run(make_graph(ScriptedModel([QUESTION]), AlwaysRetrieve()), {"question": QUESTION})
    assert state["queries"] == []
    assert not state["reflection"]["sufficient"]


def test_decisions_are_plain_values_that_a_checkpointer_holds() -> None:
    builder = StateGraph(Mine)
    builder.add_node("route", create_route_node(AlwaysRetrieve()))
    builder.add_edge(START, "route")
    graph = builder.compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    graph.invoke({"question": QUESTION}, thread)
    assert from_plain(Decision, graph.get_state(thread).values["decision"]).retrieve


@both
def test_the_latest_human_message_is_the_question(run: Run) -> None:
    class Chat(MessagesState):
        decision: dict[str, Any]

    asked = []

    class Remembers(AlwaysRetrieve):
        def decide(self, question: str) -> Decision:
            asked.append(question)
            return super().decide(question)

    builder = StateGraph(Chat)
    builder.add_node("route", create_route_node(Remembers(), keys=StateKeys(question="messages")))
    builder.add_edge(START, "route")
    turns = [HumanMessage("Hello"), AIMessage("Hello."), HumanMessage(QUESTION), AIMessage("Hm.")]
    assert run(builder.compile(), {"messages": turns})["decision"]["retrieve"]
    assert asked == [QUESTION]


@both
def test_answers_may_be_messages_too(run: Run) -> None:
    keys = StateKeys(question="messages", answer="messages")
    state = {
        "messages": [HumanMessage("Capital?"), AIMessage("Paris [1].")],
        "references": [Reference.of("It is Paris.")],
    }
    assert run(create_reflect_node(keys=keys), state)["reflection"]["sufficient"]


@dataclass
class Dataclass:
    question: str
    decision: dict[str, Any] = field(default_factory=dict)


class Model(BaseModel):
    question: str
    decision: dict[str, Any] = {}


@both
@pytest.mark.parametrize("schema", [Dataclass, Model])
def test_states_of_other_kinds(schema: type, run: Run) -> None:
    builder: Any = StateGraph(schema)
    builder.add_node("route", create_route_node(AlwaysRetrieve()))
    builder.add_edge(START, "route")
    assert run(builder.compile(), schema(question=QUESTION))["decision"]["retrieve"]


@both
def test_a_router_that_looks_at_the_direct_answer_leaves_it_in_the_decision(run: Run) -> None:
    model = ScriptedModel(["In Port Elm [7]."])
    router = drafting(retrieves=False)
    node = create_route_node(router, model=model, templates=BRIEF)
    assert run(node, {"question": QUESTION})["decision"]["draft"] == "In Port Elm [7]."
    assert [prompt.text for prompt in model.prompts] == [f"In one word: {QUESTION}"]
    with pytest.raises(InputError, match="create_route_node has no model to ask"):
        create_route_node(router)


def test_what_is_no_reflector_is_refused_when_the_node_is_made() -> None:
    with pytest.raises(InputError, match="a reflector has reflect, which int lacks"):
        create_reflect_node(5)  # type: ignore[arg-type]


@both
def test_references_of_every_kind_are_handed_to_the_reflector(run: Run) -> None:
    judge = ScriptedModel(["insufficient: the birthplace"])
    node = create_reflect_node(JudgeReflector(judge))
    references = [
        "a text",
        Reference.of("a reference"),
        {"id": "1", "text": "a plain reference"},
        Document("a document", metadata={"title": "Its title"}),
    ]
    state = {"question": QUESTION, "references": references, "answer": "In spring."}
    assert run(node, state)["reflection"]["missing"] == "the birthplace"
    shown = judge.prompts[0].references
    assert [each.text for each in shown] == [
        "a text",
        "a reference",
        "a plain reference",
        "a document",
    ]
    assert shown[-1].title == "Its title"


@both
def test_failures_are_raised(run: Run) -> None:
    with pytest.raises(InputError, match="no question under 'question'"):
        run(create_route_node(AlwaysRetrieve()), {"messages": []})
    with pytest.raises(ModelError, match="broken"):
        run(create_follow_up_node(BrokenModel()), {"question": QUESTION})
    with pytest.raises(InputError, match="not int"):
        run(create_reflect_node(), {"question": QUESTION, "references": [3], "answer": ""})
    with pytest.raises(InputError):
        create_route_node(Path("no such folder"))


@both
def test_what_is_missing_reaches_the_model_that_names_queries(run: Run) -> None:
    model = ScriptedModel(["birthplace of Ada Quill"])
    state = {
        "question": QUESTION,
        "references": [],
        "reflection": {"sufficient": False, "missing": "her birthplace"},
        "asked": [QUESTION, "designer of the lighthouse"],
    }
    update = run(create_follow_up_node(model), state)
    assert update["asked"] == [*state["asked"], "birthplace of Ada Quill"]
    assert "her birthplace" in model.prompts[0].text
    assert model.prompts[0].queries == (QUESTION, "designer of the lighthouse")


@both
def test_models_of_langchain_are_taken_as_they_are(run: Run) -> None:
    model = FakeListChatModel(responses=["birthplace of Ada Quill"])
    update = run(create_follow_up_node(model), {"question": QUESTION})
    assert update["queries"] == ["birthplace of Ada Quill"]
    router = drafting(retrieves=False)
    decision = run(create_route_node(router, model=model), {"question": QUESTION})["decision"]
    assert decision["draft"] == "birthplace of Ada Quill"
    with pytest.raises(InputError, match="not int"):
        create_follow_up_node(42)  # type: ignore[arg-type]
