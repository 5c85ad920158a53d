"""A store of a stranger's: no code of his runs, no file elsewhere is touched, one line says why."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from chromadb.utils.embedding_functions import SentenceTransformerEmbeddingFunction

from skr_core import HashingEmbedder, Reference
from skr_core.errors import SKRError, StoreError
from skr_core.files.foreign import check_parts
from skr_learn.reply_cache import ReplyCache
from skr_store import Store, vectors
from skr_store.chroma import COLLECTION, open_folder
from skr_store.database import DATABASE_NAME

PASSAGES = [Reference.of(f"passage {n} of lamp {n % 7}", f"T{n}") for n in range(250)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "store"
    with Store.open(folder, embedder=HashingEmbedder()) as store:
        store.add(PASSAGES)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "store"))


def use(folder: Path) -> None:
    with Store.open(folder, embedder=HashingEmbedder()) as store:
        store.count()
        store.sources()
        for search in (store, store.searched_by("bm25"), store.searched_by("dense")):
            search.retrieve("passage 12 of lamp 5")
        store.add([Reference.of("a new one")])


def refused(folder: Path) -> str:
    with pytest.raises(StoreError) as raised:
        use(folder)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def used_or_refused(folder: Path) -> str | None:
    try:
        use(folder)
    except SKRError as error:
        return str(error)
    return None


def execute(path: Path, *statements: str, values: tuple[object, ...] = ()) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for each in statements:
            connection.execute(each, values)


ENDLESS = "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT * FROM c"


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TRIGGER evil AFTER INSERT ON passages BEGIN DELETE FROM origins; END"],
        ["CREATE TRIGGER evil AFTER UPDATE ON settings BEGIN SELECT zeroblob(1000000000); END"],
        [
            "ALTER TABLE settings RENAME TO old",
            f"CREATE VIEW settings AS {ENDLESS}",
        ],
        ["ALTER TABLE passages ADD COLUMN evil AS (zeroblob(1000000000))"],
        ["ALTER TABLE passages RENAME COLUMN text TO evil"],
        ["CREATE INDEX evil ON passages (length(text))"],
        ["CREATE TABLE evil (x)"],
        ["DROP TABLE vectors"],
    ],
)
def test_other_tables_than_ours_are_refused(statements: list[str], folder: Path):
    execute(folder / DATABASE_NAME, *statements)
    assert "is not ours" in refused(folder)


def test_what_sqlite_itself_keeps_of_an_analysis_is_no_other_table(folder: Path):
    execute(folder / DATABASE_NAME, "ANALYZE")
    use(folder)


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        *(
            ("origins", "kept", kept)
            for kept in ("[]", "null", "{", "[" * 100_000, '{"metadata": 1}', '{"shown": []}')
        ),
        ("passages", "title", b"\xff\xfe"),
        ("passages", "text", b"\xff\xfe"),
        ("vectors", "vector", b"\0" * 7),
        ("vectors", "vector", "text"),
        ("vectors", "vector", b""),
        ("indexes", "removed", "many"),
    ],
)
def test_values_that_no_store_writes_are_one_line(
    table: str, column: str, value: object, folder: Path
):
    execute(folder / DATABASE_NAME, f"UPDATE {table} SET {column} = ?", values=(value,))
    assert DATABASE_NAME in refused(folder)


def test_rows_that_do_not_rise_are_not_read_for_ever(folder: Path):
    with Store.open(folder) as store:
        database: Any = store.backend.database  # type: ignore[attr-defined]
        assert [row for row, *_ in database.texts_after(247, 10)] == [248, 249, 250]
        damaged = "SELECT row FROM passages WHERE row > ? OR 1 ORDER BY row"
        with pytest.raises(StoreError, match="rows out of their order"):
            database._behind(100, damaged)


def a_journal_that_names(other: Path, database: Path) -> None:
    """A transaction that seems to be under way, over this database and others."""
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN")
        connection.execute("UPDATE vectors SET vector = zeroblob(100)")
        journal = bytearray(database.with_name(f"{database.name}-journal").read_bytes())
        connection.execute("ROLLBACK")
    [page] = struct.unpack(">I", journal[24:28])
    name = os.fsencode(other)
    end = struct.pack(">I", 0x40000000 // page + 1) + name
    end += struct.pack(">II", len(name), sum(name)) + bytes.fromhex("d9d505f920a163d7")
    database.with_name(f"{database.name}-journal").write_bytes(journal + end)


def test_a_journal_deletes_no_file_elsewhere(folder: Path, tmp_path: Path):
    victim, copied = tmp_path / "victim.txt", tmp_path / "copied"
    victim.write_text("precious\n")
    a_journal_that_names(victim, folder / DATABASE_NAME)
    shutil.copytree(folder, copied)
    assert "a journal that names another file" in refused(folder)
    with pytest.raises(StoreError, match="a journal that names another file"):
        ReplyCache(folder / DATABASE_NAME)
    assert victim.exists()
    # What it is refused for: SQLite itself would have done it.
    execute(copied / DATABASE_NAME, "SELECT * FROM settings")
    assert not victim.exists()


@pytest.mark.parametrize("name", [DATABASE_NAME, f"{DATABASE_NAME}-wal", "words", "words.lock"])
def test_links_out_of_the_folder_are_refused(name: str, folder: Path, tmp_path: Path):
    outside = tmp_path / "outside"
    path = folder / name
    if path.is_dir():
        shutil.move(path, outside)
    else:
        outside.write_bytes(path.read_bytes() if path.exists() else b"")
        path.unlink(missing_ok=True)
    before = sorted(outside.iterdir()) if outside.is_dir() else outside.read_bytes()
    path.symlink_to(outside)
    assert f"{name} is a link out of" in refused(folder)
    assert before == (sorted(outside.iterdir()) if outside.is_dir() else outside.read_bytes())


def test_a_link_within_a_part_is_refused_and_one_to_the_folder_itself_is_not(folder: Path):
    (folder.parent / "linked").symlink_to(folder)
    use(folder.parent / "linked")
    (folder / "words" / "meta.json").unlink()
    (folder / "words" / "meta.json").symlink_to("/etc/hostname")
    assert "meta.json is a link out of" in refused(folder)


def test_a_pipe_is_not_waited_for(folder: Path):
    (folder / DATABASE_NAME).unlink()
    os.mkfifo(folder / DATABASE_NAME)
    assert "is a pipe" in refused(folder)


def test_what_else_stands_in_the_folder_is_not_looked_at(folder: Path):
    (folder / "mine").symlink_to("/etc")
    use(folder)


def in_chroma(folder: Path) -> Path:
    [path] = folder.glob("vectors-*/chroma.sqlite3")
    return path


NAMED: dict[str, Any] = {
    "type": "known",
    "name": "sentence_transformer",
    "config": {
        "model_name": "evil/model",
        "device": "cpu",
        "normalize_embeddings": False,
        "kwargs": {"trust_remote_code": True},
    },
}


def name_an_embedder(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        [(schema,)] = connection.execute("SELECT schema_str FROM collections").fetchall()
        changed = schema.replace('{"type":"legacy"}', json.dumps(NAMED))
        assert changed != schema
        connection.execute("UPDATE collections SET schema_str = ?", (changed,))


def plant_a_trigger(path: Path) -> None:
    execute(
        path,
        "CREATE TRIGGER evil AFTER INSERT ON embeddings_queue BEGIN DELETE FROM embeddings; END",
    )


@pytest.mark.parametrize("plant", [name_an_embedder, plant_a_trigger])
def test_a_chroma_that_would_run_something_is_made_again(
    plant: Callable[[Path], None], folder: Path, monkeypatch: pytest.MonkeyPatch
):
    built: list[object] = []
    monkeypatch.setattr(
        SentenceTransformerEmbeddingFunction, "build_from_config", staticmethod(built.append)
    )
    monkeypatch.setattr(vectors, "EXACT", 100)
    monkeypatch.setattr(vectors, "BEHIND", 1)
    use(folder)
    plant(in_chroma(folder))
    with pytest.raises(StoreError, match=r"Chroma makes none|names an embedder"):
        open_folder(in_chroma(folder).parent)
    use(folder)
    assert built == []
    client = open_folder(in_chroma(folder).parent)  # as it is safe again
    assert client.get_collection(COLLECTION, embedding_function=None).count() > 200
    client.close()


def test_a_damaged_index_of_words_is_one_line_or_made_again(folder: Path):
    for suffix in (".term", ".fast", ".idx"):
        for path in (folder / "words").glob(f"*{suffix}"):
            content = path.read_bytes()
            path.write_bytes(content[: len(content) // 3])
    said = used_or_refused(folder)
    if said is not None:
        assert "delete it, and it is made again" in said
        shutil.rmtree(folder / "words")
    use(folder)


def test_a_cache_of_replies_with_a_trigger_is_put_aside(tmp_path: Path):
    path = tmp_path / "replies.sqlite"
    with ReplyCache(path) as cache:
        cache.put("key", "value")
    execute(path, "CREATE TRIGGER evil BEFORE INSERT ON texts BEGIN DELETE FROM texts; END")
    with ReplyCache(path) as cache:
        assert cache.get("key") is None
        cache.put("key", "mine")
        assert cache.get("key") == "mine"
    assert path.with_name("replies.sqlite.damaged").exists()


def mutated(content: bytes, draw: random.Random) -> bytes:
    changed = bytearray(content)
    start = draw.randrange(max(1, len(changed)))
    how = draw.choice(["flip", "cut", "zero", "head"])
    if how == "cut":
        return bytes(changed[:start])
    if how == "zero":
        changed[start : start + 4_096] = bytes(len(changed[start : start + 4_096]))
        return bytes(changed)
    for _ in range(20):
        place = draw.randrange(min(100, len(changed)) if how == "head" else len(changed))
        changed[place] = draw.randrange(256)
    return bytes(changed)


@pytest.mark.parametrize("seed", range(12))
def test_whatever_bytes_change_it_is_used_or_refused_in_one_line(seed: int, folder: Path):
    draw = random.Random(seed)
    files = sorted(each for each in folder.rglob("*") if each.is_file() and each.stat().st_size)
    weights = [1 + 5 * (each.name == DATABASE_NAME) for each in files]
    [path] = draw.choices(files, weights)
    path.write_bytes(mutated(path.read_bytes(), draw))
    assert "\n" not in (used_or_refused(folder) or "")


def test_nothing_is_looked_for_in_a_folder_that_is_not_there(tmp_path: Path):
    check_parts(tmp_path / "none", [""])
