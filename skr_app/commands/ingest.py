"""``skr ingest``: documents into the reference store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skr_app.options import (
    DEFAULT_STORE,
    EmbedderOption,
    JsonOption,
    SkipBadOption,
    StoreOption,
    make_embedder,
    open_store,
)
from skr_app.output import console, messages, print_json, progress
from skr_core.errors import InputError

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILES...",
        help="Files or folders: text, Markdown, HTML, PDF, JSONL with id, title, text (also .gz).",
        show_default=False,
    ),
]
Rebuild = Annotated[
    bool,
    typer.Option("--rebuild", help="Make the index anew from the store's record of references."),
]


def ingest(
    files: Files = None,
    store: StoreOption = DEFAULT_STORE,
    embedder: EmbedderOption = "hashing",
    rebuild: Rebuild = False,
    skip_bad: SkipBadOption = False,
    json: JsonOption = False,
) -> None:
    """Put documents into the reference store; what is there already is not added again."""
    if not files and not rebuild:
        raise InputError("name the files or folders to ingest, or give --rebuild")
    from skr_core.ingestion import ingest as ingest_files

    if rebuild:
        _rebuild(store, embedder)
    with open_store(store, embedder, must_exist=False) as opened:
        if files:
            with progress("Ingesting") as advance:
                report = ingest_files(files, opened, skip_bad=skip_bad, on_progress=advance)
        count = opened.count()
    if json:
        found = {"added": report.added, "already_present": report.already_present,
                 "skipped": report.skipped} if files else {}
        print_json({**found, "rebuilt": rebuild, "references": count, "store": store})
        return
    if files:
        console.print(
            f"[bold]{report.added}[/bold] references added, {report.already_present} were there "
            f"already" + (f", {report.skipped} skipped" if report.skipped else "")
        )
    console.print(f"{count} references in {store}")


def _rebuild(store: str, embedder: str) -> None:
    from skr_core.backends.chroma_store import ChromaStore

    if store.startswith(("http://", "https://")):
        raise InputError("--rebuild works on a store's folder; a server keeps no record to read")
    with messages.status("Rebuilding the index"):
        ChromaStore.rebuild(Path(store).expanduser(), embedder=make_embedder(embedder)).close()
