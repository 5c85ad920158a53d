"""From files to a reference store."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skr_core.errors import DataError, InputError
from skr_core.files import regular_file
from skr_core.flow import run
from skr_core.ports import OnProgress, ReferenceStore
from skr_core.types import Reference
from skr_store.database import Reading
from skr_store.loaders import KINDS, Document, OnBad, end_reading, find_files, load_file
from skr_store.splitter import PASSAGE_LIMIT, TokenSplitter
from skr_store.store import SHARED, Store

FORMAT = "2"
"""Said anew with every change of what becomes a passage, so that documents are read again."""
WITH_PROBLEMS = "read with problems"
"""Stands for the hash of a document that is to be read again, because some of it is broken."""
PASSAGES = 1_000
FILES = 50
BYTES = 1_000_000
"""Whichever is reached first is written together."""
PROBLEMS_KEPT = 20


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingestion did.

    Attributes:
        added: Documents that are new in the store.
        replaced: Documents that have changed since they were read.
        left: Documents that have not.
        removed: Documents that left the store, because their files are gone.
        passages: Passages that are new in the store.
        passages_left: Passages that were read and were there already.
        passages_removed: Passages that left it.
        skipped: Broken lines and files.
        problems: The first 20 of what was skipped, one line each.
        other_kinds: Suffixes of files in the folders that were passed over, with how many there
            are of each, the most frequent first.
    """

    added: int = 0
    replaced: int = 0
    left: int = 0
    removed: int = 0
    passages: int = 0
    passages_left: int = 0
    passages_removed: int = 0
    skipped: int = 0
    problems: tuple[str, ...] = ()
    other_kinds: Mapping[str, int] = field(default_factory=dict)


def ingest(
    paths: Sequence[str | Path],
    store: ReferenceStore,
    *,
    scope: str = SHARED,
    prune: bool = False,
    skip_bad: bool = False,
    on_progress: OnProgress | None = None,
) -> IngestReport:
    """Bring a store in line with files and folders, whose long texts are cut into passages.

    A document whose file has changed is replaced, one that has not is left as it is. Files are read
    as they are added, so a large one need not fit in memory. What was added before an error stays;
    running again adds the rest.

    Args:
        paths: Text, Markdown, HTML, PDF, Office and JSON Lines files, or folders of them.
        store: The store; one that is no `Store` is only added to.
        scope: The scope in which they are found.
        prune: Remove the documents of the folders whose files are gone.
        skip_bad: Pass over broken lines and files, and count them, instead of raising.
        on_progress: Called after each batch with the number of passages.

    Raises:
        InputError: A path is missing or of an unknown kind, or there is no passage at all.
        DataError: A line or file is broken, unless `skip_bad`.
        StoreError: The store failed.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, Store.ephemeral() as store:
        ...     written = Path(folder, "note.txt").write_text("Paris is in France.")
        ...     first, again = (ingest([folder], store) for _ in range(2))
        ...     first.added, first.passages, again.added, again.left
        (1, 1, 0, 1)
    """
    problems: list[str] = []
    others: Counter[str] = Counter()

    def on_bad(error: DataError) -> None:
        if not skip_bad:
            raise error
        problems.append(str(error))

    def on_other(path: Path) -> None:
        others[path.suffix.lower() or path.name] += 1

    files = {_name(path): path for path in find_files(paths, on_bad, on_other)}
    backend = store.backend if isinstance(store, Store) else None
    known = run(backend.hashes(scope)) if backend else {}
    hashes: dict[str, str | None] = {}
    for name, path in files.items():
        try:
            hashes[name] = _hash(path)
        except (InputError, OSError):
            hashes[name] = None  # whoever reads it says why
    changed = {n: path for n, path in files.items() if not hashes[n] or hashes[n] != known.get(n)}
    added = replaced = new = gone = done = 0
    try:
        for readings in _together(_readings(changed, hashes, known, problems, on_bad)):
            done += sum(len(each.references) for each in readings)
            for each in readings:
                if each.is_first:
                    replaced += each.source in known
                    added += each.source not in known
            if backend is not None:
                changes = run(backend.read(readings, scope))
                new, gone = new + changes.new, gone + changes.gone
            else:
                read = [one for each in readings for one in each.references]
                new += store.in_scope(scope).add(read)
            if on_progress is not None:
                on_progress(done, None)
    finally:
        end_reading()
    removed = 0
    if prune and backend is not None:
        folders = [_name(path) + os.sep for path in paths if Path(path).is_dir()]
        for name in known:
            if name not in files and any(name.startswith(folder) for folder in folders):
                gone += run(backend.delete(name, scope))
                removed += 1
    left = len(files) - len(changed)
    if not done and not left and not removed:
        reason = f"; {problems[0]}" if problems else ""
        if others:
            reason += f"; of {', '.join(others)} none can be read, but {', '.join(KINDS)}"
        raise InputError(f"no passage found in {', '.join(map(str, paths)) or 'no path'}{reason}")
    if on_progress is not None:
        on_progress(done, done)
    return IngestReport(
        added,
        replaced,
        left,
        removed,
        new,
        done - new,
        gone,
        len(problems),
        tuple(problems[:PROBLEMS_KEPT]),
        dict(others.most_common()),
    )


def _readings(
    files: Mapping[str, Path],
    hashes: Mapping[str, str | None],
    known: Collection[str],
    problems: Sequence[str],
    on_bad: OnBad,
) -> Iterator[Reading]:
    """What is read of each file, a portion at a time; nothing of one of which nothing can be.

    A file without a passage is no document, unless it was one: then its passages are gone.
    """
    for name, path in files.items():
        problems_before = len(problems)
        first, waiting = True, list[Reference]()
        for reference in _passages(load_file(path, on_bad)):
            if len(waiting) == PASSAGES:
                yield Reading(name, waiting, first, None)
                first, waiting = False, []
            waiting.append(reference)
        had_problems = len(problems) > problems_before
        if waiting or (name in known and not had_problems):
            yield Reading(name, waiting, first, WITH_PROBLEMS if had_problems else hashes[name])


def _together(readings: Iterator[Reading]) -> Iterator[list[Reading]]:
    """Small documents are written together."""
    waiting: list[Reading] = []
    size = 0
    for each in readings:
        waiting.append(each)
        size += sum(len(one.text) for one in each.references)
        passages = sum(len(one.references) for one in waiting)
        if len(waiting) >= FILES or size >= BYTES or passages >= PASSAGES:
            yield waiting
            waiting, size = [], 0
    if waiting:
        yield waiting


def _passages(documents: Iterator[Document]) -> Iterator[Reference]:
    """The passages of a file; each knows its place among them."""
    of_documents, of_passages = TokenSplitter(), TokenSplitter(limit=PASSAGE_LIMIT)
    position = 0
    for document in documents:
        splitter = of_passages if document.is_passage else of_documents
        for part in splitter.split(document.text):
            position += 1
            metadata = {**document.metadata, "position": position}
            yield Reference.of(part, document.title, metadata=metadata)


def _name(path: str | Path) -> str:
    """The name of a document in a store: its path, whichever way it was given."""
    return os.path.abspath(path)


def _hash(path: Path) -> str:
    with regular_file(path).open("rb") as file:
        return f"{FORMAT}:{hashlib.file_digest(file, 'blake2b').hexdigest()[:32]}"
