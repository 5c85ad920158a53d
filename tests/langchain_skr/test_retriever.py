from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from copy import copy
from typing import Any
from uuid import UUID

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import (
    ConfigurableField,
    RunnableConfig,
    RunnableLambda,
    RunnablePassthrough,
)
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_tests.integration_tests import RetrieversIntegrationTests
from langgraph.graph import END, START, StateGraph

from langchain_skr import SKRRetriever, as_retriever
from skr_core import Budget
from skr_core.errors import InputError, RetrieverError
from skr_core.prompts import REFUSAL
from skr_core.routers import AlwaysRetrieve
from skr_core.testing import MappingRetriever, ScriptedModel
from tests.langchain_skr.fakes import (
    FOUND,
    FURTHER,
    QUESTION,
    Library,
    RouteByWord,
    model,
    stating_model,
)

Find = Callable[..., Awaitable[list[Document]]]
KNOWN = "What is the capital of France?"


@pytest.fixture(params=["invoke", "ainvoke", "batch", "abatch"])
def find(request: pytest.FixtureRequest) -> Find:
    async def find(retriever: BaseRetriever, query: str, **kwargs: Any) -> list[Document]:
        if request.param == "invoke":
            return await asyncio.to_thread(retriever.invoke, query, **kwargs)
        if request.param == "ainvoke":
            return await retriever.ainvoke(query, **kwargs)
        if request.param == "batch":
            return (await asyncio.to_thread(retriever.batch, [query], **kwargs))[0]
        return (await retriever.abatch([query], **kwargs))[0]

    return find


def vector_store() -> InMemoryVectorStore:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_texts([f"Text {number}" for number in range(6)])
    return store


class TestStandardOverVectorStore(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[SKRRetriever]:
        return SKRRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"retriever": vector_store(), "router": AlwaysRetrieve()}

    @property
    def retriever_query_example(self) -> str:
        return QUESTION


class TestStandardWithSelfCompletion(TestStandardOverVectorStore):
    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"retriever": Library(), "router": AlwaysRetrieve(), "model": model()}


class TestStandardOverSeveralSources(TestStandardOverVectorStore):
    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"retriever": as_retriever({"store": vector_store(), "library": Library()})}


async def test_documents_come_back_untouched(find: Find) -> None:
    found = await find(SKRRetriever(retriever=Library()), QUESTION)
    assert [each.page_content for each in found] == FOUND[QUESTION]
    assert found[0].id == "own-0"
    assert found[0].metadata == {"nested": {"is": "kept"}}


async def test_a_known_question_finds_nothing_and_searches_nothing(find: Find) -> None:
    library = Library()
    retriever = SKRRetriever(retriever=library, router=RouteByWord(), model=model())
    assert await find(retriever, KNOWN) == []
    assert library.asked == []


async def test_self_completion_brings_what_suffices(find: Find) -> None:
    library, scripted = Library(), model()
    found = await find(SKRRetriever(retriever=library, model=scripted), QUESTION)
    assert library.asked == [QUESTION, FURTHER]
    assert {each.page_content for each in found} == {*FOUND[QUESTION], *FOUND[FURTHER]}
    assert (found[0].id, found[0].metadata) == ("own-0", {"nested": {"is": "kept"}})


async def test_self_completion_is_within_the_budget_and_asks_for_no_last_answer(
    find: Find,
) -> None:
    refusing = ScriptedModel([REFUSAL])
    retriever = SKRRetriever(retriever=Library(), model=refusing, budget=Budget(max_rounds=1))
    assert len(await find(retriever, QUESTION, k=2)) == 2
    assert [prompt.task for prompt in refusing.prompts] == ["answer_with_references"]


async def test_the_number_is_at_most_k_and_a_vector_store_is_asked_for_it(find: Find) -> None:
    over_store = SKRRetriever(retriever=vector_store(), k=6)
    assert len(await find(over_store, QUESTION)) == 6
    assert len(await find(over_store, QUESTION, k=1)) == 1
    assert len(await find(SKRRetriever(retriever=Library(), k=2), QUESTION)) == 2


@pytest.mark.parametrize(
    "fields", [{"retriever": {"a": vector_store()}}, {"retriever": vector_store(), "model": True}]
)
async def test_a_vector_store_below_others_is_asked_for_k_too(
    find: Find, fields: dict[str, Any]
) -> None:
    if "model" in fields:
        fields = {**fields, "model": ScriptedModel(otherwise="SUFFICIENT\nSo it is [1].")}
    retriever = SKRRetriever(k=5, **fields)
    assert len(await find(retriever, QUESTION)) == 5, "of itself it finds 4"
    assert len(await find(retriever, QUESTION, k=6)) == 6


