"""The truth of a store: its passages, their sources, scopes and vectors, in one SQLite file.

An addition is acknowledged when it is committed here. The indexes of words and of vectors are made
from this file and may be deleted at any time. A row is never used again: "up to which row" says
what an index holds.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from skr_core.errors import StoreError
from skr_core.plain import from_plain
from skr_core.types import Reference
from skr_store.sqlite import SQLite
from skr_store.storable import provenance

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from skr_core.ports import Vectors

DATABASE_NAME = "store.sqlite3"
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


class Database(SQLite):
    """The SQLite file of a store; safe to use from several threads, and after a fork.

    Args:
        folder: The store's folder; exists.
        writable: Whether this process may write to it.

    Raises:
        StoreError: It cannot be read, or is of another kind.
    """

    def __init__(self, folder: Path, writable: bool) -> None:
        super().__init__(folder / DATABASE_NAME, _SCHEMA, writable)
        self.one("SELECT count(*) FROM settings")  # which one of another kind has not

    # Reading

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
        return self._behind(
            row,
            "SELECT row, scope, title, text FROM passages WHERE row > ? ORDER BY row LIMIT ?",
            limit,
        )

    def _behind(self, number: int, statement: str, *values: object) -> list[Any]:
        """The rows behind a number, which stands first in each and has to rise."""
        found = self.all(statement, number, *values)
        with sound(self.path):
            numbers = [number, *(each[0] for each in found)]
            if any(after <= before for before, after in pairwise(numbers)):
                raise ValueError("rows out of their order")
        return found

    def references(self, rows: Sequence[int], scope: str) -> dict[int, Reference]:
        """Passages of a scope by their rows; what is gone or has expired is left out."""
        found = _all_of(
            self.all,
            "SELECT p.row, id, title, text, (SELECT kept FROM origins o WHERE o.row = p.row"
            " ORDER BY source LIMIT 1) FROM passages p WHERE p.row IN (:values)"
            " AND scope = ? AND (expires IS NULL OR expires > ?)",
            rows,
            scope,
            time.time(),
        )
        with sound(self.path):
            return {row: _reference(*each) for row, *each in found}

    def passages(self, scope: str, limit: int | None) -> list[Reference]:
        """The passages of a scope in the order of their ids, at most so many."""
        found = self.all(
            "SELECT row FROM passages WHERE scope = ? AND (expires IS NULL OR expires > ?)"
            " ORDER BY id LIMIT ?",
            scope,
            time.time(),
            -1 if limit is None else limit,
        )
        rows = [row for (row,) in found]
        references = self.references(rows, scope)
        return [references[row] for row in rows if row in references]

    def sources(self, scope: str | None = None) -> list[Source]:
        """The documents of a scope, or of all, by name."""
        found = self.all(
            "SELECT name, scope, (SELECT count(*) FROM origins o WHERE o.source = s.source),"
            " added FROM sources s WHERE ?1 IS NULL OR scope = ?1 ORDER BY name, scope",
            scope,
        )
        with sound(self.path):
            return [Source(str(a), str(b), count, float(time)) for a, b, count, time in found]

    def hashes(self, scope: str) -> dict[str, str | None]:
        """The hash of each document of a scope, as it was read; None where it was not ended."""
        return dict(self.all("SELECT name, hash FROM sources WHERE scope = ?", scope))

    # Vectors

    def vectors_of(self, ids: Sequence[str], embedder: str) -> dict[str, bytes]:
        """Vectors that are known by a passage's content, in whatever scope it was embedded."""
        return dict(
            _all_of(
                self.all,
                "SELECT id, vector FROM passages JOIN vectors USING (row)"
                " WHERE id IN (:values) AND embedder = ?",
                ids,
                embedder,
            )
        )

    def vectors_after(
        self, number: int, embedder: str, limit: int
    ) -> list[tuple[int, int, str, bytes]]:
        """Number, row, scope and vector of an embedder's vectors behind a number."""
        return self._behind(
            number,
            "SELECT number, row, scope, vector FROM vectors JOIN passages USING (row)"
            " WHERE number > ? AND embedder = ? ORDER BY number LIMIT ?",
            embedder,
            limit,
        )

    def without_vector(self, embedder: str, row: int, limit: int) -> list[tuple[int, str, str]]:
        """Row, title and text of passages behind a row that an embedder has not seen."""
        found = self._behind(
            row,
            "SELECT row, title, text FROM passages p WHERE row > ? AND NOT EXISTS (SELECT 1 FROM"
            " vectors v WHERE v.row = p.row AND v.embedder = ?) ORDER BY row LIMIT ?",
            embedder,
            limit,
        )
        return [(row, str(title), str(text)) for row, title, text in found]

    def add_vectors(self, rows: Sequence[int], vectors: Vectors, embedder: str) -> None:
        """Keep the vectors of passages; one that went meanwhile is passed over."""
        with self.transaction() as write:
            _add_vectors(write, zip(rows, map(blob, vectors), strict=True), embedder)

    # Writing

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
        with self.transaction() as write:
            new, rows = _insert_passages(write, references, scope, expires)
            firsts = {each.id: each for each in reversed(references) if each.id in new}
            sources: defaultdict[str, list[Reference]] = defaultdict(list)
            for each in firsts.values():
                sources[str(each.metadata.get("source", ""))].append(each)
            for name, some in sources.items():
                _add_origins(write, _source(write, scope, name), 0, rows, some)
            _add_vectors(write, _vectors_by_row(references, vectors, rows), embedder)
        return len(new)

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
        left = 0
        with self.transaction() as write:
            source = _source(write, scope, reading.source)
            if reading.is_first:
                write.execute(
                    "UPDATE sources SET hash = NULL, reading = reading + 1 WHERE source = ?",
                    (source,),
                )
            of_source = "SELECT reading FROM sources WHERE source = ?"
            [[number]] = write.execute(of_source, (source,)).fetchall()
            new, rows = _insert_passages(write, reading.references, scope, None)
            _add_origins(write, source, number, rows, reading.references)
            _add_vectors(write, _vectors_by_row(reading.references, vectors, rows), embedder)
            if reading.hash is not None:
                gone = write.execute(
                    "DELETE FROM origins WHERE source = ? AND reading < ? RETURNING row",
                    (source, number),
                ).fetchall()
                left = _remove_without_origin(write, [row for (row,) in gone])
                write.execute(
                    "UPDATE sources SET hash = ?, added = ? WHERE source = ?",
                    (reading.hash, time.time(), source),
                )
        return len(new), left

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
        value = self.one("SELECT value FROM settings WHERE name = ?", name)
        return None if value is None else str(value)

    def set(self, name: str, value: str) -> None:
        """Keep a setting."""
        if self.setting(name) != value:
            with self.transaction() as write:
                write.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))

    def progress(self, index: str) -> Progress:
        """How far an index has come."""
        rows = self.all("SELECT upto, removed, whole FROM indexes WHERE name = ?", index)
        with sound(self.path):
            made = [Progress(int(upto), int(gone), bool(whole)) for upto, gone, whole in rows]
        return made[0] if made else Progress()

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


