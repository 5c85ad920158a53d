"""A Chroma server in front of a store's folder, which nothing else opens meanwhile."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from skr_core.errors import StoreError
from skr_core.ports import Embedder
from skr_store.connection import PORT
from skr_store.embedded import INDEX_NAME
from skr_store.folder import StoreFolder

SECONDS_TO_START = 60
SECONDS_TO_STOP = 20
_CHROMA = "import sys; from chromadb.cli.cli import app; sys.argv[0] = 'chroma'; app()"


@contextmanager
def serve(
    path: str | Path, embedder: Embedder | None = None, *, host: str = "127.0.0.1", port: int = PORT
) -> Iterator[subprocess.Popen[bytes]]:
    """Serve a folder to many processes, which use ``ChromaStore.connect``.

    The folder is put right first, as by `ChromaStore.open`. The server holds its lock, also where
    it outlives this process. What the server was given enters the journal at the end, or, where
    there was none because somebody was killed, when the folder is opened next.

    Args:
        path: The folder of a store; made if missing.
        embedder: Of the store; as in `ChromaStore.open` where none is given.
        host: Where to listen. Chroma asks nobody for a password.
        port: Likewise.

    Yields:
        The server's process; it answers.

    Raises:
        StoreLocked: The folder is open elsewhere.
        StoreError: The folder cannot be used, or the server does not start.
    """
    _check_free(host, port)
    folder = StoreFolder(Path(path), embedder)
    try:
        with folder.lent() as lock:
            index = Path(path) / INDEX_NAME
            command = [sys.executable, "-c", _CHROMA, "run", "--path", str(index)]
            server = subprocess.Popen(
                [*command, "--host", host, "--port", str(port)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "ANONYMIZED_TELEMETRY": "False"},
                pass_fds=[lock],
                process_group=0,  # a terminal's Ctrl-C is for this process, which stops the server
            )
            try:
                _wait_for(server, host, port)
                yield server
            finally:
                _stop(server)
    finally:
        folder.close()
    StoreFolder(Path(path), embedder).close()  # records what it was given


def _check_free(host: str, port: int) -> None:
    """Somebody else's answer would pass for that of a server that has not come so far."""
    try:
        family, kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise StoreError(_no_start(host, port)) from error


def _no_start(host: str, port: int) -> str:
    return f"the Chroma server does not start at {host}:{port}: is the port taken?"


def _wait_for(server: subprocess.Popen[bytes], host: str, port: int) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with closing(HTTPConnection(host, port, timeout=5)) as connection:
                connection.request("GET", "/api/v2/heartbeat")
                connection.getresponse()
        except (OSError, HTTPException):
            time.sleep(0.1)
            continue
        # Somebody else's answer, where the port was taken: ours has ended by now, or ends at once.
        time.sleep(0.3)
        if server.poll() is None:
            return
    raise StoreError(_no_start(host, port))


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(SECONDS_TO_STOP)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
