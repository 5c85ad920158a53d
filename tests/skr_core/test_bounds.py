"""Deadlines around and within calls, sync and async."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from skr_core import bounds
from skr_core.bounds import (
    UNBOUNDED,
    Bounds,
    Patience,
    bounded,
    check_time,
    reply_tokens,
    seconds_left,
)
from skr_core.errors import DeadlineError, ModelError
from skr_core.flow import Flow, arun, call, gather, run

Drive = Callable[[Flow[Any]], Any]
LONG = 30.0


@pytest.fixture(params=["sync", "async"])
def drive(request: pytest.FixtureRequest) -> Drive:
    return run if request.param == "sync" else lambda flow: asyncio.run(arun(flow))


class Calls:
    """What a flow may call."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.over = threading.Event()

    def look(self) -> str:
        self.seen.append((seconds_left(), reply_tokens()))
        return "seen"

    async def alook(self) -> str:
        return self.look()

    def hang(self) -> None:
        self.over.wait(LONG)

    async def ahang(self) -> None:
        await asyncio.sleep(LONG)

    def fail(self) -> None:
        raise TimeoutError("of its own")

    async def afail(self) -> None:
        self.fail()


@pytest.fixture
def calls() -> Any:
    calls = Calls()
    yield calls
    calls.over.set()


def look(calls: Calls) -> Flow[str]:
    return (yield from call(calls.look, calls.alook))


def hang(calls: Calls) -> Flow[None]:
    yield from call(calls.hang, calls.ahang)


def test_without_bounds_nothing_is_between(drive: Drive, calls: Calls) -> None:
    assert drive(bounded(look(calls), UNBOUNDED)) == "seen"
    assert calls.seen == [(None, None)]


def test_a_call_knows_what_is_left(drive: Drive, calls: Calls) -> None:
    bounds = Bounds(time.monotonic() + LONG, reply_tokens=7)
    assert drive(bounded(look(calls), bounds)) == "seen"
    ((left, tokens),) = calls.seen
    assert 0 < left <= LONG
    assert tokens == 7
    assert seconds_left() is None


def test_a_call_that_hangs_is_given_up(drive: Drive, calls: Calls) -> None:
    started = time.monotonic()
    with pytest.raises(DeadlineError):
        drive(bounded(hang(calls), Bounds.within(0.1)))
    assert time.monotonic() - started < LONG / 2


def test_no_call_starts_behind_the_deadline(drive: Drive, calls: Calls) -> None:
    with pytest.raises(DeadlineError):
        drive(bounded(look(calls), Bounds.within(-1)))
    assert calls.seen == []


def test_a_flow_may_go_on_where_a_call_was_not_in_time(drive: Drive, calls: Calls) -> None:
    def flow() -> Flow[str]:
        try:
            yield from hang(calls)
        except ModelError:
            return "the draft so far"
        return ""

    assert drive(bounded(flow(), Bounds.within(0.1))) == "the draft so far"


def test_calls_side_by_side_are_bounded_too(drive: Drive, calls: Calls) -> None:
    def flow() -> Flow[None]:
        yield from gather([hang(calls), hang(calls)])

    with pytest.raises(DeadlineError):
        drive(bounded(flow(), Bounds.within(0.1)))


def test_the_nearer_of_two_deadlines_holds(drive: Drive, calls: Calls) -> None:
    inner = bounded(bounded(look(calls), Bounds.within(LONG)), Bounds.within(2 * LONG))
    drive(inner)
    assert calls.seen[0][0] <= LONG


def test_a_time_out_of_the_call_itself_is_its_own(drive: Drive, calls: Calls) -> None:
    def flow() -> Flow[None]:
        yield from call(calls.fail, calls.afail)

    with pytest.raises(TimeoutError, match="of its own") as caught:
        drive(bounded(flow(), Bounds.within(LONG)))
    assert not isinstance(caught.value, DeadlineError)


def test_what_is_left_behind_stops_at_its_next_look(calls: Calls) -> None:
    begun, stopped = threading.Event(), threading.Event()

    def read() -> None:
        begun.set()
        try:
            while True:
                check_time()
                time.sleep(0.01)
        except DeadlineError:
            stopped.set()
            raise  # who looks first, the call or who waits for it, is left to the machine

    def flow() -> Flow[None]:
        yield from call(read, calls.ahang)

    seconds = 0.05
    while not begun.is_set():  # a busy machine may let the deadline pass before the call
        with pytest.raises(DeadlineError):
            run(bounded(flow(), Bounds.within(seconds)))
        seconds *= 2
    assert stopped.wait(60)


@pytest.mark.parametrize("form", ["sync", "async"])
def test_a_reply_of_which_nothing_comes_is_given_up(
    form: str, monkeypatch: pytest.MonkeyPatch, calls: Calls
) -> None:
    monkeypatch.setattr(bounds, "SILENCE", 0.2)
    asking = Patience("mine").asking(lambda _: calls.hang(), lambda _: calls.ahang(), None)
    with pytest.raises(ModelError, match="mine: nothing of the reply came"):
        run(asking) if form == "sync" else asyncio.run(arun(asking))


@pytest.mark.parametrize("form", ["sync", "async"])
def test_one_that_comes_slowly_is_not(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "SILENCE", 1.0)

    def slow(on_token: Any) -> str:
        for _ in range(6):
            time.sleep(0.25)
            on_token("word")
        return "all of it"

    async def aslow(on_token: Any) -> str:
        return await asyncio.to_thread(slow, on_token)

    heard: list[str] = []
    asking = Patience("mine").asking(slow, aslow, heard.append)
    assert (run(asking) if form == "sync" else asyncio.run(arun(asking))) == "all of it"
    assert len(heard) == 6


@pytest.mark.parametrize("form", ["sync", "async"])
def test_signs_of_life_are_no_reply_and_a_deadline_holds_alone(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "SILENCE", 0.2)

    def ping(on_token: Any) -> str:
        for _ in range(10):
            time.sleep(0.05)
            on_token("")
            check_time()
        return "at last"

    async def aping(on_token: Any) -> str:
        for _ in range(10):
            await asyncio.sleep(0.05)
            on_token("")
        return "at last"

    def ask(within: Bounds) -> str:
        asking = Patience("mine").asking(ping, aping, lambda piece: None)
        flow = bounded(asking, within)
        return run(flow) if form == "sync" else asyncio.run(arun(flow))

    with pytest.raises(ModelError, match="nothing of the reply"):
        ask(UNBOUNDED)
    assert ask(Bounds.within(LONG)) == "at last"