def assigned(it: SKRRetriever, **parts: Any) -> SKRRetriever:
    for name, part in parts.items():
        setattr(it, name, part)
    return it


CHANGES: dict[str, Any] = {
    "model_copy": lambda it, **parts: it.model_copy(update=parts),
    "copy": lambda it, **parts: assigned(copy(it), **parts),
    "assigned": assigned,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("looping", [False, True], ids=["once", "until they suffice"])
async def test_another_tenant_s_parts_are_those_that_are_asked(
    find: Find, change: str, looping: bool
) -> None:
    def parts_of(tenant: str) -> dict[str, Any]:
        parts: dict[str, Any] = {"retriever": MappingRetriever({QUESTION: [tenant]})}
        return parts | (
            {"model": ScriptedModel(otherwise="SUFFICIENT\nIt [1].")} if looping else {}
        )

    amber, basalt = parts_of("amber"), parts_of("basalt")
    retriever = SKRRetriever(**amber)
    assert [each.page_content for each in await find(retriever, QUESTION)] == ["amber"]
    other = CHANGES[change](retriever, **basalt)
    assert [each.page_content for each in await find(other, QUESTION)] == ["basalt"]
    if looping:
        assert len(amber["model"].prompts) == len(basalt["model"].prompts) == 1


async def test_a_router_by_name_asks_the_model_that_stands_now() -> None:
    amber, basalt = ScriptedModel(otherwise="Yes."), ScriptedModel(otherwise="Yes.")
    retriever = SKRRetriever(retriever=Library(), model=amber, router="confidence:explain")
    asked = len(amber.prompts)
    await retriever.model_copy(update={"model": basalt}).ainvoke(QUESTION)
    assert (len(amber.prompts), len(basalt.prompts) > 0) == (asked, True)


async def test_a_retriever_of_the_core_works_too(find: Find) -> None:
    retriever = SKRRetriever(retriever=MappingRetriever(FOUND))
    assert [each.page_content for each in await find(retriever, QUESTION)] == FOUND[QUESTION]


async def test_failure_is_raised_and_never_looks_like_knowledge(find: Find) -> None:
    broken = MappingRetriever({}, failing=[QUESTION])
    with pytest.raises(RetrieverError, match="no connection"):
        await find(SKRRetriever(retriever=broken), QUESTION)
    with pytest.raises(RetrieverError, match="no connection"):
        await find(SKRRetriever(retriever=broken, model=model()), QUESTION)
    dividing = SKRRetriever(retriever=RunnableLambda(lambda query: 1 / 0))
    with pytest.raises(RetrieverError, match="ZeroDivisionError"):
        await find(dividing, QUESTION)


@pytest.mark.parametrize(
    ("found", "kind"),
    [(None, "NoneType"), ("", "str"), ("text", "str"), ([(Document("x"), 0.5)], "list of tuple")],
)
async def test_what_returns_no_documents_is_told_in_one_line(
    find: Find, found: Any, kind: str
) -> None:
    for fields in ({}, {"k": 1}, {"model": model()}):
        retriever = SKRRetriever(retriever=RunnableLambda(lambda query: found), **fields)
        with pytest.raises(RetrieverError) as caught:
            await find(retriever, QUESTION)
        said, problem = str(caught.value), f"returned {kind}, not documents"
        assert said.endswith(f"the retriever {problem}")
        assert said.count(problem) == 1
        assert "\n" not in said


@pytest.mark.parametrize("fields", [{}, {"model": model()}], ids=["once", "until they suffice"])
async def test_a_blank_query_and_a_k_below_1_are_input_errors(
    find: Find, fields: dict[str, Any]
) -> None:
    library = Library()
    retriever = SKRRetriever(retriever=library, k=2, **fields)
    with pytest.raises(InputError, match="the question is empty"):
        await find(retriever, "  ")
    for k in (0, -1):
        with pytest.raises(InputError, match=f"k must be at least 1, not {k}"):
            await find(retriever, QUESTION, k=k)
    assert library.asked == []


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"retriever": 5}, "a retriever is wanted"),
        ({"retriever": Library(), "model": 5}, "a model is wanted"),
        ({"retriever": Library(), "k": 0}, "greater than 0"),
    ],
)
def test_what_cannot_be_used_is_refused_at_once(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        SKRRetriever(**fields)


class Decisions(BaseCallbackHandler):
    def __init__(self) -> None:
        self.seen: list[tuple[str, bool]] = []
        self.names: list[str] = []

    def on_custom_event(self, name: str, data: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self.seen.append((name, data["retrieve"]))

    def on_retriever_start(self, serialized: Any, query: str, **kwargs: Any) -> None:
        self.names.append(kwargs["name"])

    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        self.names.append("model")


async def test_the_decision_is_an_event_of_its_own_call(find: Find) -> None:
    handler = Decisions()
    retriever = SKRRetriever(retriever=Library(), router=RouteByWord(), model=model())
    for query in (KNOWN, QUESTION):
        await find(retriever, query, config={"callbacks": [handler]})
    assert handler.seen == [("skr_decision", False), ("skr_decision", True)]
    assert handler.names == [
        *["SKRRetriever"] * 2,
        *["Library", "model", "model", "Library", "model"],
    ]


async def test_the_decision_shows_in_astream_events() -> None:
    chain = SKRRetriever(retriever=Library(), router=RouteByWord()) | RunnableLambda(len)
    events = [each async for each in chain.astream_events(KNOWN)]
    (decision,) = [each["data"] for each in events if each["event"] == "on_custom_event"]
    assert decision["reason"] == "by its words"
    assert events[-1]["data"]["output"] == 0


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_the_drafts_of_a_retriever_do_not_leak_into_a_graph_s_messages(mode: str) -> None:
    retriever = SKRRetriever(retriever=Library(), model=model())

    def count(state: dict[str, Any]) -> dict[str, Any]:
        return {"found": len(retriever.invoke(QUESTION))}

    async def acount(state: dict[str, Any]) -> dict[str, Any]:
        return {"found": len(await retriever.ainvoke(QUESTION))}

    builder = StateGraph(dict)
    builder.add_node("count", RunnableLambda(count, acount))
    builder.add_edge(START, "count")
    builder.add_edge("count", END)
    graph: Any = builder.compile()
    mode = ["messages", "custom", "values"]
    if mode == "sync":
        events = list(graph.stream({}, stream_mode=mode))
    else:
        events = [each async for each in graph.astream({}, stream_mode=mode)]
    assert [each for each in events if each[0] != "values"] == []
    assert events[-1][1]["found"] == 5


# In a chain of LCEL that keeps its own prompt and model

WRITTEN = ChatPromptTemplate.from_messages(
    [("system", "You are a librarian. {documents}"), ("human", "{question}")]
)


def keeping_its_own(retriever: Any, writer: Any) -> Any:
    """The user's own prompt and model, behind the loop's documents."""
    given = {
        "documents": retriever | (lambda found: "; ".join(each.page_content for each in found)),
        "question": RunnablePassthrough(),
    }
    return given | WRITTEN | writer | StrOutputParser()


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])
async def test_the_loop_finds_and_the_users_own_prompt_and_model_answer(way: str) -> None:
    prompts: list[str] = []

    def write(prompt: Any) -> AIMessage:
        prompts.append(prompt.to_string())
        return AIMessage("In Port Elm, says the librarian.")

    drafting = stating_model()
    retriever = SKRRetriever(retriever=Library(), model=drafting)
    chain = keeping_its_own(retriever, RunnableLambda(write))
    if way.startswith("a"):
        made = getattr(chain, way)(QUESTION)
        said = "".join([each async for each in made]) if way == "astream" else await made
    else:
        said = "".join(await asyncio.to_thread(getattr(chain, way), QUESTION))
    assert said == "In Port Elm, says the librarian.", "no word of a draft"
    (prompt,) = prompts
    assert prompt.startswith("System: You are a librarian.")
    assert FOUND[QUESTION][0] in prompt
    assert FOUND[FURTHER][0] in prompt, "the second round found it"


async def test_a_filter_in_the_config_reaches_the_store_below_the_loop() -> None:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    for tenant in ("amber", "basalt"):
        store.add_documents([Document(f"The oil of {tenant}.", metadata={"tenant": tenant})])
    search: Any = store.as_retriever().configurable_fields(
        search_kwargs=ConfigurableField(id="search_kwargs")
    )
    drafting = ScriptedModel(otherwise="SUFFICIENT\nIt burns [1].")
    retriever = SKRRetriever(retriever=search, model=drafting)
    chain = keeping_its_own(retriever, RunnableLambda(lambda prompt: prompt.to_string()))
    for tenant, other in (("amber", "basalt"), ("basalt", "amber")):
        kept = {"filter": lambda each, tenant=tenant: each.metadata["tenant"] == tenant}
        config: RunnableConfig = {"configurable": {"search_kwargs": kept}}
        asked = await asyncio.to_thread(chain.invoke, "What burns?", config)
        for said in (asked, await chain.ainvoke("What burns?", config)):
            assert f"The oil of {tenant}." in said
            assert other not in said