def _all_of(
    ask: Callable[..., list[Any]], statement: str, values: Sequence[object], *others: object
) -> list[Any]:
    """The rows of a query about many values, which stand in place of `:values`."""
    found = []
    for start in range(0, len(values), AT_ONCE):
        some = values[start : start + AT_ONCE]
        found += ask(statement.replace(":values", ",".join("?" * len(some))), *some, *others)
    return found


def _insert_passages(
    write: sqlite3.Connection, references: Sequence[Reference], scope: str, expires: float | None
) -> tuple[set[str], dict[str, int]]:
    """The ids of the passages that are new, and the row of each by its id.

    What is added again lives as long as it is told to, unless it lives longer.
    """

    def ask(statement: str, *values: object) -> list[Any]:
        return write.execute(statement, values).fetchall()

    [[last]] = ask("SELECT coalesce(max(row), 0) FROM passages")
    write.executemany(
        "INSERT INTO passages (id, scope, title, text, expires) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (id, scope) DO UPDATE SET expires = excluded.expires"
        " WHERE expires IS NOT NULL AND (excluded.expires IS NULL OR excluded.expires > expires)",
        [(each.id, scope, each.title, each.text, expires) for each in references],
    )
    found = "SELECT id, row FROM passages WHERE id IN (:values) AND scope = ?"
    rows = dict(_all_of(ask, found, [each.id for each in references], scope))
    return {identity for identity, row in rows.items() if row > last}, rows


def _source(write: sqlite3.Connection, scope: str, name: str) -> int:
    write.execute(
        "INSERT OR IGNORE INTO sources (scope, name, added) VALUES (?, ?, ?)",
        (scope, name, time.time()),
    )
    found = write.execute("SELECT source FROM sources WHERE scope = ? AND name = ?", (scope, name))
    return int(found.fetchone()[0])


def _add_origins(
    write: sqlite3.Connection,
    source: int,
    reading: int,
    rows: Mapping[str, int],
    references: Iterable[Reference],
) -> None:
    write.executemany(
        "INSERT OR REPLACE INTO origins VALUES (?, ?, ?, ?)",
        [
            (
                source,
                rows[each.id],
                reading,
                orjson.dumps({"metadata": dict(each.metadata), **provenance(each)}).decode(),
            )
            for each in references
        ],
    )


@contextmanager
def sound(path: Path) -> Iterator[None]:
    """Say that a store is damaged, where values are of other kinds than a store writes.

    Raises:
        StoreError: They are.
    """
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, StoreError):
            raise
        problem = " ".join(str(error).split())[:200]
        raise StoreError(
            f"{path} holds what no store writes ({problem}): make it again from its documents"
        ) from error


def _reference(identity: str, title: str, text: str, kept: str | None) -> Reference:
    row = orjson.loads(kept or "{}")
    return from_plain(Reference, {**row, "id": identity, "title": title, "text": text})


def _vectors_by_row(
    references: Sequence[Reference], vectors: Sequence[bytes | None], rows: Mapping[str, int]
) -> list[tuple[int, bytes]]:
    pairs = zip(references, vectors, strict=True)
    return [(rows[each.id], vector) for each, vector in pairs if vector is not None]


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


def blob(vector: NDArray[np.float32]) -> bytes:
    """A vector as it is kept; `matrix` reads many.

    Example:
        >>> import numpy as np
        >>> matrix([blob(np.ones(2, dtype=np.float32))]).tolist()
        [[1.0, 1.0]]
    """
    return vector.astype("<f4", copy=False).tobytes()


def matrix(blobs: Sequence[bytes]) -> Vectors:
    """The vectors that are kept as bytes, one in a row."""
    import numpy as np

    return np.frombuffer(b"".join(blobs), "<f4").reshape(len(blobs), -1)


def holds_store(folder: Path) -> bool:
    """Whether a folder holds a store, of this version or an earlier one."""
    return (folder / DATABASE_NAME).exists() or is_earlier(folder)


def is_earlier(folder: Path) -> bool:
    """Whether a folder holds a store that an earlier version made: a journal and its index."""
    return (folder / "references.jsonl").exists() and (folder / "index").exists()


def can_be_written(folder: Path) -> bool:
    """Whether this process may write to a store's folder and to its database."""
    paths = (folder, folder / DATABASE_NAME)
    return all(os.access(each, os.W_OK) for each in paths if each.exists())
