"""An answer that is too unlikely to be right is not served, whatever it was asked through."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from langchain_skr import create_skr_chain, create_skr_graph, create_skr_tool
from llamaindex_skr import SKRChatEngine, SKRQueryEngine
from skr_core import Answer, Settings
from skr_core.errors import InputError
from skr_core.replies.refusals import is_refusal
from skr_core.routers import NeverRetrieve
from skr_graphs import GraphAnswerer, answer_of
from skr_learn import Policy, calibrate
from tests.skr_graphs.climbing import WEIGHT, Knowing, library, question_of, recorded

ASKED = {kind: question_of(kind, 31).asked for kind in ("sum", "leader", "captain")}
NUMBERS = range(30, 33)
SAID = "Please ask our staff."


@cache
def policy(kind: str) -> Policy:
    stream = kind == "ladder that streams"
    records = recorded(range(30))
    return calibrate(
        records, routers=["ladder"], cost="retrievals", cost_weight=WEIGHT, stream=stream
    ).router


KINDS = ("ladder", "ladder that streams")


@pytest.fixture(params=KINDS)
def options(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {"router": policy(request.param)}


def answered(options: dict[str, Any], question: str) -> Answer:
    return GraphAnswerer(Settings.of(Knowing(), library(NUMBERS), **options)).answer(question)


@pytest.mark.parametrize("kind", ASKED)
def test_every_answer_has_the_chance_that_it_is_right(options: dict[str, Any], kind: str):
    answer = answered(options, ASKED[kind])
    assert answer.chance is not None
    assert 0.5 < answer.chance < 1  # as all of its kind were
    assert answer.sufficient


@pytest.mark.parametrize("kind", ASKED)
def test_what_is_less_likely_than_wanted_is_not_served(options: dict[str, Any], kind: str):
    plain = answered(options, ASKED[kind])
    chance = plain.chance
    assert chance is not None
    at_least = answered({**options, "abstain_below": chance}, ASKED[kind])
    assert (at_least.text, at_least.chance) == (plain.text, chance)
    held = answered({**options, "abstain_below": chance + 1e-6, "abstention": SAID}, ASKED[kind])
    assert (held.text, held.chance) == (SAID, chance)
    assert (held.citations, held.grounded, held.sufficient, held.is_partial) == ((),) + (False,) * 3
    assert held.usage == plain.usage
    refused = answered({**options, "abstain_below": 1.0}, ASKED[kind]).text
    assert is_refusal(refused)
    assert SAID not in refused


def of_chain(question: str, **options: Any) -> tuple[str, float | None]:
    return create_skr_chain(Knowing(), library(NUMBERS), **options).invoke(question), None


def of_stream(question: str, **options: Any) -> tuple[str, float | None]:
    return "".join(create_skr_chain(Knowing(), library(NUMBERS), **options).stream(question)), None


def of_sources(question: str, **options: Any) -> tuple[str, float | None]:
    chain = create_skr_chain(Knowing(), library(NUMBERS), return_sources=True, **options)
    found = chain.invoke(question)
    streamed = sum(chain.stream(question), start=type(next(chain.stream(question)))())
    assert (streamed["answer"], streamed["chance"]) == (found["answer"], found["chance"])
    return found["answer"], found["chance"]


def of_graph(question: str, **options: Any) -> tuple[str, float | None]:
    graph = create_skr_graph(Knowing(), library(NUMBERS), **options)
    output = asyncio.run(graph.ainvoke({"question": question}))
    assert output["messages"][-1].text == output["answer"]
    return answer_of(output).text, output["chance"]


def of_tool(question: str, **options: Any) -> tuple[str, float | None]:
    tool = create_skr_tool(Knowing(), library(NUMBERS), **options)
    text = str(tool.invoke({"question": question}))
    return re.sub(r"\[\d\]", "[2]" if "Bo" in text else "[1]", text), None  # numbers of its own


def of_engine(question: str, **options: Any) -> tuple[str, float | None]:
    engine = SKRQueryEngine.from_defaults(library(NUMBERS), llm=Knowing(), **options)
    found = engine.query(question)
    assert found.metadata is not None
    return str(found), found.metadata["chance"]


def of_streaming_engine(question: str, **options: Any) -> tuple[str, float | None]:
    engine = SKRQueryEngine.from_defaults(
        library(NUMBERS), llm=Knowing(), streaming=True, **options
    )
    found: Any = engine.query(question)
    pieces = "".join(found.response_gen)
    assert pieces == str(found)
    return pieces, found.metadata["chance"]


def of_chat(question: str, **options: Any) -> tuple[str, float | None]:
    engine = SKRChatEngine.from_defaults(library(NUMBERS), llm=Knowing(), **options)
    found = asyncio.run(engine.achat(question))
    assert found.metadata is not None
    assert engine.chat_history[-1].content == str(found)
    return str(found), found.metadata["chance"]


DOORS: tuple[Callable[..., tuple[str, float | None]], ...] = (
    *(of_chain, of_stream, of_sources, of_graph, of_tool, of_engine, of_streaming_engine, of_chat),
)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", ASKED)
def test_through_every_door(options: dict[str, Any], door: Callable[..., Any], kind: str):
    answer = answered(options, ASKED[kind])
    said, chance = door(ASKED[kind], **options)
    assert said.startswith(answer.text)
    assert chance in (answer.chance, None)
    held, chance = door(ASKED[kind], **options, abstain_below=1.0, abstention=SAID)
    assert held.startswith(SAID)
    assert answer.text not in held
    assert chance in (answer.chance, None)


def test_who_estimates_no_chance_cannot_abstain():
    for router in (None, NeverRetrieve()):
        with pytest.raises(InputError, match="abstain_below needs the chance of each answer"):
            create_skr_chain(Knowing(), library(NUMBERS), router=router, abstain_below=0.5)
    with pytest.raises(InputError, match="abstain_below is 50: give a chance from 0 to 1"):
        create_skr_chain(Knowing(), library(NUMBERS), router=policy("ladder"), abstain_below=50)
    assert answered({}, ASKED["leader"]).chance is None


def test_a_run_may_want_to_be_surer():
    chain = create_skr_chain(Knowing(), library(NUMBERS), router=policy("ladder"), abstention=SAID)
    assert chain.invoke(ASKED["leader"]) == "Ada 31 [1]."
    surer = chain.with_config(configurable={"abstain_below": 1.0})
    assert surer.invoke(ASKED["leader"]) == SAID
