"""Flows: a step written once, run blocking or awaited.

A flow is a generator that yields the calls it wants made and does no I/O itself. Two drivers make
the calls: `run` blocks, `arun` awaits. An exception of a call is thrown back into the flow at the
``yield from``, so ``try`` works there as everywhere.

Python interrupts the main thread alone (Ctrl-C), and ends no thread. So where the main thread waits
for others, as in `gather` and under LangGraph's streams, their calls are `attended`: an interrupt
gives all of them up at once, and what they wait for goes on in daemon threads, which keep no
program from ending.

Example:
    >>> def greet(model, name):
    ...     reply = yield from call(model.generate, model.agenerate, name)
    ...     return reply.upper()
    >>> class Echo:
    ...     def generate(self, name): return f"hello {name}"
    ...     async def agenerate(self, name): return f"hello {name}"
    >>> run(greet(Echo(), "ada"))
    'HELLO ADA'
    >>> import asyncio; asyncio.run(arun(greet(Echo(), "ada")))
    'HELLO ADA'
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    FIRST_EXCEPTION,
    Future,
    InvalidStateError,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from threading import Thread, current_thread, main_thread
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """One call, sync and async, that a flow asks its driver to make."""

    blocking: Callable[[], Any]
    awaitable: Callable[[], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Gather:
    """Flows that the driver may run side by side, at most `limit` at a time.

    An iterator is asked for the next flow when there is a place for it.
    """

    flows: Sequence[Flow[Any]] | Iterator[Flow[Any]]
    limit: int


Flow = Generator[Call | Gather, Any, T]


def call(
    blocking: Callable[P, T],
    awaitable: Callable[P, Awaitable[T]],
    /,
    *args: P.args,
    **kwargs: P.kwargs,
) -> Flow[T]:
    """Ask for one call; use as ``result = yield from call(...)``.

    Args:
        blocking: Called by `run`.
        awaitable: Awaited by `arun`; same arguments, same result.
        *args: Passed to whichever is used.
        **kwargs: Passed to whichever is used.
    """
    result: T = yield Call(partial(blocking, *args, **kwargs), partial(awaitable, *args, **kwargs))
    return result


def gather(flows: Iterable[Flow[T]], limit: int = 8) -> Flow[list[T]]:
    """Run flows side by side; results in the order given, the first error is raised.

    Args:
        flows: Started by the driver: threads under `run`, tasks under `arun`. Of an iterator no
            more are made than are under way.
        limit: How many may be under way at a time.
    """
    results: list[T] = yield Gather(flows if isinstance(flows, Iterator) else tuple(flows), limit)
    return results


def run(flow: Flow[T]) -> T:
    """Drive a flow with blocking calls; starts no event loop."""
    try:
        request = next(flow)
        while True:
            try:
                result = _gather(request) if isinstance(request, Gather) else _made(request)
            except Exception as error:
                request = flow.throw(error)
            else:
                request = flow.send(result)
    except StopIteration as stop:
        finished: T = stop.value
        return finished
    finally:
        flow.close()


async def arun(flow: Flow[T]) -> T:
    """Drive a flow with awaited calls; starts no thread.

    A cancellation is thrown into the flow like an error, so that its ``finally`` blocks run.
    """
    try:
        request = next(flow)
        while True:
            try:
                if isinstance(request, Gather):
                    result: Any = await _agather(request)
                else:
                    result = await request.awaitable()
            except (Exception, asyncio.CancelledError) as error:
                request = flow.throw(error)
            else:
                request = flow.send(result)
    except StopIteration as stop:
        finished: T = stop.value
        return finished
    finally:
        flow.close()


def _made(request: Call) -> Any:
    """Make a call: attended where somebody waits for this thread, and cannot leave it.

    An interrupt ends a call of the main thread by itself, and nobody need wait for a daemon.
    """
    thread = current_thread()
    if _ATTENDED.get() is None or thread is main_thread() or thread.daemon:
        return request.blocking()
    return attended(request.blocking)


def _gather(request: Gather) -> list[Any]:
    flows = iter(request.flows)
    first = list(islice(flows, 2))
    if len(first) < 2:
        return [run(flow) for flow in first]
    futures: list[Future[Any]] = []
    running: set[Future[Any]] = set()
    with _Attended().waiting(), ThreadPoolExecutor(request.limit) as pool:
        try:
            for flow in chain(first, flows):
                if len(running) >= request.limit:
                    done, running = wait(running, None, FIRST_COMPLETED)
                    if any(each.exception() for each in done):
                        break
                # Each thread gets the caller's context, where frameworks keep their callbacks.
                futures.append(pool.submit(copy_context().run, run, flow))
                running.add(futures[-1])
            else:
                wait(running, None, FIRST_EXCEPTION)
        finally:  # after an error or an interrupt, what has not begun never will
            pool.shutdown(cancel_futures=True)
    for future in futures:
        if not future.cancelled() and (error := future.exception()):
            raise error
    return [future.result() for future in futures]


async def _agather(request: Gather) -> list[Any]:
    flows = iter(request.flows)
    first = list(islice(flows, 2))
    if len(first) < 2:
        return [await arun(flow) for flow in first]
    slots, failed = asyncio.Semaphore(request.limit), False

    def over(task: asyncio.Task[Any]) -> None:
        nonlocal failed
        failed = failed or task.cancelled() or task.exception() is not None
        slots.release()

    tasks: list[asyncio.Task[Any]] = []
    try:
        for flow in chain(first, flows):
            await slots.acquire()
            if failed:
                break
            tasks.append(asyncio.ensure_future(arun(flow)))
            tasks[-1].add_done_callback(over)
        return await asyncio.gather(*tasks)
    finally:  # nothing outlives the flow: what is under way is cancelled and waited for
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Attended:
    """The calls of other threads that somebody waits for, and that end together."""

    def __init__(self) -> None:
        self._ends: set[Callable[[type[BaseException]], None]] = set()
        self._ended_by: type[BaseException] | None = None
        self._around = _ATTENDED.get()

    @contextmanager
    def ended_by(self, end: Callable[[type[BaseException]], None]) -> Iterator[None]:
        """Call this function, once, if the calls are given up within this block."""
        self._ends.add(end)
        try:
            if self._ended_by is not None:
                end(self._ended_by)
            yield
        finally:
            self._ends.discard(end)

    def give_up(self, reason: type[BaseException]) -> None:
        """End the calls; without a lock, because a handler of signals runs between any steps."""
        self._ended_by = reason
        for end in list(self._ends):
            end(reason)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Give the calls up where an interrupt, or the calls around them, end this block."""
        token = _ATTENDED.set(self)
        # Only the main thread may ask for it, and only that is interrupted.
        handler: Any = current_thread() is main_thread() and signal.getsignal(signal.SIGINT)

        def interrupt(*args: Any) -> None:
            try:
                handler(*args)
            except BaseException:
                self.give_up(KeyboardInterrupt)
                raise

        if callable(handler):
            signal.signal(signal.SIGINT, interrupt)
        try:
            with self._around.ended_by(self.give_up) if self._around else nullcontext():
                yield
        finally:
            if callable(handler):
                signal.signal(signal.SIGINT, handler)
            _ATTENDED.reset(token)


