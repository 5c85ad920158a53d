"""``skr store``: a store's documents, and its folder shared by many processes."""

from __future__ import annotations

import signal
import time
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from skr_app.helping import App
from skr_app.opening import open_store, place_of_store, store_embedder
from skr_app.options import DEFAULT_STORE, Embedder, Json, Store
from skr_app.output import console, counted, escape, messages, print_json, print_table
from skr_core.errors import InputError, StoreError
from skr_core.texts import encodable

app = App(help="List and remove the documents of a store, count them, or share the store.")

Scope = Annotated[
    str | None,
    typer.Option("--scope", help="Only this scope of the store.", show_default="all of them"),
]


@app.command("ls")
def ls(store: Store = DEFAULT_STORE, scope: Scope = None, json: Json = False) -> None:
    """List the documents of a store."""
    with open_store(store, None) as opened:
        sources = opened.sources(scope)
    if json:
        print_json([{**asdict(each), "name": encodable(each.name)} for each in sources])
        return
    rows = [
        [
            encodable(each.name) or "(no source)",
            each.scope,
            f"{each.passages:,}",
            datetime.fromtimestamp(each.added).strftime("%Y-%m-%d %H:%M"),
        ]
        for each in sources
    ]
    print_table(["document", "scope", "passages", "added"], rows)


@app.command("rm")
def rm(
    sources: Annotated[
        list[str] | None,
        typer.Argument(metavar="DOCUMENTS...", help="Documents, as `skr store ls` names them."),
    ] = None,
    store: Store = DEFAULT_STORE,
    scope: Scope = None,
    json: Json = False,
) -> None:
    """Remove documents, or all of a scope, from a store. Your files stay."""
    if not sources and scope is None:
        raise InputError("name the documents to remove, or give --scope for all of a scope")
    with open_store(store, None) as opened:
        known = {each.name for each in opened.sources(scope)}
        for each in sources or ():
            if not {each, str(Path(each).absolute())} & known:
                raise InputError(f"{each} is no document of the store: see  skr store ls")
        if sources:
            left = sum(opened.delete(each, scope=scope) for each in sources)
        else:
            left = opened.clear(scope or "")
    if json:
        print_json({"removed": left})
    else:
        console.print(f"{counted(left, 'passage')} removed")


@app.command("stats")
def stats(store: Store = DEFAULT_STORE, json: Json = False) -> None:
    """Count the documents and passages of a store, and say how it is searched."""
    with open_store(store, None) as opened:
        found = opened.stats()
    if json:
        print_json(asdict(found))
        return
    console.print(
        f"{counted(found.passages, 'passage')} of {counted(found.sources, 'document')} in "
        f"{counted(found.scopes, 'scope')}, {found.size / 1e6:,.1f} MB"
    )
    language = f" ({found.language})" if found.language else ""
    meaning = "" if found.embedder == "none" else f" and by meaning ({escape(found.embedder)})"
    console.print(f"Searched by words{language}{meaning}")


@app.command("serve")
def serve(
    folder: Annotated[
        str, typer.Argument(help="Folder of the store. It is made where it is missing.")
    ],
    host: Annotated[
        str, typer.Option("--host", help="The address to listen at. There is no password.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=1, max=65_535, help="The port to listen at.")
    ] = 8000,
    embedder: Embedder = None,
) -> None:
    """Share a store with other machines, by a Chroma server. It is searched by meaning there."""
    from skr_store.server import serve as serve_folder

    signal.signal(signal.SIGTERM, _stop)
    what = escape(folder) + ("" if Path(folder).exists() else ", which is new and empty,")
    with serve_folder(
        place_of_store(folder), store_embedder(embedder), host=host, port=port
    ) as server:
        shown = f"[{host}]" if ":" in host else host
        line = f"{what} is served at http://{escape(shown)}:{port}; Ctrl-C ends it"
        messages.print(line, soft_wrap=True)
        try:
            # Not one long wait: a signal that another thread takes does not end it.
            while (code := server.poll()) is None:
                time.sleep(1)
        except KeyboardInterrupt:
            return
    raise StoreError(f"the Chroma server ended with code {code}: start it again")


def _stop(*_: object) -> None:
    raise KeyboardInterrupt
