"""Uploaded files: which are taken, where they are kept, and how they get into the store."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from skr_core.cleaning import cleaned
from skr_core.errors import InputError, StoreError, extra
from skr_core.ports import OnProgress, ReferenceStore
from skr_store.ingestion import ingest
from skr_store.loaders import KINDS

with extra("web"):
    from starlette.datastructures import UploadFile

MOST_FILES = 20
"""Files of one upload, at most."""
LONGEST_NAME = 120
TAKEN = tuple(kind for kind in KINDS if not kind.endswith(".gz"))
"""Suffixes of files that are taken; a compressed one could hold more than was uploaded."""

_ODD = re.compile(r"[^\w .()+,@-]")


def checked_name(given: str | None) -> str:
    """The name under which an uploaded file is kept: one part of a path, of a kind that is read.

    Raises:
        InputError: It is of another kind, or a name of nothing.

    Example:
        >>> checked_name("../../etc/notes.md"), checked_name("a<b>.txt")
        ('notes.md', 'a_b_.txt')
    """
    name = re.split(r"[/\\]", cleaned(given or ""))[-1]
    name = _ODD.sub("_", name).strip(" .")[-LONGEST_NAME:]
    stem, kind = Path(name).stem.strip(" ."), Path(name).suffix.lower()
    if kind not in TAKEN or not stem:
        shown = name or "a file without a name"
        raise InputError(f"{shown} is of an unknown kind; known are {', '.join(TAKEN)}")
    return f"{stem}{kind}"


@dataclass(frozen=True)
class Uploads:
    """Takes files in.

    Attributes:
        folder: The folder that keeps them, each upload in a folder of its own.
        store: The store that their passages go to.
    """

    folder: Path
    store: ReferenceStore

    async def keep(self, files: Sequence[UploadFile]) -> Path:
        """Write uploaded files into a new folder.

        Raises:
            InputError: There is none, there are too many, or one is of an unknown kind; nothing
                is kept then.
        """
        if not files:
            raise InputError("choose a file")
        if len(files) > MOST_FILES:
            raise InputError(f"at most {MOST_FILES} files at a time")
        names = [checked_name(each.filename) for each in files]
        if len({name.casefold() for name in names}) < len(names):
            raise InputError("two of the files have the same name")
        now = datetime.now(UTC).strftime("%Y-%m-%d_%H%M%S")
        folder = self.folder / f"{now}_{uuid4().hex[:6]}"
        await asyncio.to_thread(_write, folder, dict(zip(names, files, strict=True)))
        return folder

    def ingesting(self, folder: Path) -> Callable[[OnProgress], dict[str, Any]]:
        """The work that puts an upload's passages into the store."""

        def work(on_progress: OnProgress) -> dict[str, Any]:
            with _without(folder):
                report = ingest([folder], self.store, skip_bad=True, on_progress=on_progress)
            return {
                "added": report.added,
                "already_present": report.already_present,
                "skipped": report.skipped,
                "problems": [_nameless(each, folder) for each in report.problems],
            }

        return work


def _write(folder: Path, files: Mapping[str, UploadFile]) -> None:
    try:
        folder.mkdir(parents=True)
        for name, file in files.items():
            with (folder / name).open("wb") as kept:
                shutil.copyfileobj(file.file, kept)
    except OSError as error:
        raise StoreError(f"the upload cannot be kept: {error}") from error


@contextmanager
def _without(folder: Path) -> Any:
    """Errors name files as they were uploaded, not where they are kept."""
    try:
        yield
    except InputError as error:
        raise InputError(_nameless(str(error), folder)) from error


def _nameless(line: str, folder: Path) -> str:
    return line.replace(f"{folder}/", "").replace(str(folder), "the upload")
