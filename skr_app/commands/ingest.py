"""``skr ingest``: documents into the reference store."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skr_app.opening import open_embedder, open_store, store_folder
from skr_app.options import DEFAULT_STORE, Json, SkipBad, Store
from skr_app.output import console, counted, escape, messages, print_json, progress
from skr_core.errors import InputError
from skr_core.texts import encodable

if TYPE_CHECKING:
    from skr_core.ports import Embedder
    from skr_store import ChromaStore
    from skr_store.ingestion import IngestReport

KINDS_SHOWN = 8
"""The kinds of files passed over that are named."""


def ingest(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILES...",
            help="Files or folders: text, Markdown, HTML, PDF, JSONL with id, title, text (also "
            ".gz).",
            show_default=False,
        ),
    ] = None,
    store: Store = DEFAULT_STORE,
    embedder: Annotated[
        str | None,
        typer.Option(
            "--embedder",
            envvar="SKR_EMBEDDER",
            help="For search by meaning: a sentence-transformers model, by name or folder. Without "
            "one a new store is searched by words; `hashing` makes vectors of words.",
            show_default=False,
        ),
    ] = None,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild", help="Make the index anew from the store's record of references."
        ),
    ] = False,
    skip_bad: SkipBad = False,
    json: Json = False,
) -> None:
    """Put documents into the reference store; what is there already is not added again."""
    if not files and not rebuild:
        raise InputError("name the files or folders to ingest, or give --rebuild")
    from skr_store.ingestion import ingest as ingest_files
    from skr_store.loaders import find_files, stop

    # A path that is missing leaves no empty store behind.
    find_files(files or (), (lambda _: None) if skip_bad else stop)
    report: IngestReport | None = None
    open_it = _rebuild if rebuild else partial(open_store, must_exist=False)
    with open_it(store, open_embedder(embedder) if embedder else None) as opened:
        if files:
            with progress("Ingesting") as advance:
                report = ingest_files(files, opened, skip_bad=skip_bad, on_progress=advance)
        count = opened.count()
    if json:
        print_json(
            {
                **(_found(report) if report else {}),
                "rebuilt": rebuild,
                "references": count,
                "store": encodable(store),
            }
        )
        return
    if report:
        _print(report)
    console.print(f"{counted(count, 'reference')} in {escape(store)}")


def _found(report: IngestReport) -> dict[str, object]:
    return {
        "added": report.added,
        "already_present": report.already_present,
        "skipped": report.skipped,
        "problems": [encodable(problem) for problem in report.problems],
        "other_kinds": report.other_kinds,
    }


def _print(report: IngestReport) -> None:
    skipped = f", {report.skipped} skipped" if report.skipped else ""
    console.print(
        f"{counted(report.added, 'reference')} added, {report.already_present} were there "
        f"already{skipped}"
    )
    for problem in report.problems:
        console.print(f"  [yellow]skipped[/yellow] {escape(problem)}", soft_wrap=True)
    if more := report.skipped - len(report.problems):
        console.print(f"  and {more} more")
    if others := report.other_kinds:
        kinds = ", ".join(list(others)[:KINDS_SHOWN]) + (
            ", ..." if len(others) > KINDS_SHOWN else ""
        )
        console.print(
            f"{counted(sum(others.values()), 'file')} of kinds that are not read: {escape(kinds)}"
        )


def _rebuild(store: str, embedder: Embedder | None) -> ChromaStore:
    from skr_store import ChromaStore

    if store.startswith(("http://", "https://")):
        raise InputError("--rebuild works on a store's folder; a server keeps no record to read")
    with messages.status("Rebuilding the index"):
        return ChromaStore.rebuild(store_folder(store), embedder=embedder)
