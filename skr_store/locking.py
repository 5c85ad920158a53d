"""The locks of a store's folder: one process at a time writes to each index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from skr_core.errors import StoreError, extra

if TYPE_CHECKING:
    from filelock import FileLock


def try_lock(path: Path) -> FileLock | None:
    """Take a lock without waiting.

    The system gives the lock back when the process ends, however it ends.

    Args:
        path: The lock's file; its folder exists.

    Returns:
        The held lock, to be released by its `release`; None where somebody else holds it.

    Raises:
        StoreError: The lock's file cannot be written.
    """
    with extra("store"):
        from filelock import FileLock, Timeout

    # Not per thread: a store may be closed in another thread than it was opened in.
    lock = FileLock(path, timeout=0, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        return None
    except OSError as error:  # `Timeout` is one too
        raise StoreError(f"{path} cannot be locked: {error}") from error
    return lock
