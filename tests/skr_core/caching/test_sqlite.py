"""The cache on the disk: many users at a time, and no damage that ends in more than a miss."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from skr_core.caching import SqliteCache
from skr_core.errors import StoreError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "replies.sqlite"


def test_what_is_put_is_there_after_closing_in_both_colours(path: Path) -> None:
    async def awaited(cache: SqliteCache) -> str | None:
        await cache.aput("b", "two")
        return await cache.aget("a")

    with SqliteCache(path) as cache:
        cache.put("a", "one")
        assert asyncio.run(awaited(cache)) == "one"
    with SqliteCache(path) as cache:
        assert [cache.get(key) for key in "abc"] == ["one", "two", None]
        cache.put("a", "other")
        assert cache.get("a") == "other"
    cache.close()  # twice does nothing


def test_threads_and_a_second_user_share_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skr_core.caching.sqlite.PATIENCE_S", 100)
    with SqliteCache(path) as one, SqliteCache(path) as other:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: (one, other)[n % 2].put(str(n), f"text {n}"), range(40)))
        assert [other.get(str(n)) for n in range(40)] == [f"text {n}" for n in range(40)]


def test_another_process_finds_it(path: Path) -> None:
    with SqliteCache(path) as cache:
        cache.put("a", "näïve ☃")
        code = (
            "import sys; from skr_core.caching import SqliteCache\n"
            "cache = SqliteCache(sys.argv[1]); cache.put('b', ascii(cache.get('a'))); cache.close()"
        )
        subprocess.run([sys.executable, "-c", code, str(path)], check=True, timeout=150)
        assert cache.get("b") == ascii("näïve ☃")


@pytest.mark.parametrize("content", [b"no database at all, but long enough " * 100, b"\x00" * 999])
def test_a_file_of_another_kind_is_put_aside(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with SqliteCache(path) as cache:
        assert cache.get("a") is None
        cache.put("a", "one")
        assert cache.get("a") == "one"
    assert path.with_name("replies.sqlite.damaged").read_bytes() == content


def test_a_file_damaged_while_it_is_open_is_a_miss(path: Path) -> None:
    with SqliteCache(path) as cache:
        for number in range(200):
            cache.put(str(number), "text " * 100)
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    with SqliteCache(path) as cache:
        assert [cache.get(str(number)) for number in range(200)] == [None] * 200
        cache.put("0", "anew")
        assert cache.get("0") == "anew"


def test_a_damaged_text_is_a_miss(path: Path) -> None:
    with SqliteCache(path) as cache:
        cache.put("a", "one")
        cache.put("b", "two")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE texts SET value = 'won' WHERE key = 'a'")
    connection.close()
    with SqliteCache(path) as cache:
        assert (cache.get("a"), cache.get("b")) == (None, "two")


def test_where_there_can_be_no_file_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "replies.sqlite", tmp_path):
        with pytest.raises(StoreError, match="cannot be used as a cache"):
            SqliteCache(path)


def test_a_file_that_somebody_holds_keeps_nobody_from_an_answer(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skr_core.caching.sqlite.PATIENCE_S", 0)
    with SqliteCache(path) as cache:
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        cache.put("a", "one")
        assert cache.get("a") is None
        holder.execute("ROLLBACK")
        holder.close()
        cache.put("a", "one")
        assert cache.get("a") == "one"
    assert not path.with_name("replies.sqlite.damaged").exists()