_ATTENDED: ContextVar[_Attended | None] = ContextVar("skr_attended", default=None)
_REPLY: ContextVar[Future[Any] | None] = ContextVar("skr_reply", default=None)


def interruptible(pieces: Generator[T, None, None]) -> Generator[T, None, None]:
    """Yield the same; the calls that other threads make for it end with it.

    They end where it is closed, and where the next piece is waited for and an interrupt comes.
    """
    calls = _Attended()
    try:
        while True:
            with calls.waiting():
                try:
                    piece = next(pieces)
                except StopIteration:
                    return
            yield piece
    finally:
        calls.give_up(GeneratorExit)
        pieces.close()


def is_waited_for() -> bool:
    """Whether somebody will read what this thread's call returns; else the call may end."""
    reply = _REPLY.get()
    return reply is None or not reply.done()


def attended(blocking: Callable[[], T], seconds: Callable[[], float | None] = lambda: None) -> T:
    """Make a call in a daemon thread of its own, so that it can be given up.

    Args:
        blocking: The call.
        seconds: The function that says for how long it is waited for, until it is asked again;
            None is as long as it takes. It raises an error where the call is given up.
    """
    reply: Future[T] = Future()

    def work() -> None:
        _REPLY.set(reply)
        # Where it was given up meanwhile, nobody reads it.
        with suppress(InvalidStateError):
            try:
                made = blocking()
            except BaseException as error:
                reply.set_exception(error)
            else:
                reply.set_result(made)

    def end(reason: type[BaseException]) -> None:
        with suppress(InvalidStateError):
            reply.set_exception(reason())

    calls = _ATTENDED.get()
    with calls.ended_by(end) if calls else nullcontext():
        Thread(target=copy_context().run, args=(work,), daemon=True, name="skr-call").start()
        try:
            while not reply.done():
                wait([reply], seconds())
            return reply.result()
        finally:
            end(GeneratorExit)
