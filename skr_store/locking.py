"""The lock of a store's folder, which one process holds at a time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from skr_core.errors import StoreError, StoreLocked, extra

if TYPE_CHECKING:
    from filelock import FileLock

LOCK_NAME = "store.lock"


def lock_store(path: Path) -> FileLock:
    """Take the lock of a store's folder, without waiting.

    The system gives the lock back when the process ends, however it ends.

    Args:
        path: The store's folder; must exist.

    Returns:
        The held lock; call its `release`.

    Raises:
        StoreLocked: Another process holds it, or another store object of this process.
        StoreError: The lock's file cannot be written.
    """
    with extra("chroma"):
        from filelock import FileLock, Timeout

    # Not per thread: a store may be closed in another thread than it was opened in.
    lock = FileLock(path / LOCK_NAME, timeout=0, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        raise StoreLocked(
            f"{path} is open elsewhere (another process, or another ChromaStore of this one): "
            f"close that one; to share it, close it there too and run  skr store serve {path}  "
            f"and use  ChromaStore.connect(url)"
        ) from None
    except OSError as error:  # `Timeout` is one too
        raise StoreError(f"{path} cannot be locked: {error}") from error
    return lock
