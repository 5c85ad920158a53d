"""The config of a run reaches the retriever, whole, through every drop-in."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import (
    ConfigurableField,
    RunnableConfig,
    RunnableLambda,
    ensure_config,
)
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import Field

from langchain_skr import SKRRetriever, create_skr_chain
from skr_core.errors import InputError
from skr_core.testing import ScriptedModel
from tests.parity.tenants import LANGCHAIN, TENANTS, App, config_of, question, tenant_of
from tests.skr_graphs.doubles import ListStore

LAMP = question(1)


class Everything(BaseDocumentCompressor):
    """Keeps every document."""

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
        return documents


class ConfigReader(BaseRetriever):
    """A retriever that asks for the config of its run, as one's own may."""

    app: Any
    seen: list[Any] = Field(default_factory=list)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        self.seen.append(ensure_config())
        found: list[Document] = self.app.documents(query, self.seen[-1])
        return found


def reading(kind: str, app: App) -> tuple[Any, list[Any]]:
    """A retriever that reads the config, and the configs that it has read."""
    own = ConfigReader(app=app)
    if kind == "class":
        return own, own.seen
    seen: list[Any] = []

    def search(query: str, config: RunnableConfig) -> list[Document]:
        seen.append(config)
        return app.documents(query, config)

    async def asearch(query: str, config: RunnableConfig) -> list[Document]:
        return search(query, config)

    function = RunnableLambda(search, asearch, name="lamps")
    if kind == "function":
        return function, seen
    return {"functions": function.with_retry(), "classes": own}, seen


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("kind", ["function", "class", "several"])
@pytest.mark.parametrize("name", LANGCHAIN)
async def test_the_retriever_reads_the_very_config(name: str, kind: str, is_async: bool) -> None:
    app = App(ListStore())
    retriever, seen = reading(kind, app)
    door = LANGCHAIN[name](app, retriever)
    for tenant in TENANTS:
        said = str(
            await (
                door.aask(tenant, LAMP) if is_async else asyncio.to_thread(door.ask, tenant, LAMP)
            )
        )
        (other,) = set(TENANTS) - {tenant}
        assert tenant in said
        assert other not in said
    assert [each["configurable"]["tenant"] for each in seen] == list(TENANTS)
    for config in seen:
        assert "lamps" in config["tags"]
        assert config["metadata"]["plan"] == "free"


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("name", LANGCHAIN)
async def test_a_filter_is_chosen_by_the_config(name: str, is_async: bool) -> None:
    """As LangChain's guide to retrieval for each user has it."""
    app = App(ListStore())
    vectors = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
    vectors.add_texts([app.search(tenant, LAMP)[0] for tenant in TENANTS])
    retriever = vectors.as_retriever().configurable_fields(
        search_kwargs=ConfigurableField("search_kwargs")
    )
    door = LANGCHAIN[name](app, retriever)
    for tenant in TENANTS:
        wanted = {"filter": lambda found, tenant=tenant: tenant in found.page_content}
        config: RunnableConfig = {"configurable": {"search_kwargs": wanted}}
        if is_async:
            said = str(await door.aask(tenant, LAMP, config))
        else:
            said = str(await asyncio.to_thread(door.ask, tenant, LAMP, config))
        (other,) = set(TENANTS) - {tenant}
        assert tenant in said
        assert other not in said


def test_a_filter_of_a_run_does_not_hold_for_what_one_scope_remembers() -> None:
    vectors = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
    filtered = vectors.as_retriever().configurable_fields(
        search_kwargs=ConfigurableField("search_kwargs")
    )
    held: dict[str, Any] = {"reference_store": ListStore(), "scope": "shared"}
    for retriever in (filtered, {"one": vectors, "two": filtered}):
        with pytest.raises(InputError, match="the search_kwargs of a run's config do not hold"):
            create_skr_chain(ScriptedModel([]), retriever, **held)
        create_skr_chain(ScriptedModel([]), retriever, **{**held, "scope": tenant_of})
    create_skr_chain(ScriptedModel([]), vectors, **held)


async def test_a_batch_has_a_config_for_each_question() -> None:
    app = App(ListStore())
    configs = [config_of(tenant) for tenant in TENANTS] * 4
    asked = [LAMP] * len(configs)
    chain: Any = LANGCHAIN["chain"](app).runnable
    for said in (chain.batch(asked, configs), await chain.abatch(asked, configs)):
        assert said == [f"Colza oil, says {tenant} [1]." for tenant in TENANTS] * 4


def test_a_bound_config_counts() -> None:
    app = App(ListStore())
    chain: Any = LANGCHAIN["chain"](app).runnable
    bound = chain.with_config(configurable={"tenant": "amber"})
    assert bound.invoke(LAMP) == "Colza oil, says amber [1]."


def test_a_retriever_keeps_its_run_to_itself() -> None:
    """The name and the id of a run are not those of what runs within it."""
    inner = ConfigReader(app=App(ListStore()))
    asked: RunnableConfig = {**config_of("amber"), "run_name": "outer"}
    SKRRetriever(retriever=inner).invoke(LAMP, asked)
    assert inner.seen[0].get("run_name") is None
    assert inner.seen[0].get("run_id") is None
    assert ensure_config().get("configurable") == {}
