"""From files to a reference store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skr_core.errors import DataError, InputError
from skr_core.ports import OnProgress, ReferenceStore
from skr_store.loaders import KINDS, find_files
from skr_store.portions import portions_of, read_portion

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
        other_kinds: Suffixes of files in the folders that were passed over, with how many there
            are of each, the most frequent first.
    """

    added: int
    already_present: int
    skipped: int
    files: int
    problems: tuple[str, ...] = ()
    other_kinds: Mapping[str, int] = field(default_factory=dict)

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
        store: Where the passages go; this process alone writes to it.
        skip_bad: Pass over broken lines and files, and count them, instead of raising.
        on_progress: Called after each batch.

    Raises:
        InputError: A path is missing or of an unknown kind, or there is no passage at all.
        DataError: A line or file is broken, unless `skip_bad`.
        StoreError: The store failed.

    Example:
        >>> from skr_store.chroma_store import ChromaStore
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, ChromaStore.ephemeral() as store:
        ...     written = Path(folder, "note.txt").write_text("Paris is in France.")
        ...     ingest([folder], store).added
        1
    """
    problems: list[str] = []
    skipped = added = done = 0

    def on_bad(error: DataError) -> None:
        nonlocal skipped
        if not skip_bad:
            raise error
        skipped += 1
        if len(problems) < PROBLEMS_KEPT:
            problems.append(str(error))

    others: Counter[str] = Counter()

    def on_other(path: Path) -> None:
        others[path.suffix.lower() or path.name] += 1

    files = find_files(paths, on_bad, on_other)
    for portion in portions_of(files, on_bad):
        references = read_portion(portion, on_bad)
        for start in range(0, len(references), BATCH_SIZE):
            batch = references[start : start + BATCH_SIZE]
            added, done = added + store.add(batch), done + len(batch)
            if on_progress is not None:
                on_progress(done, None)
    if not done:
        reason = f"; {problems[0]}" if problems else ""
        if others:
            reason += f"; of {', '.join(others)} none can be read, but {', '.join(KINDS)}"
        raise InputError(f"no passage found in {', '.join(map(str, paths)) or 'no path'}{reason}")
    if on_progress is not None:
        on_progress(done, done)
    return IngestReport(
        added, done - added, skipped, len(files), tuple(problems), dict(others.most_common())
    )
