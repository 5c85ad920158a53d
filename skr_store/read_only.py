"""A store's folder that may not be written to: a copy of what is needed to search it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import mkdtemp

from skr_core.errors import StoreError
from skr_store.health import SEAL_NAME


def can_be_written(path: Path, inside: tuple[str, ...]) -> bool:
    """Whether this process may write to a store's folder and what is in it; it may be missing."""
    paths = (path, *(path / name for name in inside))
    return all(os.access(each, os.W_OK) for each in paths if each.exists())


def copy_store(path: Path, journal: str, index: str) -> Path:
    """Copy the journal and the index, because Chroma writes where it reads.

    Returns:
        A temporary folder.

    Raises:
        StoreError: There is no journal.
    """
    if not (path / journal).is_file():
        raise StoreError(f"{path} is read-only here, so no index can be made in it")
    copy = Path(mkdtemp(prefix="skr-read-only-"))
    # The seal first: what is changed while it is copied does not fit it.
    files = [path / SEAL_NAME, path / journal, *sorted((path / index).rglob("*"))]
    try:
        for file in files:
            if file.is_file():
                target = copy / file.relative_to(path)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target)
    except BaseException:
        shutil.rmtree(copy, ignore_errors=True)
        raise
    return copy
