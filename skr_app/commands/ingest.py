"""``skr ingest``: the reference store brought in line with documents."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skr_app.opening import open_store, store_embedder, store_folder
from skr_app.options import DEFAULT_STORE, Embedder, Json, SkipBad, Store
from skr_app.output import console, counted, escape, print_json, progress
from skr_core.texts import encodable

if TYPE_CHECKING:
    from skr_store import IngestReport

KINDS_SHOWN = 8
"""The kinds of files passed over that are named."""


def ingest(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILES...",
            help="Files and folders: text, Markdown, HTML, PDF, Word, Excel, PowerPoint, or JSON "
            "Lines with id, title and text (also .gz).",
            show_default=False,
        ),
    ],
    store: Store = DEFAULT_STORE,
    embedder: Embedder = None,
    language: Annotated[
        str | None,
        typer.Option(
            "--language",
            help="The language of your documents, such as english: `keep` then finds `keeper` too. "
            "By default that of the store; a new store has none.",
            show_default=False,
        ),
    ] = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove documents from the store whose files are gone.")
    ] = False,
    skip_bad: SkipBad = False,
    json: Json = False,
) -> None:
    """Add documents to the store. A file that has changed is read again."""
    from skr_store import Store as AnyStore
    from skr_store import ingest as ingest_files
    from skr_store.database import holds_store
    from skr_store.loaders import find_files, stop

    # A path that is missing leaves no empty store behind, and neither do files of nothing.
    found = find_files(files, (lambda _: None) if skip_bad else stop)
    is_here = store.startswith(("http://", "https://")) or holds_store(store_folder(store))
    with (
        open_store(store, store_embedder(embedder), must_exist=False, language=language)
        if is_here or any(each.stat().st_size for each in found)
        else AnyStore.ephemeral() as opened,
        progress("Ingesting") as advance,
    ):
        report = ingest_files(files, opened, prune=prune, skip_bad=skip_bad, on_progress=advance)
        count = opened.count()
    if json:
        problems = [encodable(problem) for problem in report.problems]
        said = {**asdict(report), "problems": problems}
        print_json({**said, "references": count, "store": encodable(store)})
        return
    _print(report)
    console.print(f"The store {escape(store)} holds {counted(count, 'passage')}")


def _print(report: IngestReport) -> None:
    skipped = f", {report.skipped} skipped" if report.skipped else ""
    console.print(
        f"{counted(report.added, 'document')} added, {report.replaced} replaced, "
        f"{report.removed} removed, {report.left} unchanged{skipped}"
    )
    console.print(f"{counted(report.passages, 'passage')} added, {report.passages_removed} removed")
    for problem in report.problems:
        console.print(f"  [yellow]skipped[/yellow] {escape(problem)}", soft_wrap=True)
    if more := report.skipped - len(report.problems):
        console.print(f"  and {more} more")
    if others := report.other_kinds:
        kinds = ", ".join(list(others)[:KINDS_SHOWN]) + (
            ", ..." if len(others) > KINDS_SHOWN else ""
        )
        console.print(
            f"{counted(sum(others.values()), 'file')} left out, of kinds that cannot be read: "
            f"{escape(kinds)}"
        )
