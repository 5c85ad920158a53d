"""The app's words stand before every prompt that asks for an answer, through any drop-in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from llama_index.core import PromptTemplate as LlamaPromptTemplate

from langchain_skr import create_skr_chain, create_skr_graph
from llamaindex_skr import SKRQueryEngine
from skr_core import ReferenceStore
from skr_core.errors import InputError
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_graphs import SKRContext
from skr_store import Store
from tests.parity.tenants import DOORS, TENANT, TENANTS, App, question, tenant_of

WRITING = {"answer_directly", "answer_with_references", "answer_anyway"}
LIBRARY = MappingRetriever({"Capital?": ["Paris is the capital."]})


def words(tenant: str) -> str:
    return f"You speak for {tenant}. Answer as {{this}} house does."


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ReferenceStore]:
    with Store.open(tmp_path / "store") as store:
        yield store


def app_of(store: ReferenceStore, **more: Any) -> App:
    return App(
        store,
        options={"instructions": lambda config: words(tenant_of(config)), **more},
        engine_options={"instructions": lambda: words(TENANT.get()), **more},
    )


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("name", DOORS)
async def test_instructions_stand_before_every_answer(
    name: str, way: str, store: ReferenceStore
) -> None:
    app = app_of(store)
    door = DOORS[name](app)
    for tenant in TENANTS:
        app.model.systems.clear()
        for number in (1, 3):  # of one round, and of two
            if way == "sync":
                door.ask(tenant, question(number))
            else:
                await door.aask(tenant, question(number))
        writing = [system for task, system in app.model.systems if task in WRITING]
        assert len(writing) >= 2
        assert set(writing) == {words(tenant)}


@pytest.mark.parametrize("name", ["chain", "stream", "tool", "engine", "chat"])
def test_what_is_answered_without_references_is_told_them_too(
    name: str, store: ReferenceStore
) -> None:
    app = app_of(store, router="never")
    DOORS[name](app).ask(TENANTS[0], question(1))
    assert app.model.systems == [("answer_directly", words(TENANTS[0]))]


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_a_router_s_own_answer_is_not_served_in_their_place(way: str) -> None:
    for given, tasks in (({}, 1), ({"instructions": "You are Lamplight."}, 2)):
        model = ScriptedModel(["Paris. Certain.", "Paris, dear guest."])
        chain = create_skr_chain(model, LIBRARY, router="confidence:explain", **given)
        said = chain.invoke("Capital?") if way == "sync" else await chain.ainvoke("Capital?")
        assert said == ("Paris, dear guest." if given else "Paris")
        assert len(model.prompts) == tasks
        assert model.prompts[-1].system == given.get("instructions", "")


PROMPTS = [
    PromptTemplate.from_template("You speak to {user}, on {today}."),
    ChatPromptTemplate.from_messages([("system", "You speak to {user}, on {today}.")]),
]


@pytest.mark.parametrize("template", PROMPTS)
def test_a_template_is_filled_from_the_config_and_the_other_keys_of_the_input(template: Any):
    model = ScriptedModel(otherwise="SUFFICIENT\nParis [1].")
    config = {"configurable": {"today": "Monday", "user": "nobody"}}
    chain = create_skr_chain(model, LIBRARY, instructions=template)
    chain.invoke({"question": "Capital?", "user": "Ada"}, config)
    [*chain.with_config(config).stream("Capital?")]
    create_skr_graph(model, LIBRARY, instructions=template).invoke({"question": "Capital?"}, config)
    assert [each.system for each in model.prompts] == [
        "You speak to Ada, on Monday.",
        "You speak to nobody, on Monday.",
        "You speak to nobody, on Monday.",
    ]
    with pytest.raises(InputError, match=r"the instructions name \{today\}, which neither"):
        chain.invoke({"question": "Capital?", "user": "Ada"})


def test_a_run_brings_its_own():
    model = ScriptedModel(otherwise="SUFFICIENT\nParis [1].")
    chain = create_skr_chain(model, LIBRARY, instructions="Be brief.")
    chain.invoke("Capital?")
    chain.invoke("Capital?", {"configurable": {"instructions": "Be long."}})
    chain.graph.invoke({"question": "Capital?"}, context=SKRContext(instructions="Be loud."))
    chain.graph.invoke({"question": "Capital?"}, context=SKRContext(instructions=" "))
    assert [each.system for each in model.prompts] == ["Be brief.", "Be long.", "Be loud.", ""]


def test_a_template_of_llamaindex_is_filled_before():
    template = LlamaPromptTemplate("You speak to {user}.")
    with pytest.raises(InputError, match="names user, which nothing fills"):
        SKRQueryEngine.from_defaults(LIBRARY, llm=ScriptedModel(), instructions=template)
    model = ScriptedModel(otherwise="SUFFICIENT\nParis [1].")
    filled = template.partial_format(user="Ada")
    SKRQueryEngine.from_defaults(LIBRARY, llm=model, instructions=filled).query("Capital?")
    assert [each.system for each in model.prompts] == ["You speak to Ada."]


@pytest.mark.parametrize("given", [7, lambda config: None])
def test_what_is_no_text_is_refused(given: Any):
    with pytest.raises(InputError, match=r"instructions .*(give|return) a text"):
        create_skr_graph(ScriptedModel(), LIBRARY, instructions=given).invoke({"question": "Who?"})
