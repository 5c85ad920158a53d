"""From files to a reference store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from skr_core.errors import DataError, InputError
from skr_core.ports import OnProgress, ReferenceStore
from skr_core.types import Reference

BATCH_SIZE = 1000
PROBLEMS_KEPT = 20


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingestion did.

    Attributes:
        added: Passages that are new in the store.
        already_present: Passages that the store held before, or that the files hold twice.
        skipped: Broken lines and files.
        files: Files read.
        problems: The first 20 of what was skipped, one line each.
    """

    added: int
    already_present: int
    skipped: int
    files: int
    problems: tuple[str, ...] = ()

    @property
    def passages(self) -> int:
        """Passages read."""
        return self.added + self.already_present


def ingest(
    paths: Sequence[str | Path],
    store: ReferenceStore,
    *,
    skip_bad: bool = False,
    on_progress: OnProgress | None = None,
) -> IngestReport:
    """Read files and folders, cut long texts into passages, and add them to a store.

    Files are read as they are added, so a large one need not fit in memory. What was added before
    an error stays; running again adds the rest.

    Args:
        paths: Text, Markdown, HTML, PDF and JSON Lines files, or folders of them.
        store: Where the passages go.
        skip_bad: Pass over broken lines and files, and count them, instead of raising.
        on_progress: Called after each batch.

    Raises:
        InputError: A path is missing or of an unknown kind, or there is no passage at all.
        DataError: A line or file is broken, unless `skip_bad`.
        StoreError: The store failed.

    Example:
        >>> from skr_core.store.chroma_store import ChromaStore
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, ChromaStore.ephemeral() as store:
        ...     written = Path(folder, "note.txt").write_text("Paris is in France.")
        ...     ingest([folder], store).added
        1
    """
    from skr_core.ingest.loaders import find_files, load_file
    from skr_core.ingest.splitter import PASSAGE_LIMIT, TokenSplitter

    problems: list[str] = []
    skipped = 0

    def on_bad(error: DataError) -> None:
        nonlocal skipped
        if not skip_bad:
            raise error
        skipped += 1
        if len(problems) < PROBLEMS_KEPT:
            problems.append(str(error))

    def passages() -> Iterator[Reference]:
        of_documents, of_passages = TokenSplitter(), TokenSplitter(limit=PASSAGE_LIMIT)
        for file in files:
            for document in load_file(file, on_bad):
                splitter = of_passages if document.is_passage else of_documents
                for part in splitter.split(document.text):
                    yield Reference.of(part, document.title, metadata=document.metadata)

    files = find_files(paths, on_bad)
    stream = passages()
    added = done = 0
    while batch := list(islice(stream, BATCH_SIZE)):
        added += store.add(batch)
        done += len(batch)
        if on_progress is not None:
            on_progress(done, None)
    if not done:
        reason = f"; {problems[0]}" if problems else ""
        raise InputError(f"no passage found in {', '.join(map(str, paths)) or 'no path'}{reason}")
    if on_progress is not None:
        on_progress(done, done)
    return IngestReport(added, done - added, skipped, len(files), tuple(problems))
