"""``skr store``: a store's folder, shared by many processes."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Annotated

import typer

from skr_app.opening import place_of_store, store_embedder
from skr_app.options import Embedder, SystemOptions
from skr_app.output import escape, messages
from skr_core.errors import StoreError

app = typer.Typer(help="The reference store: serve its folder.", no_args_is_help=True)


@app.callback()
def _store() -> None:
    """The reference store: serve its folder."""


@app.command("serve")
def serve(
    folder: Annotated[str, typer.Argument(help="Folder of the store; made if missing.")],
    host: Annotated[
        str, typer.Option("--host", help="Where to listen; Chroma asks nobody for a password.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65_535)] = 8000,
    embedder: Embedder = SystemOptions.embedder,
) -> None:
    """Serve a store's folder with Chroma, and keep others from opening it meanwhile."""
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
