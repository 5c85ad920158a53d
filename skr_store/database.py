"""The truth of a store: its passages, their sources, scopes and vectors, in one SQLite file.

An addition is acknowledged when it is committed here. Many processes read while one writes, and a
second writer waits for the first. The indexes of words and of vectors are made from this file and
may be deleted at any time. A row is never used again: "up to which row" says what an index holds.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

import orjson

from skr_core.errors import StoreError, StoreLocked
from skr_core.types import Reference
from skr_store.storable import provenance, with_provenance

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from skr_core.ports import Vectors

DATABASE_NAME = "store.sqlite3"
SECONDS_TO_WAIT = 60
"""How long a second writer waits for the first."""
AT_ONCE = 500
"""Values in one statement."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS sources (
    source INTEGER PRIMARY KEY, scope TEXT NOT NULL, name TEXT NOT NULL, hash TEXT,
    added REAL NOT NULL, reading INTEGER NOT NULL DEFAULT 0, UNIQUE (scope, name));
CREATE TABLE IF NOT EXISTS passages (
    row INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, scope TEXT NOT NULL,
    title TEXT NOT NULL, text TEXT NOT NULL, expires REAL, UNIQUE (id, scope));
CREATE INDEX IF NOT EXISTS passages_by_scope ON passages (scope);
CREATE INDEX IF NOT EXISTS passages_that_expire ON passages (expires) WHERE expires IS NOT NULL;
CREATE TABLE IF NOT EXISTS origins (
    source INTEGER NOT NULL, row INTEGER NOT NULL, reading INTEGER NOT NULL, kept TEXT NOT NULL,
    PRIMARY KEY (source, row)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS origins_by_row ON origins (row);
CREATE TABLE IF NOT EXISTS vectors (
    number INTEGER PRIMARY KEY AUTOINCREMENT, row INTEGER NOT NULL, embedder TEXT NOT NULL,
    vector BLOB NOT NULL, UNIQUE (row, embedder));
CREATE TABLE IF NOT EXISTS removed (number INTEGER PRIMARY KEY AUTOINCREMENT, row INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS indexes (
    name TEXT PRIMARY KEY, upto INTEGER NOT NULL, removed INTEGER NOT NULL, whole INTEGER NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class Source:
    """A document of a store.

    Attributes:
        name: The path of its file, or what its passages say is their source; may be empty.
        scope: The scope that it was added to.
        passages: The number of its passages.
        added: The time of its last change, in seconds since 1970.
    """

    name: str
    scope: str
    passages: int
    added: float


@dataclass(frozen=True, slots=True)
class Reading:
    """Passages that were read of a document.

    Attributes:
        source: The document's name.
        references: The passages, in their order.
        is_first: Whether the document's reading begins with these.
        hash: The document's hash where the reading ends with these; None where more come.
    """

    source: str
    references: Sequence[Reference]
    is_first: bool
    hash: str | None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an index has come.

    Attributes:
        upto: The last row, or the last vector's number, that it holds.
        removed: The last removal that it has followed.
        whole: Whether no writing was under way when this was said.
    """

    upto: int = 0
    removed: int = 0
    whole: bool = True


class Database:
    """The SQLite file of a store; safe to use from several threads, and after a fork.

    Args:
        folder: The store's folder; exists.
        writable: Whether this process may write to it.

    Raises:
        StoreError: It cannot be read, or is of another kind.
    """

    def __init__(self, folder: Path, writable: bool) -> None:
        self.path, self.writable = folder / DATABASE_NAME, writable
        self._copy: Path | None = None
        self._begin()
        with explained(self.path):
            if writable:
                self._create()
            elif not self.path.exists():
                raise StoreError(f"{folder} is read-only here, so no store can be made in it")
            self.one("SELECT count(*) FROM settings")

    def _create(self) -> None:
        """Make the tables, unless they are there; opening a store does not wait for who writes."""
        if self.path.exists() and self.one("SELECT count(*) FROM sqlite_master"):
            return
        with self.transaction() as write:
            for statement in _SCHEMA.split(";"):
                write.execute(statement)

    def _begin(self) -> None:
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        self._reading, self._writing = threading.RLock(), threading.RLock()

    def hold(self) -> None:
        """Before a fork: wait for other threads, and close the connections.

        SQLite keeps the locks of a file in the memory of the process. A child that inherits an open
        connection would take its parent's locks for its own.
        """
        self._writing.acquire()
        self._reading.acquire()
        self._close_connections()

    def resume(self) -> None:
        """After a fork, in the parent."""
        self._reading.release()
        self._writing.release()

    def forget(self) -> None:
        """After a fork, in the child: begin anew, with locks of its own."""
        self._begin()

    def close(self) -> None:
        """Close the connections; the last one moves what the log holds into the file."""
        with self._writing, self._reading:
            self._close_connections()
            if self._copy is not None:
                shutil.rmtree(self._copy, ignore_errors=True)
                self._copy = None

    def _close_connections(self) -> None:
        for connection in (self._reader, self._writer):
            if connection is not None:
                connection.close()
        self._reader = self._writer = None

    # Reading

    def all(self, statement: str, *values: object) -> list[Any]:
        """The rows of a query."""
        with self._reading, explained(self.path):
            if self._reader is None:
                self._reader = self._open_reader()
            return self._reader.execute(statement, values).fetchall()

    def one(self, statement: str, *values: object) -> Any:
        """The first value of a query's first row; None where there is no row."""
        rows = self.all(statement, *values)
        return rows[0][0] if rows else None

    def last_vector(self) -> int:
        """The number of the vector that was added last; 0 where there is none."""
        return self.one("SELECT max(number) FROM vectors") or 0

    def last_row(self) -> int:
        """The row of the passage that was added last; 0 where there is none."""
        return self.one("SELECT max(row) FROM passages") or 0

    def count(self, scope: str | None = None) -> int:
        """How many passages a scope has, or all scopes."""
        now = time.time()
        alive = "(expires IS NULL OR expires > ?)"
        if scope is None:
            return int(self.one(f"SELECT count(*) FROM passages WHERE {alive}", now))
        of_scope = f"SELECT count(*) FROM passages WHERE scope = ? AND {alive}"
        return int(self.one(of_scope, scope, now))

    def has_other_scopes(self, scope: str) -> bool:
        """Whether anything stands outside a scope."""
        found = "SELECT EXISTS (SELECT 1 FROM passages WHERE scope {} ?)"
        return bool(self.one(found.format("<"), scope) or self.one(found.format(">"), scope))

    def texts_after(self, row: int, limit: int) -> list[tuple[int, str, str, str]]:
        """Row, scope, title and text of the passages behind a row, in their order."""
        return self.all(
            "SELECT row, scope, title, text FROM passages WHERE row > ? ORDER BY row LIMIT ?",
            row,
            limit,
        )

    def references(self, rows: Sequence[int], scope: str) -> dict[int, Reference]:
        """Passages of a scope by their rows; what is gone or has expired is left out."""
        found: dict[int, Reference] = {}
        for some in _parts(rows):
            marks = ",".join("?" * len(some))
            for row, identity, title, text, kept in self.all(
                f"SELECT p.row, id, title, text, (SELECT kept FROM origins o WHERE o.row = p.row"
                f" ORDER BY source LIMIT 1) FROM passages p WHERE p.row IN ({marks})"
                f" AND scope = ? AND (expires IS NULL OR expires > ?)",
                *some,
                scope,
                time.time(),
            ):
                found[row] = _reference(identity, title, text, kept)
        return found

    def rows_of(self, ids: Sequence[str], scope: str) -> dict[str, int]:
        """The rows of those passages that a scope has already."""
        found: dict[str, int] = {}
        for some in _parts(ids):
            marks = ",".join("?" * len(some))
            statement = f"SELECT id, row FROM passages WHERE id IN ({marks}) AND scope = ?"
            found.update(self.all(statement, *some, scope))
        return found

    def sources(self, scope: str | None = None) -> list[Source]:
        """The documents of a scope, or of all, by name."""
        return [
            Source(*each)
            for each in self.all(
                "SELECT name, scope, (SELECT count(*) FROM origins o WHERE o.source = s.source),"
                " added FROM sources s WHERE ?1 IS NULL OR scope = ?1 ORDER BY name, scope",
                scope,
            )
        ]

    def hashes(self, scope: str) -> dict[str, str | None]:
        """The hash of each document of a scope, as it was read; None where it was not ended."""
        return dict(self.all("SELECT name, hash FROM sources WHERE scope = ?", scope))

    # Vectors

    def vectors_of(self, ids: Sequence[str], embedder: str) -> dict[str, bytes]:
        """Vectors that are known by a passage's content, in whatever scope it was embedded."""
        found: dict[str, bytes] = {}
        for some in _parts(ids):
            marks = ",".join("?" * len(some))
            statement = (
                f"SELECT id, vector FROM passages JOIN vectors USING (row)"
                f" WHERE id IN ({marks}) AND embedder = ?"
            )
            found.update(self.all(statement, *some, embedder))
        return found

    def vectors_after(
        self, number: int, embedder: str, limit: int
    ) -> list[tuple[int, int, str, bytes]]:
        """Number, row, scope and vector of an embedder's vectors behind a number."""
        return self.all(
            "SELECT number, row, scope, vector FROM vectors JOIN passages USING (row)"
            " WHERE number > ? AND embedder = ? ORDER BY number LIMIT ?",
            number,
            embedder,
            limit,
        )

    def without_vector(self, embedder: str, row: int, limit: int) -> list[tuple[int, str, str]]:
        """Row, title and text of passages behind a row that an embedder has not seen."""
        return self.all(
            "SELECT row, title, text FROM passages p WHERE row > ? AND NOT EXISTS (SELECT 1 FROM"
            " vectors v WHERE v.row = p.row AND v.embedder = ?) ORDER BY row LIMIT ?",
            row,
            embedder,
            limit,
        )

    def add_vectors(self, rows: Sequence[int], vectors: Vectors, embedder: str) -> None:
        """Keep the vectors of passages; one that went meanwhile is passed over."""
        with self.transaction() as write:
            _add_vectors(write, zip(rows, map(_blob, vectors), strict=True), embedder)

    # Writing

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write, all or nothing; on the disk when this ends.

        Raises:
            StoreLocked: Another process is writing, and does not end.
            StoreError: The folder is read-only here, or its disk takes no more.
        """
        if not self.writable:
            raise StoreError(f"{self.path.parent} is read-only here: nothing can be added to it")
        with self._writing, explained(self.path):
            connection = self._writer or self._open_writer()
            if connection.in_transaction:  # this thread's, which holds the lock: all or nothing
                yield connection
                return
            _execute(connection, "BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                connection.rollback()
                raise

    def insert(
        self,
        references: Sequence[Reference],
        vectors: Sequence[bytes | None],
        scope: str,
        *,
        expires: float | None = None,
        embedder: str = "",
    ) -> int:
        """Add passages to a scope; those that it has are left as they are, but for their expiry.

        Args:
            references: The passages, as `storable_reference` leaves them.
            vectors: The vector of each; None where there is none.
            scope: The scope.
            expires: The time from which they are found no more.
            embedder: The embedder's name.

        Returns:
            How many were new.
        """
        new = 0
        with self.transaction() as write:
            sources: dict[str, int] = {}
            for reference, vector in zip(references, vectors, strict=True):
                row, is_new = _insert_passage(write, reference, scope, expires)
                if not is_new:
                    continue
                new += 1
                name = str(reference.metadata.get("source", ""))
                if name not in sources:
                    sources[name] = _source(write, scope, name)
                _origin(write, sources[name], row, 0, reference)
                if vector is not None:
                    _add_vectors(write, [(row, vector)], embedder)
        return new

    def read_source(
        self, reading: Reading, vectors: Sequence[bytes | None], scope: str, embedder: str
    ) -> tuple[int, int]:
        """Write what was read of a document; passages of earlier readings leave at its end.

        Args:
            reading: The passages that were read, as `storable_reference` leaves them.
            vectors: The vector of each; None where there is none.
            scope: The scope.
            embedder: The embedder's name.

        Returns:
            How many passages are new, and how many left.
        """
        new = left = 0
        with self.transaction() as write:
            source = _source(write, scope, reading.source)
            if reading.is_first:
                write.execute(
                    "UPDATE sources SET hash = NULL, reading = reading + 1 WHERE source = ?",
                    (source,),
                )
            of_source = "SELECT reading FROM sources WHERE source = ?"
            [[number]] = write.execute(of_source, (source,)).fetchall()
            for reference, vector in zip(reading.references, vectors, strict=True):
                row, is_new = _insert_passage(write, reference, scope, None)
                new += is_new
                _origin(write, source, row, number, reference)
                if vector is not None:
                    _add_vectors(write, [(row, vector)], embedder)
            if reading.hash is not None:
                rows = write.execute(
                    "DELETE FROM origins WHERE source = ? AND reading < ? RETURNING row",
                    (source, number),
                ).fetchall()
                left = _remove_without_origin(write, [row for (row,) in rows])
                write.execute(
                    "UPDATE sources SET hash = ?, added = ? WHERE source = ?",
                    (reading.hash, time.time(), source),
                )
        return new, left

    def delete(self, source: str | None, scope: str | None) -> int:
        """Remove documents with the passages that no other document has.

        Args:
            source: The document's name; None for all.
            scope: The scope; None for all.

        Returns:
            How many passages left.
        """
        with self.transaction() as write:
            sources = write.execute(
                "DELETE FROM sources WHERE (?1 IS NULL OR name = ?1) AND (?2 IS NULL OR scope = ?2)"
                " RETURNING source",
                (source, scope),
            ).fetchall()
            rows = [
                row
                for each in sources
                for (row,) in write.execute(
                    "DELETE FROM origins WHERE source = ? RETURNING row", each
                ).fetchall()
            ]
            return _remove_without_origin(write, rows)

    def remove(self, rows: Sequence[int]) -> None:
        """Remove passages."""
        if rows:
            with self.transaction() as write:
                _remove(write, rows)

    def remove_expired(self) -> None:
        """Remove the passages whose time is over."""
        now = time.time()
        if self.one("SELECT EXISTS (SELECT 1 FROM passages WHERE expires <= ?)", now):
            with self.transaction() as write:
                rows = write.execute("SELECT row FROM passages WHERE expires <= ?", (now,))
                _remove(write, [row for (row,) in rows.fetchall()])

    # Settings and the progress of the indexes

    def setting(self, name: str) -> str | None:
        """What was said by `set`."""
        value: str | None = self.one("SELECT value FROM settings WHERE name = ?", name)
        return value

    def set(self, name: str, value: str) -> None:
        """Keep a setting."""
        if self.setting(name) != value:
            with self.transaction() as write:
                write.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))

    def progress(self, index: str) -> Progress:
        """How far an index has come."""
        rows = self.all("SELECT upto, removed, whole FROM indexes WHERE name = ?", index)
        return Progress(rows[0][0], rows[0][1], bool(rows[0][2])) if rows else Progress()

    def set_progress(self, index: str, progress: Progress) -> None:
        """Say how far an index has come."""
        with self.transaction() as write:
            write.execute(
                "INSERT OR REPLACE INTO indexes VALUES (?, ?, ?, ?)",
                (index, progress.upto, progress.removed, progress.whole),
            )

    def removed_after(self, number: int) -> list[tuple[int, int]]:
        """Number and row of the passages that were removed behind a number."""
        return self.all("SELECT number, row FROM removed WHERE number > ? ORDER BY number", number)

    def last_removed(self) -> int:
        """The number of the last removal."""
        return self.one("SELECT max(number) FROM removed") or 0

    # Connections

    def _open_writer(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=0, isolation_level=None, check_same_thread=False
        )
        try:
            _execute(connection, "PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()
            raise
        self._writer = connection
        return connection

    def _open_reader(self) -> sqlite3.Connection:
        path, mode = self.path, "mode=ro"
        if not self.writable:
            log = path.with_name(path.name + "-wal")
            if log.exists() and log.stat().st_size:
                # SQLite writes beside a file whose log has not been moved into it.
                if self._copy is None:
                    self._copy = Path(mkdtemp(prefix="skr-read-only-"))
                    for each in (path, log):
                        shutil.copyfile(each, self._copy / each.name)
                path = self._copy / path.name
            else:
                mode = "mode=ro&immutable=1"
        address = f"{path.absolute().as_uri()}?{mode}"
        return sqlite3.connect(
            address, SECONDS_TO_WAIT, isolation_level=None, check_same_thread=False, uri=True
        )


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Raise one error for whatever SQLite raises at a path.

    Raises:
        StoreLocked: Another process is writing.
        StoreError: Anything else.
    """
    try:
        yield
    except sqlite3.Error as error:
        if "locked" in str(error):
            raise StoreLocked(
                f"{path.parent}: another process has been writing to this store for "
                f"{SECONDS_TO_WAIT} seconds: try again when it has ended"
            ) from error
        raise StoreError(f"{path}: {error}") from error


def _execute(connection: sqlite3.Connection, statement: str) -> None:
    """Wait for whoever writes; in short naps, because SQLite's long ones may miss every gap."""
    until = time.monotonic() + SECONDS_TO_WAIT
    while True:
        try:
            connection.execute(statement)
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
        time.sleep(random.uniform(0.0005, 0.005))


def _insert_passage(
    write: sqlite3.Connection, reference: Reference, scope: str, expires: float | None
) -> tuple[int, bool]:
    """The row of a passage, and whether it is new; what is added again lives as long as told."""
    inserted = write.execute(
        "INSERT OR IGNORE INTO passages (id, scope, title, text, expires) VALUES (?, ?, ?, ?, ?)",
        (reference.id, scope, reference.title, reference.text, expires),
    )
    if inserted.rowcount:
        return int(inserted.lastrowid or 0), True
    [[row, until]] = write.execute(
        "SELECT row, expires FROM passages WHERE id = ? AND scope = ?", (reference.id, scope)
    )
    if until is not None and (expires is None or expires > until):
        write.execute("UPDATE passages SET expires = ? WHERE row = ?", (expires, row))
    return row, False


def _source(write: sqlite3.Connection, scope: str, name: str) -> int:
    write.execute(
        "INSERT OR IGNORE INTO sources (scope, name, added) VALUES (?, ?, ?)",
        (scope, name, time.time()),
    )
    found = write.execute("SELECT source FROM sources WHERE scope = ? AND name = ?", (scope, name))
    return int(found.fetchone()[0])


def _origin(
    write: sqlite3.Connection, source: int, row: int, reading: int, reference: Reference
) -> None:
    kept = {"metadata": dict(reference.metadata), **provenance(reference)}
    write.execute(
        "INSERT OR REPLACE INTO origins VALUES (?, ?, ?, ?)",
        (source, row, reading, orjson.dumps(kept).decode()),
    )


def _reference(identity: str, title: str, text: str, kept: str | None) -> Reference:
    row = orjson.loads(kept or "{}")
    reference = Reference(identity, text, title, metadata=row.get("metadata", {}))
    return with_provenance(reference, row)


def _add_vectors(
    write: sqlite3.Connection, vectors: Iterable[tuple[int, bytes]], embedder: str
) -> None:
    write.executemany(
        "INSERT OR IGNORE INTO vectors (row, embedder, vector)"
        " SELECT row, ?2, ?3 FROM passages WHERE row = ?1",
        ((row, embedder, vector) for row, vector in vectors),
    )


def _remove_without_origin(write: sqlite3.Connection, rows: Sequence[int]) -> int:
    alone = [
        row
        for row in dict.fromkeys(rows)
        if not write.execute("SELECT 1 FROM origins WHERE row = ?", (row,)).fetchone()
    ]
    _remove(write, alone)
    return len(alone)


def _remove(write: sqlite3.Connection, rows: Sequence[int]) -> None:
    each = [(row,) for row in rows]
    sources = {
        source
        for row in each
        for source in write.execute("SELECT source FROM origins WHERE row = ?", row).fetchall()
    }
    for statement in (
        "DELETE FROM origins WHERE row = ?",
        "DELETE FROM vectors WHERE row = ?",
        "DELETE FROM passages WHERE row = ?",
        "INSERT INTO removed (row) VALUES (?)",
    ):
        write.executemany(statement, each)
    write.executemany(
        "DELETE FROM sources WHERE source = ?1"
        " AND NOT EXISTS (SELECT 1 FROM origins WHERE source = ?1)",
        sources,
    )


def _blob(vector: NDArray[np.float32]) -> bytes:
    return vector.astype("<f4", copy=False).tobytes()


def _parts(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), AT_ONCE):
        yield values[start : start + AT_ONCE]


def can_be_written(folder: Path) -> bool:
    """Whether this process may write to a store's folder and to its database."""
    paths = (folder, folder / DATABASE_NAME)
    return all(os.access(each, os.W_OK) for each in paths if each.exists())
