"""Folders and SQLite files of others: they lead to no other file, and run nothing of their own.

What somebody sends may link out of its folder. A database of theirs may hold triggers, views and
columns that compute, and its journal may name a file elsewhere, which SQLite would delete.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path

from skr_core.errors import StoreError

_JOURNAL_END = bytes.fromhex("d9d505f920a163d7")
"""The last bytes of a journal that names another: of a transaction over several databases."""


def check_parts(folder: Path, beginnings: Sequence[str]) -> None:
    """Refuse a folder whose files, read or written, would be others.

    Args:
        folder: The folder; may itself be linked, as whoever names it knows.
        beginnings: The beginnings of the names that are looked at, as what else stands in the
            folder is not used.

    Raises:
        StoreError: One of them is, or holds, a link out of the folder, a pipe, a socket, a device
            or a journal that names another file.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> (folder / "words").symlink_to("/etc")
        >>> check_parts(folder, ["words"])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        skr_core.errors.StoreError: .../words is a link out of ...
    """
    within = folder.resolve()
    for path in _parts(folder, tuple(beginnings)):
        if path.is_symlink() and not path.resolve().is_relative_to(within):
            problem = f"a link out of {folder}"
        elif path.exists() and not (path.is_dir() or path.is_file()):
            problem = "a pipe, a socket or a device"
        elif path.name.endswith("-journal") and _names_another(path):
            problem = "a journal that names another file, which SQLite would delete"
        else:
            continue
        raise StoreError(f"{path} is {problem}: remove it, or get the folder from whom you trust")


def _parts(folder: Path, beginnings: tuple[str, ...]) -> Iterator[Path]:
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        if path.name.startswith(beginnings):
            yield path
            for root, folders, names in os.walk(path):
                yield from (Path(root, name) for name in (*folders, *names))


def _names_another(journal: Path) -> bool:
    try:
        with journal.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - len(_JOURNAL_END)))
            return file.read() == _JOURNAL_END
    except FileNotFoundError:  # whoever was writing has ended
        return False


def check_tables(connection: sqlite3.Connection, schema: str) -> None:
    """Trust nothing that a database computes, and refuse one with other tables than ours.

    Args:
        connection: A new connection.
        schema: The statements that make the tables; an empty database is yet to be given them.

    Raises:
        sqlite3.DatabaseError: It holds something else, such as a trigger or a view.

    Example:
        >>> connection = sqlite3.connect(":memory:")
        >>> check_tables(connection, "CREATE TABLE ours (key TEXT)")
        >>> _ = connection.execute("CREATE VIEW ours AS SELECT 1 AS key")
        >>> check_tables(connection, "CREATE TABLE ours (key TEXT)")
        Traceback (most recent call last):
        ...
        sqlite3.DatabaseError: what it holds as 'ours' is not ours
    """
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    found = _tables(connection)
    for name in sorted(found ^ _tables_of(schema)) if found else ():
        raise sqlite3.DatabaseError(f"what it holds as {str(name[1])!r} is not ours")


@cache
def _tables_of(schema: str) -> frozenset[tuple[str, str, str]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(schema)
        return _tables(connection)


def _tables(connection: sqlite3.Connection) -> frozenset[tuple[str, str, str]]:
    rows = connection.execute(
        "SELECT type, name, coalesce(sql, '') FROM sqlite_master"
        " WHERE NOT (type = 'table' AND name GLOB 'sqlite_stat[1-4]')"  # of ANALYZE
    )
    return frozenset(rows.fetchall())
