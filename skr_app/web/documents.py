"""The documents of the store: listed, uploaded one after the other, and removed."""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from skr_app.output import counted
from skr_app.web.streaming import ENDED, file_name, line_of, without_folders
from skr_core.cleaning import cleaned
from skr_core.errors import InputError, SKRError, StoreError, extra
from skr_store import Store
from skr_store.ingestion import IngestReport, ingest
from skr_store.loaders import KINDS
from skr_store.store import SHARED

with extra("cli"):
    from starlette.datastructures import UploadFile

MOST_FILES = 20
"""Files of one upload, at most."""
MOST_WAITING = 100
"""Uploaded files that wait to be read, at most."""
MOST_KEPT = 1_000_000_000
"""Bytes of all uploaded files that are kept, at most."""
LISTED = 100
"""Documents that are listed, and uploads that are told of after their end, at most."""
LONGEST_NAME = 255
"""Bytes of a file's name that file systems take."""
TAKEN = tuple(kind for kind in KINDS if not kind.endswith(".gz"))
"""Suffixes of files that are taken; a compressed one could hold more than was uploaded."""

_ODD = re.compile(r"[^\w .()+,@\x80-\U0010ffff-]")


def checked_name(given: str | None) -> str:
    """The name under which an uploaded file is kept: one part of a path, of a kind that is read.

    A name that cannot be kept as it is ends with a digest of it, so that no other file has it.

    Raises:
        InputError: It is of another kind, or a name of nothing.

    Example:
        >>> checked_name("../../etc/notes.md"), checked_name("a<b>.txt")
        ('notes.md', 'a_b_-30b44efdbb04.txt')
    """
    whole = re.split(r"[/\\]", given or "")[-1]
    name = _ODD.sub("_", cleaned(whole)).strip(" .")
    stem, kind = Path(name).stem.strip(" ."), Path(name).suffix
    if kind.lower() not in TAKEN or not stem:
        shown = name or "a file without a name"
        raise InputError(f"{shown} is of an unknown kind; known are {', '.join(TAKEN)}")
    if f"{stem}{kind}" == whole and len(os.fsencode(whole)) <= LONGEST_NAME:
        return whole
    end = f"-{_key(whole)[:12]}{kind}"
    return f"{stem.encode()[: LONGEST_NAME - len(end)].decode(errors='ignore')}{end}"


@dataclass
class Upload:
    """A file that was uploaded, and what becomes of it.

    Attributes:
        name: The name that the file is kept under.
        state: Whether it is read yet.
        line: How far it is, what came of it, or why it failed.
    """

    name: str
    state: Literal["waiting", "reading", "done", "failed"] = "waiting"
    line: str = ""

    @property
    def is_open(self) -> bool:
        """Whether it is still to end."""
        return self.state in ("waiting", "reading")


