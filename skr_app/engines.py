"""Where a command works on its batch: the options --engine, --address and --workers."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer
from skr_core.engines import Engine, LocalEngine, RayEngine

from skr_app.opening import (
    add_all,
    open_searched,
    open_store,
    searched_references,
    store_embedder,
    store_folder,
)
from skr_app.output import progress
from skr_core.errors import InputError, StoreError

if TYPE_CHECKING:
    from skr_app.described import Described
    from skr_core.ports import Embedder
    from skr_core.questions import Question
    from skr_store.chroma_store import ChromaStore


class EngineName(StrEnum):
    """Where a batch is worked on."""

    local = "local"
    ray = "ray"


EngineOption = Annotated[
    EngineName,
    typer.Option(
        "--engine", help="`local` works in this process, `ray` in workers, here or on a cluster."
    ),
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        "--address",
        help="Of a Ray cluster, HOST:PORT or ray://HOST:PORT. Without it Ray is started here.",
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="Of Ray; by default one a processor."),
]


def open_engine(
    stack: ExitStack, engine: EngineName, address: str | None, workers: int | None
) -> Engine:
    """The engine that the options name.

    Args:
        stack: Ends its workers.
        engine: Its name.
        address: Of Ray.
        workers: Of Ray.

    Raises:
        InputError: An option is for another engine.
        EngineError: No Ray answers there, or it does not start.
    """
    if engine == EngineName.ray:
        return stack.enter_context(RayEngine(address, workers=workers))
    for name, value in (("--address", address), ("--workers", workers)):
        if value is not None:
            raise InputError(f"{name} is for --engine ray")
    return LocalEngine()


def open_for(
    stack: ExitStack,
    engine: Engine,
    described: Described,
    *,
    store: str | None,
    corpus: Path | None,
    questions: Sequence[Question],
    skip_bad: bool,
) -> tuple[ChromaStore, str, Described]:
    """Open what a system searches where the engine works, and here.

    Args:
        stack: Closes it.
        engine: Has workers, which share a server, or has none.
        described: The system.
        store: A store that is there already.
        corpus: A file of passages, ingested for this run alone.
        questions: Their contexts are searched where neither is given.
        skip_bad: Leave out lines of the corpus that cannot be read.

    Returns:
        The store, a name for what it holds, and the system with the server's address.

    Raises:
        InputError: Workers of a cluster cannot reach it, or there is nothing to search.
        StoreError: There is no such store.
    """
    search = described.search
    if not isinstance(engine, RayEngine):
        opened, name = open_searched(
            stack,
            store=store,
            corpus=corpus,
            questions=questions,
            embedder=described.embedder,
            search=search,
            skip_bad=skip_bad,
        )
        return opened, name, described
    chosen = store_embedder(described.embedder)
    address, name = _serve_searched(
        stack,
        engine,
        chosen,
        store=store,
        corpus=corpus,
        questions=questions,
        skip_bad=skip_bad,
    )
    opened = stack.enter_context(open_store(address, chosen, search))
    return opened, name, replace(described, address=address)


def _serve_searched(
    stack: ExitStack,
    engine: RayEngine,
    embedder: Embedder | None,
    *,
    store: str | None,
    corpus: Path | None,
    questions: Sequence[Question],
    skip_bad: bool,
) -> tuple[str, str]:
    """Serve what is searched; a folder has one process at a time, so it is served for this run."""
    from skr_store.chroma_store import ChromaStore
    from skr_store.folder import JOURNAL_NAME

    if corpus is not None and store is not None:
        raise InputError("give either --corpus or --store")
    if store is not None and "://" in store:
        return store, store
    if not engine.is_local:
        raise InputError(
            "the workers of a cluster share a store by its address: run  skr store serve FOLDER "
            "--host HOST  where they reach it, and give --store http://HOST:8000"
        )
    if store is None:
        references, name = searched_references(corpus, questions, skip_bad=skip_bad)
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="skr-store-")))
        with (
            ChromaStore.open(folder, embedder=embedder) as opened,
            progress("Ingesting") as advance,
        ):
            add_all(opened, references, advance)
    else:
        folder = store_folder(store)
        name = folder.name
        if not (folder / JOURNAL_NAME).exists():
            raise StoreError(
                f"there is no store at {folder}: make one with  skr ingest FILES --store {folder}"
            )
    return _serve(stack, folder, embedder), name


def _serve(stack: ExitStack, folder: Path, embedder: Embedder | None) -> str:
    from skr_store.server import serve

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    stack.enter_context(serve(folder, embedder, port=port))
    return f"http://127.0.0.1:{port}"
