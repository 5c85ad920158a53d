"""What is relied on of Chroma's insides is still there; each failure names what has changed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import chromadb
import filelock
import pytest
import tantivy
from chromadb.api.async_fastapi import AsyncFastAPI
from chromadb.api.shared_system_client import SharedSystemClient
from filelock import FileLock

from skr_store._compat import (
    forget_half_made,
    handle_of,
    panics_raised,
    sessions_of,
    take_connections,
)

SINCE = f"chromadb {chromadb.__version__} (1.5.9 had it)"


def test_a_client_that_failed_is_kept_and_can_be_forgotten(tmp_path: Path):
    assert isinstance(SharedSystemClient._identifier_to_system, dict), SINCE
    broken = tmp_path / "file"
    broken.write_text("not a folder")
    with pytest.raises(Exception, match=r"."):
        chromadb.PersistentClient(broken)
    assert str(broken) in SharedSystemClient._identifier_to_system, f"no need any more: {SINCE}"
    forget_half_made(broken)
    assert str(broken) not in SharedSystemClient._identifier_to_system


def test_connections_of_a_loop_are_kept_by_its_hash():
    assert isinstance(AsyncFastAPI._clients, dict), SINCE

    async def take() -> object:
        loop = asyncio.get_running_loop()
        AsyncFastAPI._clients[hash(loop)] = kept = object()
        assert take_connections(loop) is kept
        return take_connections(loop)

    assert asyncio.run(take()) is None


def test_a_client_holds_its_servers():
    client = chromadb.EphemeralClient()
    assert hasattr(client, "_server"), SINCE
    assert hasattr(client._admin_client, "_server"), SINCE
    assert sessions_of(client) == []  # an embedded one has no connections


def test_a_lock_that_is_held_has_a_handle(tmp_path: Path):
    since = f"filelock {filelock.__version__} (4.2.11 had it)"
    with FileLock(tmp_path / "lock") as lock:
        assert handle_of(lock) > 2, since


def test_a_panic_of_tantivy_is_no_exception(tmp_path: Path):
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("row", fast=True)
    index = tantivy.Index(builder.build(), str(tmp_path))
    with index.writer(15_000_000, 1) as writer:
        document = tantivy.Document()
        document.add_unsigned("row", 1)
        writer.add_document(document)
    [fast] = tmp_path.glob("*.fast")
    content = fast.read_bytes()
    fast.write_bytes(b"\xff" * 40 + content[40:])
    with pytest.raises(ValueError, match=r".") as raised, panics_raised():
        first_of(tmp_path)
    since = f"no need any more: tantivy {tantivy.__version__} (0.27.0 had it)"
    assert type(raised.value.__cause__).__name__ == "PanicException", since


def first_of(folder: Path) -> None:
    searcher = tantivy.Index.open(str(folder)).searcher()
    searcher.search(tantivy.Query.all_query(), 1, count=False, order_by_field="row")
