"""What wrapped models and retrievers are called, and what of their settings is kept in a hash."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.chat_models import init_chat_model
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_openai import ChatOpenAI

from langchain_skr import LangChainModel, LangChainRetriever, as_retriever
from langchain_skr.naming import model_name, retriever_name, retriever_version
from skr_core import Settings
from skr_core.models.limited import Spending
from skr_core.references.fusion import FusedRetriever

NAME = "openai:gpt-4.1-mini"
CHAT = ChatOpenAI(model="gpt-4.1-mini", api_key="none", temperature=0.3)
STORE = InMemoryVectorStore(DeterministicFakeEmbedding(size=2))


class Shortest(BaseDocumentCompressor):
    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
        return sorted(documents, key=lambda each: len(each.page_content))[:1]


def asked(given: Any) -> Any:
    return CHAT.invoke(given)


def searched(query: str) -> list[Document]:
    return SEARCH.invoke(query)


async def awaited(given: Any) -> Any:
    return await CHAT.ainvoke(given)


SEARCH = STORE.as_retriever(search_kwargs={"k": 3})
MODELS: dict[str, Any] = {
    "itself": CHAT,
    "bind": CHAT.bind(stop=["."]),
    "retry": CHAT.with_retry(),
    "fallbacks": CHAT.with_fallbacks([FakeListChatModel(responses=["x"])]),
    "config": CHAT.with_config(run_name="final answer"),
    "fields": CHAT.configurable_fields(temperature=ConfigurableField("t")),
    "all of them": CHAT.bind(stop=["."]).with_retry().with_config(tags=["a"]),
    "lambda": RunnableLambda(lambda given: CHAT.invoke(given)),
    "function": RunnableLambda(asked),
    "coroutine": RunnableLambda(awaited),
    "sequence": ChatPromptTemplate.from_template("{it}") | CHAT | StrOutputParser(),
    "wrapped sequence": (RunnableLambda(lambda given: given) | CHAT.bind(n=1)).with_retry(),
}


@pytest.mark.parametrize("kind", MODELS)
def test_a_wrapped_model_has_the_name_and_temperature_of_what_it_holds(kind: str):
    model = LangChainModel(MODELS[kind])
    assert model.name == NAME
    assert model.temperature == 0.3
    assert Spending().limit(model).temperature == 0.3  # type: ignore[attr-defined]
    assert LangChainModel(MODELS[kind], name="mine").name == "mine"


def test_a_bound_temperature_counts():
    assert LangChainModel(CHAT.bind(temperature=1)).temperature == 1
    assert LangChainModel(FakeListChatModel(responses=["x"])).temperature is None


@pytest.mark.parametrize("key", ["", "none"])
@pytest.mark.parametrize(
    "given",
    [{"model": NAME}, {"model": "gpt-4.1-mini", "model_provider": "openai"}],
    ids=["one text", "two"],
)
def test_a_configurable_model_is_called_what_it_makes(
    given: dict[str, str], key: str, monkeypatch: pytest.MonkeyPatch
):
    # A canary for `langchain_skr._compat`: where it fails, LangChain keeps it elsewhere.
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    if key:
        monkeypatch.setenv("OPENAI_API_KEY", key)
    model = init_chat_model(**given, configurable_fields=("temperature",))
    assert model_name(model) == NAME
    assert model_name(model.with_retry()) == NAME  # type: ignore[arg-type]
    assert model_name(init_chat_model()) == "ConfigurableModel"


def test_a_function_may_hold_nothing():
    nothing = None
    assert retriever_name(RunnableLambda(lambda query: nothing, name="none")) == "none"
    assert model_name(RunnableLambda(lambda given: nothing)) == "RunnableLambda"


def test_what_holds_no_model_is_called_as_the_user_says():
    assert model_name(RunnableLambda(lambda given: "x")) == "RunnableLambda"
    assert model_name(RunnableLambda(lambda given: "x", name="mine")) == "mine"
    assert model_name(RunnableLambda(lambda given: "x").with_config(run_name="mine")) == "mine"
    own: dict[str, Any] = {}

    def around(given: Any) -> Any:
        return own["it"].invoke(given)

    own["it"] = RunnableLambda(around)
    assert model_name(own["it"]) == "around"


COMPRESSED = ContextualCompressionRetriever(base_retriever=SEARCH, base_compressor=Shortest())
RETRIEVERS: dict[str, tuple[Any, str]] = {
    "itself": (SEARCH, "similarity k=3"),
    "store": (STORE, "similarity"),
    "retry": (SEARCH.with_retry(), "similarity k=3"),
    "lambda": (RunnableLambda(lambda query: SEARCH.invoke(query)[:1]), "similarity k=3"),
    "function": (RunnableLambda(searched), "similarity k=3"),
    "lambda around a store": (RunnableLambda(lambda query: STORE.similarity_search(query)), ""),
    "sequence": (SEARCH | RunnableLambda(lambda found: found[:1]), "similarity k=3"),
    "compressed by LangChain": (COMPRESSED, "similarity k=3 > Shortest"),
}


@pytest.mark.parametrize("kind", RETRIEVERS)
def test_a_wrapped_retriever_has_the_name_and_settings_of_what_it_holds(kind: str):
    given, version = RETRIEVERS[kind]
    retriever: Any = as_retriever(given)
    assert (retriever.name, retriever.version) == ("InMemoryVectorStore", version)


def test_a_compressor_of_ours_changes_the_settings_and_not_the_name():
    retriever: Any = as_retriever(SEARCH, compressor=Shortest())
    assert (retriever.name, retriever.version) == (
        "InMemoryVectorStore",
        "similarity k=3 > Shortest",
    )
    fused: Any = FusedRetriever({"a": retriever, "b": LangChainRetriever(SEARCH)})
    assert fused.version == "similarity k=3 > Shortest + similarity k=3"


def test_a_retriever_s_given_name_stands():
    named = STORE.as_retriever(name="laws")
    assert retriever_name(named) == "laws"
    assert retriever_name(SEARCH.with_config(run_name="laws")) == "laws"
    assert retriever_name(RunnableLambda(searched, name="laws")) == "laws"
    assert retriever_name(RunnableLambda(lambda query: [], name="laws")) == "laws"
    assert LangChainRetriever(SEARCH, name="laws").name == "laws"


def test_a_tenant_is_no_setting():
    one, other, unfiltered = (
        retriever_version(STORE.as_retriever(search_kwargs={"k": 2, **more}))
        for more in ({"filter": {"tenant": 1}}, {"filter": {"tenant": 2}}, {})
    )
    assert one == other == "similarity filter(tenant) k=2"
    assert unfiltered == "similarity k=2"
    assert retriever_version(STORE.as_retriever(search_kwargs={"filter": "tenant = 1"})) == (
        "similarity filter"
    )


def test_k_and_temperature_are_part_of_the_system_s_hash():
    systems = [
        Settings.of(CHAT, SEARCH),
        Settings.of(CHAT, STORE.as_retriever(search_kwargs={"k": 4})),
        Settings.of(CHAT, COMPRESSED),
        Settings.of(CHAT.bind(temperature=1), SEARCH),
    ]
    assert len({each.version for each in systems}) == 4
    assert len({(each.model.name, each.stamp().retriever) for each in systems}) == 1
    assert Settings.of(CHAT.with_retry(), SEARCH.with_retry()).version == systems[0].version
