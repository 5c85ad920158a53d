"""The scope of a reference store: whose passages a run finds, and for whom it remembers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from langgraph.runtime import get_runtime

from langchain_skr import create_skr_chain, create_skr_graph, create_skr_tool
from llamaindex_skr import SKRChatEngine, SKRQueryEngine
from skr_core import Reference, ReferenceStore, Settings
from skr_core.errors import InputError, StoreError
from skr_core.routers import NeverRetrieve
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_graphs import SKRContext, create_self_completion_graph
from tests.skr_graphs.doubles import PARIS, QUESTION, Invoke, ListStore, both, searchable


def graph_of(store: ReferenceStore, retriever: Any = None, **options: Any) -> Any:
    return create_self_completion_graph(
        model=ScriptedModel(["Paris [1]."]),
        retriever=searchable() if retriever is None else retriever,
        reference_store=store,
        **options,
    ).compile()


def tenant_of(config: Any) -> str:
    tenant: str = config["configurable"]["tenant"]
    return tenant


def texts(store: ReferenceStore) -> list[str]:
    return [each.text for each in store.retrieve(PARIS)]


FACTORIES: dict[str, Callable[..., Any]] = {
    "settings": Settings.of,
    "graph": create_skr_graph,
    "chain": create_skr_chain,
    "tool": create_skr_tool,
    "engine": lambda model, retriever, **options: SKRQueryEngine.from_defaults(
        retriever, llm=model, **options
    ),
    "chat": lambda model, retriever, **options: SKRChatEngine.from_defaults(
        retriever, llm=model, **options
    ),
}


@pytest.mark.parametrize("factory", FACTORIES)
def test_remembering_beside_a_retriever_needs_a_scope(factory: str):
    with pytest.raises(InputError, match=r'needs a scope: give .*, or scope="shared"') as raised:
        FACTORIES[factory](ScriptedModel(), searchable(), reference_store=ListStore())
    assert "\n" not in str(raised.value)


@both
def test_a_scope_is_a_function_of_the_run_s_config(invoke: Invoke):
    store = ListStore()
    graph = graph_of(store, scope=tenant_of)
    invoke(graph, config={"configurable": {"tenant": "amber"}})
    assert texts(store.in_scope("amber")) == [PARIS]
    assert texts(store.in_scope("basalt")) == texts(store) == []


@dataclass(frozen=True, eq=False)
class Asking(SKRContext):
    tenant: str = ""


def test_it_may_read_langgraph_s_runtime():
    store = ListStore()
    graph = create_self_completion_graph(
        model=ScriptedModel(["Paris [1]."]),
        retriever=searchable(),
        reference_store=store,
        scope=lambda _: get_runtime(Asking).context.tenant,
    ).compile()
    graph.invoke({"question": QUESTION}, context=Asking(tenant="amber"))
    assert texts(store.in_scope("amber")) == [PARIS]


async def unfinished(config: Any) -> str:
    return "amber"


@both
@pytest.mark.parametrize("on_error", ["raise", "continue"])
@pytest.mark.parametrize(
    ("scope", "said"),
    [
        (lambda config: "", "an empty text"),
        (lambda config: "  ", "an empty text"),
        (lambda config: None, "NoneType"),
        (lambda config: 7, "int"),
        (unfinished, "coroutine"),
    ],
)
def test_a_run_without_a_scope_fails(invoke: Invoke, scope: Any, said: str, on_error: Any):
    store = ListStore()
    store.add([Reference.of(PARIS)])
    graph = graph_of(store, scope=scope, on_retriever_error=on_error)
    with pytest.raises(InputError, match=f"given as scope returned {said}: nothing is searched"):
        invoke(graph)
    assert [*store.scopes] == ["shared"]


@both
def test_what_the_function_raises_ends_the_run(invoke: Invoke):
    graph = graph_of(ListStore(), scope=tenant_of, on_retriever_error="continue")
    with pytest.raises(KeyError, match="tenant"):
        invoke(graph, config={"configurable": {}})


@both
def test_a_question_that_searches_nothing_needs_none(invoke: Invoke):
    graph = graph_of(ListStore(), scope=tenant_of, router=NeverRetrieve())
    assert invoke(graph)["stop_reason"] == "known"


@both
def test_a_store_alone_needs_no_scope_and_may_have_one(invoke: Invoke):
    store = ListStore()
    store.in_scope("amber").add([Reference.of(PARIS)])
    for options in ({"retriever": store}, {"reference_store": store}):
        model = ScriptedModel(["Paris [1]."])
        unscoped = create_self_completion_graph(model=model, **options).compile()
        assert invoke(unscoped, PARIS)["references"] == []
    for retriever in (None, store):
        scoped = create_self_completion_graph(
            model=ScriptedModel(["Paris [1]."]),
            retriever=retriever,
            reference_store=store,
            scope="amber",
        ).compile()
        assert [each["text"] for each in invoke(scoped, PARIS)["references"]] == [PARIS]
    assert texts(store) == []


@both
def test_a_run_s_context_may_bring_a_function_and_no_name(invoke: Invoke):
    """A server's client sends a context as JSON, and must not choose whose passages it reads."""
    store = ListStore()
    store.in_scope("basalt").add([Reference.of(PARIS)])
    graph = graph_of(store, MappingRetriever({}), scope="amber")
    name: Any = "basalt"
    with pytest.raises(InputError, match="a run's context does not name its scope"):
        invoke(graph, PARIS, context=SKRContext(scope=name))
    with pytest.raises(InputError, match="a run's context does not name its scope"):
        invoke(graph, PARIS, context={"scope": name})
    found = invoke(graph, PARIS, context=SKRContext(scope=lambda config: name))
    assert [each["text"] for each in found["references"]] == [PARIS]


@both
def test_a_passage_is_remembered_for_as_long_as_is_said(invoke: Invoke):
    store = ListStore()
    invoke(graph_of(store, scope="amber", ttl=60))
    assert store.scopes["amber"].ttl == 60
    invoke(graph_of(store, scope="basalt"))
    assert store.scopes["basalt"].ttl is None


class Counting(ListStore):
    """Notes what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[str] = []

    def in_scope(self, scope: str) -> Counting:
        return self

    def add(self, references: Sequence[Reference], *, ttl: float | None = None) -> int:
        self.given += [each.text for each in references]
        return super().add(references, ttl=ttl)


@both
def test_what_the_store_has_found_is_not_given_back_to_it(invoke: Invoke):
    store = Counting()
    for _ in range(3):
        assert invoke(graph_of(store, scope="shared"))["stop_reason"] == "sufficient"
    assert store.given == [PARIS]


class Closed(ListStore):
    def in_scope(self, scope: str) -> ListStore:
        raise StoreError("the store is closed")


@both
def test_a_store_that_was_closed_costs_no_answer(invoke: Invoke):
    output = invoke(graph_of(Closed(), scope="amber"))
    assert output["stop_reason"] == "sufficient"
    assert output["rounds"][0]["errors"] == [
        f"{QUESTION}: the store is closed",
        "the store kept nothing: the store is closed",
    ]


def test_scopes_are_of_one_system():
    made = [
        Settings.of(ScriptedModel(), searchable(), reference_store=ListStore(), scope=scope)
        for scope in ("amber", "basalt", tenant_of)
    ]
    assert len({each.version for each in made}) == 1
