"""Threads: one for the linear algebra of a decision, several for fits that do not need each other.

The threads of linear algebra wait for each other longer than they work on small matrices; where
torch has just embedded a question, they wait for its threads too. So what is fitted several times,
as in every fold, is fitted side by side instead, each with one thread.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any, TypeVar

from skr_core.errors import MissingDependency, extra

Result = TypeVar("Result")

MOST = 4
"""Fits side by side at most: each of thousands of records takes hundreds of megabytes."""
_here = threading.local()


def one_thread() -> AbstractContextManager[Any]:
    """Within this block BLAS uses one thread, where the extra ``learning`` is installed.

    The setting is the process's. Of several Python threads the first decides, and for the others
    nothing changes.

    Example:
        >>> with one_thread():
        ...     {library["num_threads"] for library in _libraries().info()}
        {1}
    """
    libraries = _libraries()
    if libraries is None or getattr(_here, "pool", None) is not None:  # it is so already
        return nullcontext()
    limit: AbstractContextManager[Any] = libraries.limit(limits=1, user_api="blas")
    return limit


def side_by_side(works: Sequence[Callable[[], Result]]) -> Iterator[Result]:
    """Do works that do not need each other in several threads, each with one thread of BLAS.

    There are as many threads as processors, and `MOST` at most. Works may ask for this themselves:
    theirs are done by whichever thread has nothing else to do, and by the one that asks.

    Args:
        works: To call. They spend their time where Python's lock is released: in linear algebra,
            in scikit-learn's trees.

    Returns:
        What they return, in their order; the first that fails ends all.

    Example:
        >>> list(side_by_side([lambda: 1, lambda: 2]))
        [1, 2]
    """
    pool: ThreadPoolExecutor | None = getattr(_here, "pool", None)
    threads = min(processors(), MOST)
    if pool is not None:
        yield from _shared(works, pool)
    elif threads > 1 and len(works) > 1:
        with one_thread(), ThreadPoolExecutor(threads, "skr-fit") as pool:
            yield from pool.map(lambda work: _within(pool, work), works)
    else:
        for work in works:
            yield work()


def _within(pool: ThreadPoolExecutor, work: Callable[[], Result]) -> Result:
    _here.pool = pool
    return work()


def _shared(works: Sequence[Callable[[], Result]], pool: ThreadPoolExecutor) -> Iterator[Result]:
    """In a thread of the pool: what no other has begun is done here, what one has is waited for."""
    begun = [pool.submit(_within, pool, work) for work in works]
    try:
        here = {place: work() for place, work in enumerate(works) if begun[place].cancel()}
        for place, each in enumerate(begun):
            yield here[place] if place in here else each.result()
    finally:
        for each in begun:
            each.cancel()


def processors() -> int:
    """How many processors this process may use.

    Example:
        >>> processors() >= 1
        True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _libraries() -> Any:
    try:
        with extra("learning"):
            import scipy.linalg  # noqa: F401  # brings a BLAS of its own, which is to be found
            from threadpoolctl import ThreadpoolController
    except MissingDependency:  # whoever decides by vectors of numpy alone needs neither
        return None
    return ThreadpoolController().select(user_api="blas")
