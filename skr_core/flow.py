"""Flows: a step written once, run blocking or awaited.

A flow is a generator that yields the calls it wants made and does no I/O itself. Two drivers make
the calls: `run` blocks, `arun` awaits. An exception of a call is thrown back into the flow at the
``yield from``, so ``try`` works there as everywhere.

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
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
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
                result = _gather(request) if isinstance(request, Gather) else request.blocking()
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


def _gather(request: Gather) -> list[Any]:
    flows = iter(request.flows)
    first = list(islice(flows, 2))
    if len(first) < 2:
        return [run(flow) for flow in first]
    futures: list[Future[Any]] = []
    running: set[Future[Any]] = set()
    with ThreadPoolExecutor(request.limit) as pool:
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
