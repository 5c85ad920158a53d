"""A Chroma server for a store's passages, in front of a collection of its own.

The collection holds texts and vectors, so that clients need nothing else. It is brought in line
with the folder when the server begins, and the folder with it when the server ends.
"""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from skr_core.errors import StoreError, StoreLocked
from skr_core.models.embedders import HashingEmbedder
from skr_core.ports import Embedder
from skr_store._compat import handle_of
from skr_store.chroma import COLLECTION, CONFIGURATION, PORT, explained, open_folder
from skr_store.database import Database, Progress, blob, matrix
from skr_store.folder import Folder
from skr_store.locking import try_lock
from skr_store.remote import EMBEDDER_KEY, NEVER, packed, row_id, unpacked

SERVED = "served"
SERVED_NAME = "served"
LOCK_NAME = "served.lock"
AT_ONCE = 1_000
SECONDS_TO_START = 60
SECONDS_TO_STOP = 20
_log = logging.getLogger(__name__)
_CHROMA = "import sys; from chromadb.cli.cli import app; sys.argv[0] = 'chroma'; app()"


@contextmanager
def serve(
    path: str | Path, embedder: Embedder | None = None, *, host: str = "127.0.0.1", port: int = PORT
) -> Iterator[subprocess.Popen[bytes]]:
    """Serve a folder's passages to many processes, which use ``Store.connect``.

    The folder stays usable meanwhile. What clients add or delete enters it at the end, or, where
    there was none because somebody was killed, when the folder is opened next.

    Args:
        path: The folder of a store; made if missing.
        embedder: The embedder; by default that of the store where it needs no download, else
            `HashingEmbedder`.
        host: The address to listen at. Chroma asks nobody for a password.
        port: The port to listen at.

    Yields:
        The server's process; it answers.

    Raises:
        StoreLocked: The folder is served already.
        StoreError: The folder cannot be used, or the server does not start.
    """
    _check_free(host, port)
    folder = Folder(Path(path), embedder, None)
    if folder.vectors is None:
        folder.close()
        folder = Folder(Path(path), HashingEmbedder(), None)
    database, maker = folder.database, folder.embedder.name
    lock = try_lock(folder.path / LOCK_NAME)
    try:
        if lock is None:
            raise StoreLocked(f"{path} is served already: end that  skr store serve  first")
        if folder.vectors is not None:
            folder.vectors.embed_missing()
        _give(database, maker)
        database.set(SERVED, maker)
        command = [sys.executable, "-c", _CHROMA, "run", "--path", str(folder.path / SERVED_NAME)]
        server = subprocess.Popen(
            [*command, "--host", host, "--port", str(port)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "ANONYMIZED_TELEMETRY": "False"},
            pass_fds=[handle_of(lock)],  # the lock stays with the server where we are killed
            process_group=0,  # a terminal's Ctrl-C is for this process, which stops the server
        )
        try:
            _wait_for(server, host, port)
            yield server
        finally:
            _stop(server)
            _take(database)
    finally:
        if lock is not None:
            lock.release()
        folder.close()


def take_in(database: Database) -> None:
    """Have what clients of a killed server changed enter the store, unless it is served still."""
    if not database.setting(SERVED):
        return
    lock = try_lock(database.path.with_name(LOCK_NAME))
    if lock is not None:
        try:
            _take(database)
        finally:
            lock.release()


def _give(database: Database, embedder: str) -> None:
    """Bring the served collection in line with the passages."""
    name = f"{SERVED}:{embedder}"
    if database.setting(SERVED):
        _take(database)
    progress = database.progress(name)
    with _collection(database, embedder, afresh=not progress.whole) as collection:
        if not collection.count():
            progress = Progress(0, database.last_removed())
        database.set_progress(name, Progress(progress.upto, progress.removed, False))
        removed = database.removed_after(progress.removed)
        for start in range(0, len(removed), AT_ONCE):
            rows = [row for _, row in removed[start : start + AT_ONCE]]
            collection.delete(where={"row": {"$in": rows}})
        upto = progress.upto
        while vectors := database.vectors_after(upto, embedder, AT_ONCE):
            upto = vectors[-1][0]
            for scope in {each for _, _, each, _ in vectors}:
                blobs = {row: blob for _, row, one, blob in vectors if one == scope}
                found = database.references(list(blobs), scope)
                if not found:
                    continue
                collection.upsert(
                    ids=[row_id(scope, each.id) for each in found.values()],
                    embeddings=matrix([blobs[row] for row in found]),
                    documents=[each.text for each in found.values()],
                    metadatas=[
                        {"row": row, **packed(each, str(each.metadata.get("source", "")), scope)}
                        for row, each in found.items()
                    ],
                )
        last = removed[-1][0] if removed else progress.removed
        database.set_progress(name, Progress(upto, last))


def _take(database: Database) -> None:
    """Bring the passages in line with what the served collection holds; nobody serves it."""
    maker = database.setting(SERVED) or ""
    progress = database.progress(f"{SERVED}:{maker}")
    try:
        with _collection(database, maker) as collection:
            served = set(collection.get(include=[])["ids"])
            rows = database.all(
                "SELECT id, scope, row, EXISTS (SELECT 1 FROM vectors v WHERE v.row = p.row"
                " AND embedder = ? AND number <= ?) FROM passages p",
                maker,
                progress.upto,
            )
            known = {row_id(scope, identity) for identity, scope, _, _ in rows}
            new = sorted(served - known)
            for start in range(0, len(new), AT_ONCE):
                _keep(database, collection, new[start : start + AT_ONCE], maker)
            database.remove(
                [
                    row
                    for identity, scope, row, given in rows
                    if given and row_id(scope, identity) not in served
                ]
            )
    except Exception as error:
        _log.warning("what the server of %s was given cannot be read: %s", database.path, error)
        return
    database.set(SERVED, "")


def _keep(database: Database, collection: Any, ids: list[str], embedder: str) -> None:
    found = collection.get(ids=ids, include=["documents", "metadatas", "embeddings"])
    columns = zip(found["documents"], found["metadatas"], found["embeddings"], strict=True)
    for text, kept, vector in columns:
        expires = float(kept["expires"])
        database.insert(
            [unpacked(text, kept)],
            [blob(vector)],
            kept["scope"],
            expires=None if expires >= NEVER else expires,
            embedder=embedder,
        )


@contextmanager
def _collection(database: Database, embedder: str, *, afresh: bool = False) -> Iterator[Any]:
    """The served collection, opened in this process."""
    path = database.path.with_name(SERVED_NAME)
    with explained(path):
        client = open_folder(path)
        try:
            names = [each.name for each in client.list_collections()]
            if COLLECTION in names:
                made = client.get_collection(COLLECTION, embedding_function=None)
                if afresh or (made.metadata or {}).get(EMBEDDER_KEY) != embedder:
                    client.delete_collection(COLLECTION)
            yield client.get_or_create_collection(
                COLLECTION,
                embedding_function=None,
                metadata={EMBEDDER_KEY: embedder},
                configuration=CONFIGURATION,
            )
        finally:
            client.close()


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
