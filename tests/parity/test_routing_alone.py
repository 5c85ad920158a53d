"""What only decides whether to retrieve says what it leaves out of a policy, or refuses it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import langchain_skr
import llamaindex_skr
from skr_core import Router, load_router
from skr_core.errors import InputError
from skr_core.routers import AlwaysRetrieve
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_graphs import create_route_node
from tests.skr_graphs.climbing import Knowing, ladder, library, question_of
from tests.skr_graphs.deciding import arbiter, drafting

pytestmark = pytest.mark.usefixtures("few_trees")

KNOWN, UNKNOWN = question_of("sum", 30).asked, question_of("captain", 30).asked
DRAFT = "handing on the direct answer that it asks for"
REST = "deciding again after the first round, weighing the answers; what it promises"


def decided(node: Any, form: str, question: str) -> bool:
    given = {"question": question}
    output = node.invoke(given) if form == "sync" else asyncio.run(node.ainvoke(given))
    return bool(output["decision"]["retrieve"])


def found(retriever: Any, form: str, question: str) -> bool:
    documents = (
        retriever.invoke(question) if form == "sync" else asyncio.run(retriever.ainvoke(question))
    )
    return bool(documents)


def nodes(retriever: Any, form: str, question: str) -> bool:
    if form == "sync":
        return bool(retriever.retrieve(question))
    return bool(asyncio.run(retriever.aretrieve(question)))


def selected(selector: Any, form: str, question: str) -> bool:
    choices = ["from memory", "from the wiki"]
    if form == "sync":
        return bool(selector.select(choices, question).ind)
    return bool(asyncio.run(selector.aselect(choices, question)).ind)


def searchable() -> MappingRetriever:
    return library(range(30, 31))


PLACES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, str, str], bool]]] = {
    "create_route_node": (
        lambda router, model: create_route_node(router, model=model),
        decided,
    ),
    "SKRRetriever": (
        lambda router, model: langchain_skr.SKRRetriever(
            retriever=searchable(), router=router, model=model
        ),
        found,
    ),
    "SKRRetriever of LlamaIndex": (
        lambda router, model: llamaindex_skr.SKRRetriever(searchable(), router=router, llm=model),
        nodes,
    ),
}
each_place = pytest.mark.parametrize("place", PLACES)


@each_place
@pytest.mark.parametrize("form", ["sync", "async"])
def test_a_policy_decides_before_the_search_and_the_rest_is_said(
    place: str, form: str, caplog: pytest.LogCaptureFixture
):
    make, asks = PLACES[place]
    with caplog.at_level(logging.WARNING):
        made = make(ladder(), Knowing())
    [line] = [each.getMessage() for each in caplog.records]
    assert line.startswith(f"{place.split()[0]} takes of this router the decision before")
    assert (DRAFT in line) == (place != "create_route_node")
    assert REST in line
    assert (asks(made, form, KNOWN), asks(made, form, UNKNOWN)) == (False, True)


@each_place
def test_its_file_will_do_where_there_is_a_model(place: str, tmp_path: Path):
    ladder().save(tmp_path / "router")
    make, asks = PLACES[place]
    assert not asks(make(str(tmp_path / "router"), Knowing()), "sync", KNOWN)
    with pytest.raises(ValueError, match=r"the model's direct answer, and .* has no model"):
        make(tmp_path / "router", None)


@each_place
def test_what_only_weighs_answers_is_refused(place: str):
    make, _ = PLACES[place]
    with pytest.raises(ValueError, match=f"{place.split()[0]} makes no answers, and this router"):
        make(arbiter(), Knowing())


@each_place
def test_of_other_routers_nothing_is_left_out(place: str, caplog: pytest.LogCaptureFixture):
    make, asks = PLACES[place]
    assert asks(make(AlwaysRetrieve(), None), "sync", UNKNOWN)
    assert caplog.records == []


@pytest.mark.parametrize("form", ["sync", "async"])
def test_a_selector_takes_a_policy_with_a_model_of_its_own(
    form: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    ladder().save(tmp_path / "router")
    alone: Router = load_router(tmp_path / "router", model=Knowing())
    selector = llamaindex_skr.SKRSelector(alone)
    [line] = [each.getMessage() for each in caplog.records]
    assert line.startswith("SKRSelector takes of this router")
    assert (selected(selector, form, KNOWN), selected(selector, form, UNKNOWN)) == (False, True)
    with pytest.raises(InputError, match="SKRSelector has no model to ask"):
        llamaindex_skr.SKRSelector(ladder())
    with pytest.raises(InputError, match="SKRSelector makes no answers"):
        llamaindex_skr.SKRSelector(arbiter())


def test_a_draft_that_a_node_hands_on_is_not_left_out(caplog: pytest.LogCaptureFixture):
    create_route_node(drafting(retrieves=False), model=ScriptedModel(["It is so."]))
    assert caplog.records == []


@pytest.mark.parametrize("policy", [ladder, arbiter])
def test_an_agent_s_middleware_refuses_what_it_cannot_carry_out(policy: Callable[[], Any]):
    with pytest.raises(InputError, match="this router"):
        langchain_skr.SKRMiddleware(policy(), retriever=searchable())
