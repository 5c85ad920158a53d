"""One process at a time: two that write to one embedded Chroma folder destroy its vectors."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock, Timeout

from skr_core.errors import StoreError, StoreLocked

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
    # Not per thread: a store may be closed in another thread than it was opened in.
    lock = FileLock(path / LOCK_NAME, timeout=0, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        raise StoreLocked(
            f"{path} is open elsewhere (another process, or another ChromaStore of this one): "
            f"close that one, or share the store through a server: "
            f"chroma run --path {path / 'index'}  and  ChromaStore.connect(url)"
        ) from None
    except OSError as error:  # `Timeout` is one too
        raise StoreError(f"{path} cannot be locked: {error}") from error
    return lock
