"""A router whose file is replaced while it serves: the next question has the new one, whole."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage

from langchain_skr import SKRMiddleware, SKRRetriever, create_skr_chain
from llamaindex_skr import SKRChatEngine, SKRQueryEngine
from skr_core import load_router
from skr_core.testing import MappingRetriever
from skr_graphs import create_route_node, create_self_completion_graph
from skr_learn import Policy, calibrate
from tests.langchain_skr.fakes import Agent
from tests.skr_graphs.climbing import Knowing, ladder, library, question_of
from tests.skr_learn.made import WORLDS, made

pytestmark = pytest.mark.usefixtures("few_trees")

CAPTAIN = question_of("captain", 30).asked
"""Is decided on before the first round and behind it, and weighed at the end."""
Told = tuple[Any, ...]
"""What tells by which policy a question was answered, at each of its places."""


def surer(policy: Policy) -> Policy:
    """The same, which finds every answer likelier and weighs cost a little less."""
    stages = [replace(each, intercept=each.intercept + 0.5) for each in policy.stages]
    rules = replace(policy.rules, weight=policy.rules.weight * 0.9)
    return Policy.of(rules, stages, stamp=policy.stamp, stated=policy.stated)


@cache
def of_two() -> Policy:
    """What an agent can carry out."""
    records = made(WORLDS["always"], 60)
    found = calibrate(records, routers=["ladder"], anyway=True, cost_weight=0.01).router
    return Policy.of(found.rules, found.stages, stated=found.stated)  # for any model


class Replacing(MappingRetriever):
    """Replaces a file whenever something is searched for, and begins another question."""

    def __init__(self, path: Path, policies: Iterator[Policy], router: Any) -> None:
        super().__init__({CAPTAIN: ["A sailor."], "more of 30": ["There is more of 30."]})
        self._path, self._policies, self._router = path, policies, router

    def retrieve(self, query: str) -> Any:
        next(self._policies).save(self._path)
        self._router.refresh()
        return super().retrieve(query)

    async def aretrieve(self, query: str) -> Any:
        return await asyncio.to_thread(self.retrieve, query)


def told(output: Mapping[str, Any], prefix: str = "") -> Told:
    decision, verdict = output[f"{prefix}decision"], output[f"{prefix}verdict"]
    return decision["threshold"], decision["chance"], *verdict["chances"].values()


def graph(retriever: Any, router: Any) -> tuple[Any, Any]:
    made = create_self_completion_graph(model=Knowing(), retriever=retriever, router=router)
    asked, compiled = {"question": CAPTAIN}, made.compile()
    return (lambda: told(compiled.invoke(asked))), (lambda: _then(compiled.ainvoke(asked), told))


def chain(retriever: Any, router: Any) -> tuple[Any, Any]:
    made = create_skr_chain(Knowing(), retriever, router=router, return_sources=True)
    return (lambda: told(made.invoke(CAPTAIN))), (lambda: _then(made.ainvoke(CAPTAIN), told))


def engine(retriever: Any, router: Any) -> tuple[Any, Any]:
    made = SKRQueryEngine.from_defaults(retriever, llm=Knowing(), router=router)
    return (lambda: _metadata(made.query(CAPTAIN))), (
        lambda: _then(made.aquery(CAPTAIN), _metadata)
    )


def chat(retriever: Any, router: Any) -> tuple[Any, Any]:
    made = SKRChatEngine.from_defaults(retriever, llm=Knowing(), router=router)

    def sync() -> Told:
        made.reset()
        return _metadata(made.chat(CAPTAIN))

    async def awaited() -> Told:
        made.reset()
        return _metadata(await made.achat(CAPTAIN))

    return sync, awaited


def agent(retriever: Any, router: Any) -> tuple[Any, Any]:
    asked = {"messages": [("user", CAPTAIN)]}

    def made() -> Any:
        replies = [AIMessage("no river, 7"), AIMessage("A sailor [1].")]
        return create_agent(Agent(replies=replies), middleware=[middleware])

    def of_state(state: Any) -> Told:
        return told(state, "skr_")

    middleware = SKRMiddleware(router, retriever=retriever)
    return (
        lambda: of_state(made().invoke(asked)),
        lambda: _then(made().ainvoke(asked), of_state),
    )


async def _then(awaited: Any, read: Callable[[Any], Told]) -> Told:
    return read(await awaited)


def _metadata(response: Any) -> Told:
    return told(response.metadata)


DOORS = {"graph": graph, "chain": chain, "engine": engine, "chat": chat, "agent": agent}


@pytest.mark.parametrize("form", ["sync", "async"])
@pytest.mark.parametrize("name", DOORS)
async def test_a_question_keeps_its_router_and_the_next_has_the_new_one(
    name: str, form: str, tmp_path: Path
):
    first = of_two() if name == "agent" else ladder()
    policies, path = (first, surer(first)), tmp_path / "router"
    still = MappingRetriever({CAPTAIN: ["A sailor."], "more of 30": ["There is more of 30."]})
    alone = []
    for each in policies:
        sync, _ = DOORS[name](still, each)
        alone.append(await asyncio.to_thread(sync))
    assert all(one != other for one, other in zip(*alone, strict=True))

    first.save(path)
    # The last of the searches of each question leaves the other file.
    searches = 1 if name == "agent" else 2
    replaced = cycle([policies[1]] * searches + [policies[0]] * searches)
    router = load_router(path, reload=True)
    sync, awaited = DOORS[name](Replacing(path, replaced, router), router)
    found = [await (asyncio.to_thread(sync) if form == "sync" else awaited()) for _ in range(3)]
    assert found == [alone[0], alone[1], alone[0]]


@pytest.mark.parametrize("form", ["sync", "async"])
async def test_two_writers_and_many_questions(form: str, tmp_path: Path):
    policies, path = (ladder(), surer(ladder())), tmp_path / "router"
    retriever = library(range(30, 31))
    alone = [graph(retriever, each)[0]() for each in policies]
    policies[0].save(path)
    sync, awaited = graph(retriever, load_router(path, reload=True))

    def write(policy: Policy) -> None:
        for _ in range(25):
            policy.save(path)

    writers = [threading.Thread(target=write, args=[each]) for each in policies]
    found: list[Told] = []
    for each in writers:
        each.start()
    while any(each.is_alive() for each in writers) or len(found) < 20:
        if form == "async":
            found += await asyncio.gather(*(awaited() for _ in range(4)))
        else:
            with ThreadPoolExecutor(4) as pool:
                found += pool.map(lambda _: sync(), range(4))
    for each in writers:
        each.join()
    assert {*found} <= {*alone}  # whole, whichever of them a question met
    for policy, expected in zip(policies, alone, strict=True):
        policy.save(path)
        assert (await awaited() if form == "async" else sync()) == expected


@pytest.mark.parametrize("form", ["sync", "async"])
async def test_what_decides_once_follows_the_file(form: str, tmp_path: Path):
    path, policy = tmp_path / "router", ladder()
    policy.save(path)
    router = load_router(path, model=Knowing(), reload=True)
    node = create_route_node(router, model=Knowing())
    retriever = SKRRetriever(router=router, retriever=library(range(30, 31)))
    found = []
    for each in (policy, surer(policy)):
        each.save(path)
        state = {"question": CAPTAIN}
        if form == "sync":
            output, documents = node.invoke(state), retriever.invoke(CAPTAIN)
        else:
            output, documents = await node.ainvoke(state), await retriever.ainvoke(CAPTAIN)
        assert len(documents) == 1
        found.append((output["decision"]["threshold"], output["decision"]["chance"]))
    assert all(one != other for one, other in zip(*found, strict=True))


async def test_a_file_that_cannot_be_used_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    path, model = tmp_path / "router", Knowing()
    policy = ladder()
    policy.save(path)
    router: Any = load_router(path, model=model, reload=True)
    before = router.decide(CAPTAIN)

    def others() -> Iterator[str]:
        path.write_bytes(path.read_bytes()[:1000])
        yield "broken"
        path.unlink()
        yield "no saved router"
        stamp = replace(policy.stamp, model="another")
        Policy.of(policy.rules, policy.stages, stamp=stamp, stated=policy.stated).save(path)
        yield "made with the model 'another'"
        of_two().with_rules(serves="last").save(path)
        yield "at other places"

    for said in others():
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            assert router.decide(CAPTAIN) == before
            assert await router.adecide(CAPTAIN) == before
        [record] = caplog.records
        assert said in record.getMessage()
    surer(policy).save(path)
    assert router.decide(CAPTAIN).threshold != before.threshold
