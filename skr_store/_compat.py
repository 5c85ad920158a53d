"""What Chroma, filelock and tantivy keep to themselves; tried with 1.5.9, 4.2.11 and 0.27.0.

`tests/skr_store/test_compat.py` says which of it a later version has changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skr_core.errors import extra

if TYPE_CHECKING:
    from filelock import FileLock


def sessions_of(client: Any) -> list[Any]:
    """The connections of a blocking client to a server, which its `close` leaves open."""
    servers = (client._server, client._admin_client._server)
    return [server._session for server in servers if hasattr(server, "_session")]


def forget_half_made(path: Path) -> None:
    """Drop a client that failed while it was made, which Chroma would give to the next one."""
    with extra("chroma"):
        from chromadb.api.shared_system_client import SharedSystemClient

    SharedSystemClient._identifier_to_system.pop(str(path), None)


def take_connections(loop: asyncio.AbstractEventLoop) -> Any:
    """Take a loop's connections out of the table in which Chroma keeps those of all loops.

    The table goes by the hash of the event loop. A new loop may have the hash of one that is gone,
    and would be given connections that nothing can serve.
    """
    with extra("chroma"):
        from chromadb.api.async_fastapi import AsyncFastAPI

    return AsyncFastAPI._clients.pop(hash(loop), None)


def handle_of(lock: FileLock) -> int:
    """The handle of a lock that is held, which a child process inherits."""
    handle = lock._context.lock_file_fd
    assert handle is not None, "the lock is held"
    return handle


@contextmanager
def panics_raised() -> Iterator[None]:
    """Raise a ValueError for a panic of Rust, which is no Exception and has no name to import.

    tantivy 0.27 panics where bytes of an index are damaged.
    """
    try:
        yield
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise ValueError(str(error)) from error
        raise