class Documents:
    """The documents that everybody finds in a store, and the uploads that become some of them.

    One thread reads uploaded files, one after the other, so that they never take the threads with
    which questions are answered. A file that is uploaded again replaces the document of its name.
    All methods block.

    Args:
        folder: The folder that keeps uploaded files.
        store: The store; open for as long as this is.
        is_searched: Whether questions are searched in it. What is not searched takes no uploads.
    """

    def __init__(self, folder: Path, store: Store, *, is_searched: bool = True) -> None:
        self.store = store
        self.is_searched = is_searched
        self._folder = Path(os.path.abspath(folder))
        self._waiting = self._folder / ".waiting"
        self._uploads: list[Upload] = []
        self._changing = threading.Lock()
        self._ended = threading.Event()
        self._worker = ThreadPoolExecutor(1, "skr-uploads")
        shutil.rmtree(self._waiting, ignore_errors=True)  # of a process that was killed

    def __enter__(self) -> Documents:
        return self

    def __exit__(self, *_: object) -> None:
        """End; what waits is dropped, and what is being read ends with its next passages."""
        self._ended.set()
        self._worker.shutdown(cancel_futures=True)
        shutil.rmtree(self._waiting, ignore_errors=True)

    def find(self, text: str = "") -> dict[str, Any]:
        """The documents whose name contains a text, the latest first, and how many they are."""
        named = [(file_name(each.name), each) for each in self.store.sources(SHARED)]
        found = [
            each for each in named if each[1].passages and text.casefold() in each[0].casefold()
        ]
        found.sort(key=lambda each: (-each[1].added, each[0]))
        documents = [
            {"id": _key(each.name), "name": name, "passages": each.passages, "added": each.added}
            for name, each in found[:LISTED]
        ]
        return {"documents": documents, "total": len(found)}

    def remove(self, key: str) -> int:
        """Remove a document, and its file where it was uploaded; returns how many passages left.

        Raises:
            InputError: There is no such document, or a file of its name waits to be read.
        """
        with self._changing:
            sources = self.store.sources(SHARED)
            name = next((each.name for each in sources if _key(each.name) == key), None)
            if name is None:
                raise InputError("there is no such document: it may have been removed already")
            if any(each.is_open and name == str(self._kept(each)) for each in self._uploads):
                raise InputError(f"{file_name(name)} is being added: remove it when that is done")
            left = self.store.delete(name, scope=SHARED)
            if Path(name).parent == self._folder:
                Path(name).unlink(missing_ok=True)
        return left

    def uploads(self) -> list[Upload]:
        """The uploads that wait or are read, and the latest that have ended."""
        return list(self._uploads)

    def add(self, files: Sequence[UploadFile]) -> None:
        """Keep uploaded files, which wait then for their turn to be read.

        Raises:
            InputError: The store is not searched, there is no file or too many, they are too large
                together with those that are kept, or one is of an unknown kind; nothing is kept
                then.
            StoreError: They could not be written.
        """
        if not self.is_searched:
            raise InputError("this page searches a retriever of its own: add documents to that")
        if not files:
            raise InputError("choose a file")
        if len(files) > MOST_FILES:
            raise InputError(f"at most {MOST_FILES} files at a time")
        names = [checked_name(each.filename) for each in files]
        if len({name.casefold() for name in names}) < len(names):
            raise InputError("two of the files have the same name")
        with self._changing:
            still_open = [each for each in self._uploads if each.is_open]
            if len(still_open) + len(files) > MOST_WAITING:
                raise InputError(
                    f"{counted(len(still_open), 'file')} wait already, and at most {MOST_WAITING} "
                    "may: try again when some have been read"
                )
            paths = self._write(files)
            ended = [each for each in self._uploads if not each.is_open][-LISTED:]
            added = [Upload(name) for name in names]
            self._uploads = [*ended, *still_open, *added]
            for upload, path in zip(added, paths, strict=True):
                self._worker.submit(self._read, upload, path)

    def _write(self, files: Sequence[UploadFile]) -> list[Path]:
        paths = [self._waiting / uuid4().hex for _ in files]
        try:
            self._waiting.mkdir(parents=True, exist_ok=True)
            kept = sum(each.stat().st_size for each in self._folder.rglob("*") if each.is_file())
            if kept + sum(each.size or 0 for each in files) > MOST_KEPT:
                raise InputError(
                    f"at most {MOST_KEPT // 1_000_000:,} MB of uploaded files are kept: "
                    "remove some documents first"
                )
            for path, file in zip(paths, files, strict=True):
                with path.open("wb") as written:
                    shutil.copyfileobj(file.file, written)
        except OSError as error:
            for path in paths:
                path.unlink(missing_ok=True)
            raise StoreError(f"the upload cannot be kept: {error.strerror}") from error
        return paths

    def _read(self, upload: Upload, path: Path) -> None:
        """In the worker: put a file's passages into the store."""

        def advance(done: int, _: int | None) -> None:
            if self._ended.is_set():
                raise SKRError(ENDED)
            upload.line = f"{counted(done, 'passage')} read"

        kept = self._kept(upload)
        upload.state = "reading"
        try:
            path.replace(kept)
            report = ingest([kept], self.store, skip_bad=True, on_progress=advance)
        except Exception as error:
            upload.line = line_of(error)
            upload.state = "failed"
            kept.unlink(missing_ok=True)
        else:
            upload.line = without_folders(_told(report))
            upload.state = "done"

    def _kept(self, upload: Upload) -> Path:
        return self._folder / upload.name


def _key(name: str) -> str:
    """A document's id on the page, which tells nothing of where its file is."""
    return blake2b(name.encode(errors="replace"), digest_size=12).hexdigest()


def _told(report: IngestReport) -> str:
    if report.left:
        return "unchanged"
    told = f"{counted(report.passages, 'passage')} added"
    if report.passages_left:
        told += f", {report.passages_left} there already"
    if report.passages_removed:
        told += f", {counted(report.passages_removed, 'old passage')} removed"
    if report.skipped:
        told += f", {report.skipped} left out: {report.problems[0]}"
    return told
