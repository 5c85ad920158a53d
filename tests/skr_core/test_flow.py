"""Flows by hand, as httpx tests its auth flows, and by both drivers."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import wait
from contextvars import Context, ContextVar, copy_context
from threading import Event, Thread
from typing import Any

import pytest

from skr_core.flow import Call, Flow, Gather, arun, call, gather, interruptible, run


class Doubler:
    """Sync and async of one verb; records which was used."""

    def __init__(self, fail: type[BaseException] | None = None) -> None:
        self.used: list[str] = []
        self.fail = fail

    def double(self, number: int, *, plus: int = 0) -> int:
        self.used.append("blocking")
        if self.fail:
            raise self.fail("on purpose")
        return 2 * number + plus

    async def adouble(self, number: int, *, plus: int = 0) -> int:
        self.used.append("awaited")
        if self.fail:
            raise self.fail("on purpose")
        return 2 * number + plus


def twice(doubler: Doubler, number: int) -> Flow[int]:
    once = yield from call(doubler.double, doubler.adouble, number)
    return (yield from call(doubler.double, doubler.adouble, once, plus=1))


def drive_blocking(flow: Flow[Any]) -> Any:
    return run(flow)


def drive_awaited(flow: Flow[Any]) -> Any:
    return asyncio.run(arun(flow))


both = pytest.mark.parametrize("drive", [drive_blocking, drive_awaited])
Drive = Callable[[Flow[Any]], Any]


def sleeper(seconds: float, then: Callable[[], Any]) -> Flow[Any]:
    def blocking() -> Any:
        time.sleep(seconds)
        return then()

    async def awaitable() -> Any:
        await asyncio.sleep(seconds)
        return then()

    return call(blocking, awaitable)


# By hand


def test_a_flow_asks_and_is_told():
    flow = twice(Doubler(), 3)
    request = next(flow)
    assert isinstance(request, Call)
    assert request.blocking() == 6
    request = flow.send(6)
    assert isinstance(request, Call)
    assert request.blocking() == 13
    with pytest.raises(StopIteration) as stop:
        flow.send(13)
    assert stop.value.value == 13


def test_nothing_is_called_before_the_driver_does():
    doubler = Doubler()
    next(twice(doubler, 3))
    assert doubler.used == []


def test_gather_asks_for_all_at_once():
    flow = gather([twice(Doubler(), 1), twice(Doubler(), 2)], limit=5)
    request = next(flow)
    assert isinstance(request, Gather)
    assert (len(request.flows), request.limit) == (2, 5)
    with pytest.raises(StopIteration) as stop:
        flow.send([5, 9])
    assert stop.value.value == [5, 9]


def test_an_error_is_thrown_in_by_hand():
    def brave() -> Flow[str]:
        try:
            yield from twice(Doubler(), 1)
        except RuntimeError as error:
            return f"caught {error}"
        return "nothing"

    flow = brave()
    next(flow)
    with pytest.raises(StopIteration) as stop:
        flow.throw(RuntimeError("it"))
    assert stop.value.value == "caught it"


# Driven


@both
def test_drivers_return_what_the_flow_returns(drive: Drive):
    doubler = Doubler()
    assert drive(twice(doubler, 3)) == 13
    assert set(doubler.used) == {"blocking" if drive is drive_blocking else "awaited"}


@both
def test_a_flow_that_asks_for_nothing(drive: Drive):
    def silent() -> Flow[int]:
        return 7
        yield

    assert drive(silent()) == 7


@both
def test_errors_are_thrown_into_the_flow_and_may_be_handled(drive: Drive):
    def fallback() -> Flow[Any]:
        broken, good = Doubler(fail=ValueError), Doubler()
        try:
            yield from call(broken.double, broken.adouble, 1)
        except ValueError:
            return (yield from call(good.double, good.adouble, 21))

    assert drive(fallback()) == 42


@both
@pytest.mark.parametrize("kind", [ValueError, KeyError, TimeoutError])
def test_errors_that_nobody_handles_come_out_and_finally_runs(drive: Drive, kind: type[Exception]):
    closed: list[bool] = []

    def careful() -> Flow[int]:
        try:
            return (yield from twice(Doubler(fail=kind), 1))
        finally:
            closed.append(True)

    with pytest.raises(kind):
        drive(careful())
    assert closed == [True]


@both
def test_an_error_of_the_flow_itself_comes_out(drive: Drive):
    def wrong() -> Flow[int]:
        yield from twice(Doubler(), 1)
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        drive(wrong())


@both
def test_a_finally_may_ask_for_calls(drive: Drive):
    cleaner = Doubler()

    def tidy() -> Flow[int]:
        try:
            return (yield from twice(Doubler(fail=ValueError), 1))
        finally:
            yield from call(cleaner.double, cleaner.adouble, 1)

    with pytest.raises(ValueError, match="on purpose"):
        drive(tidy())
    assert len(cleaner.used) == 1


def test_an_interrupt_closes_a_blocking_flow():
    closed: list[bool] = []

    def careful() -> Flow[int]:
        try:
            return (yield from twice(Doubler(fail=KeyboardInterrupt), 1))
        finally:
            closed.append(True)

    with pytest.raises(KeyboardInterrupt):
        run(careful())
    assert closed == [True]


# Gather


@both
def test_gather_takes_the_next_of_an_iterator_when_there_is_a_place(drive: Drive):
    made, done = [], []

    def flows() -> Iterator[Flow[Any]]:
        for each in range(30):
            made.append(each)
            assert len(made) - len(done) <= 3
            yield sleeper(0.001, lambda each=each: done.append(each) or each)

    assert drive(gather(flows(), limit=2)) == list(range(30))


@both
def test_gather_keeps_the_order_given(drive: Drive):
    flows = [sleeper(0.02 * (4 - each), lambda each=each: each) for each in range(4)]
    assert drive(gather(flows)) == [0, 1, 2, 3]


@both
@pytest.mark.parametrize("count", [0, 1])
def test_gather_of_few(drive: Drive, count: int):
    assert drive(gather([twice(Doubler(), 1) for _ in range(count)])) == [5] * count


@both
def test_gather_runs_side_by_side_but_never_more_than_its_limit(drive: Drive):
    changed, under_way, most = threading.Condition(), 0, 0

    def step(by: int) -> None:
        nonlocal under_way, most
        with changed:
            under_way += by
            most = max(most, under_way)
            changed.notify_all()

    def blocking() -> None:
        step(1)
        with changed:
            assert changed.wait_for(lambda: most >= 3, timeout=60)
        time.sleep(0.01)
        step(-1)

    async def awaitable() -> None:
        step(1)
        async with asyncio.timeout(60):
            while most < 3:  # noqa: ASYNC110  # another task ends that
                await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        step(-1)

    drive(gather([call(blocking, awaitable) for _ in range(9)], limit=3))
    assert most == 3


@both
def test_gather_raises_the_first_error_and_starts_nothing_more(
    drive: Drive, monkeypatch: pytest.MonkeyPatch
):
    started: list[int] = []
    noticed = threading.Event()

    def noticing(*given: Any) -> Any:
        done, others = wait(*given)
        if any(each.exception() for each in done):
            noticed.set()
        return done, others

    monkeypatch.setattr("skr_core.flow.wait", noticing)

    def failing() -> None:
        raise ValueError("first")

    def counted(each: int) -> Flow[Any]:
        def until_it_is_noticed() -> None:
            started.append(each)
            assert noticed.wait(60)

        async def until_it_is_cancelled() -> None:
            started.append(each)
            await asyncio.sleep(60)

        return call(until_it_is_noticed, until_it_is_cancelled)

    flows = [sleeper(0, failing), *(counted(each) for each in range(50))]
    with pytest.raises(ValueError, match="first"):
        drive(gather(flows, limit=2))
    assert started in ([], [0])


@both
def test_gather_errors_can_be_handled_in_the_flow(drive: Drive):
    def safe() -> Flow[str]:
        broken = Doubler(fail=OSError)
        try:
            yield from gather([twice(broken, 1), twice(Doubler(), 1)])
        except OSError:
            return "handled"
        return "not"

    assert drive(safe()) == "handled"


@both
def test_gather_nests(drive: Drive):
    inner = [gather([twice(Doubler(), each), twice(Doubler(), each)]) for each in range(3)]
    assert drive(gather(inner)) == [[1, 1], [5, 5], [9, 9]]


def test_an_interrupt_while_gathering_starts_nothing_more(monkeypatch: pytest.MonkeyPatch):
    started: list[int] = []

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("skr_core.flow.wait", interrupted)
    flows = [sleeper(0.02, lambda each=each: started.append(each)) for each in range(50)]
    with pytest.raises(KeyboardInterrupt):
        run(gather(flows, limit=2))
    assert len(started) <= 4


async def test_gather_waits_for_what_it_cancels():
    ended: list[str] = []

    async def slow() -> None:
        try:
            await asyncio.sleep(10)
        finally:
            await asyncio.sleep(0)
            ended.append("slow")

    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError("now")

    with pytest.raises(ValueError, match="now"):
        await arun(gather([call(int, slow), call(int, fail)]))
    assert ended == ["slow"]


@pytest.mark.parametrize("gathered", [False, True])
async def test_cancellation_reaches_the_flow(gathered: bool):
    ended: list[str] = []

    def careful(name: str) -> Flow[None]:
        try:
            yield from call(time.sleep, asyncio.sleep, 10)
        except Exception:
            ended.append("cancellation must not pass for an error")
        finally:
            ended.append(name)

    def outer() -> Flow[None]:
        try:
            if gathered:
                yield from gather([careful("one"), careful("two")])
            else:
                yield from careful("one")
        finally:
            ended.append("outer")

    task = asyncio.create_task(arun(outer()))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == (["one", "two", "outer"] if gathered else ["one", "outer"])


# Context, loops, threads


@both
def test_context_variables_reach_gathered_flows(drive: Drive):
    variable: ContextVar[str] = ContextVar("variable", default="unset")

    def read() -> str:
        return variable.get()

    async def aread() -> str:
        return variable.get()

    token = variable.set("caller")
    try:
        assert drive(gather([call(read, aread) for _ in range(3)])) == ["caller"] * 3
    finally:
        variable.reset(token)


def test_run_starts_no_event_loop(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("an event loop was made")

    monkeypatch.setattr(asyncio, "new_event_loop", refuse)
    monkeypatch.setattr(asyncio, "run", refuse)

    def no_loop() -> bool:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        return True

    async def never() -> bool:
        raise AssertionError("awaited under run")

    assert run(gather([call(no_loop, never), call(no_loop, never)])) == [True, True]
    assert run(call(no_loop, never))


def test_run_uses_threads_only_to_gather():
    def thread() -> str:
        return threading.current_thread().name

    async def athread() -> str:
        return thread()

    mine = threading.current_thread().name
    assert run(call(thread, athread)) == mine
    assert run(gather([call(thread, athread)])) == [mine]
    assert mine not in run(gather([call(thread, athread), call(thread, athread)]))


async def test_arun_starts_no_thread(monkeypatch: pytest.MonkeyPatch):
    def refuse(_: threading.Thread) -> None:
        raise AssertionError("a thread was started")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert await arun(gather([twice(Doubler(), each) for each in range(4)])) == [1, 5, 9, 13]


async def test_one_gathered_flow_is_awaited_in_the_task_that_asks():
    async def current() -> asyncio.Task[Any] | None:
        return asyncio.current_task()

    def ask() -> Flow[Any]:
        return (yield from call(asyncio.current_task, current))

    assert await arun(gather([ask()])) == [asyncio.current_task()]
    assert asyncio.current_task() not in await arun(gather([ask(), ask()]))


def test_a_stream_that_is_closed_gives_up_what_its_threads_wait_for():
    """As LangGraph's threads are left, which nobody waits for any longer."""
    begun, over, ended = Event(), Event(), Event()

    def hang() -> None:
        begun.set()
        over.wait(60)

    def work(context: Context) -> None:
        with pytest.raises(GeneratorExit):
            context.run(run, call(hang, asyncio.sleep))
        ended.set()

    def pieces() -> Generator[str, None, None]:
        thread = Thread(target=work, args=(copy_context(),), daemon=False)
        thread.start()
        begun.wait(60)
        try:
            yield "first"
        finally:
            thread.join(60)

    reading = interruptible(pieces())
    assert next(reading) == "first"
    reading.close()
    assert ended.is_set()
    assert not over.is_set()
    over.set()


@pytest.fixture
def default_interrupts() -> Iterator[None]:
    """Without it a run that was started in the background ignores interrupts."""
    kept = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, kept)


@pytest.mark.usefixtures("default_interrupts")
def test_an_interrupt_gives_up_calls_side_by_side():
    over = Event()

    def interrupt() -> None:
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    def hang() -> None:
        over.wait(60)

    handler = signal.getsignal(signal.SIGINT)
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run(gather([call(hang, asyncio.sleep), call(interrupt, asyncio.sleep)]))
    assert time.monotonic() - started < 30
    assert signal.getsignal(signal.SIGINT) is handler
    over.set()
