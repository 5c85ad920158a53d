"""What other libraries offer no public way to; `tests/skr_core/test_compat.py` watches it."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, WeakValueDictionary

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:
    from functools import cached_property as _LockedProperty

    class cached_property(_LockedProperty):
        """As in Python 3.12: no lock, which a fork beside another thread would leave held."""

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            value = vars(instance)[self.attrname] = self.func(instance)
            return value


# tiktoken names the file of an encoding by the SHA-1 of its address (tiktoken 0.14, load.py).
O200K_BASE = "fb374d419588a4632f3f557e76b4b70aebbca790"


def folder_of_encodings() -> Path | None:
    """Return the first folder that already holds tiktoken's data; looking never downloads.

    Beside the folder that ``TIKTOKEN_CACHE_DIR`` names, it is the copy inside llama-index-core.
    """
    folder = os.environ.get("TIKTOKEN_CACHE_DIR")
    candidates = [Path(folder)] if folder else []
    package = find_spec("llama_index")
    for root in (package.submodule_search_locations or []) if package else []:
        candidates.append(Path(root) / "core" / "_static" / "tiktoken_cache")
    return next((each for each in candidates if (each / O200K_BASE).is_file()), None)


LARGEST_PART = 1_000
"""A container of more is data, and holds no connections."""
MOST_PARTS = 20_000

_holders: WeakValueDictionary[int, Any] = WeakValueDictionary()
_pools: WeakSet[Any] = WeakSet()


def renew_connections_in_children(holder: object) -> None:
    """Have every forked child open HTTP connections of its own.

    httpx's clients give a child the connections of its parent, and who asks on them beside the
    parent is given the answer to somebody else's question.

    Args:
        holder: What holds clients of httpx anywhere within: a model, a retriever, all of a system.
            It is not kept alive by this.
    """
    if id(holder) not in _holders:
        _holders[id(holder)] = holder
        # LangChain's models share clients, which outlive them.
        _pools.update(pools_within(holder))


def pools_within(holder: object) -> Iterator[Any]:
    """Find the pools of httpcore, which have the connections of httpx, in whatever has them."""
    if "httpcore" not in sys.modules:
        return
    from httpcore import AsyncConnectionPool, ConnectionPool

    seen, waiting = {id(holder)}, deque([holder])
    while waiting and len(seen) < MOST_PARTS:
        part = waiting.popleft()
        if isinstance(part, ConnectionPool | AsyncConnectionPool):
            yield part
            continue
        # All names that a function may use lead to everything that is loaded.
        inside: Iterable[object] = gc.get_referents(part)
        if isinstance(part, FunctionType):
            inside = part.__closure__ or ()
        for each in inside:
            if gc.is_tracked(each) and id(each) not in seen and not _leads_astray(each):
                seen.add(id(each))
                waiting.append(each)


def _leads_astray(part: object) -> bool:
    is_data = isinstance(part, dict | list | tuple | set) and len(part) > LARGEST_PART
    return is_data or isinstance(part, type | ModuleType)


def forget_connections(pool: Any) -> None:
    """Leave a pool's connections to the parent, in a forked child (httpcore 1.0).

    The child's copies of their sockets are closed, of which nobody is told.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        pool._connections, pool._requests = [], []
    pool._optional_thread_lock = type(pool._optional_thread_lock)()


def _in_child() -> None:
    for holder in [*_holders.values()]:
        _pools.update(pools_within(holder))  # some open a client with their first call
    for pool in [*_pools]:
        forget_connections(pool)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
