"""SQLite as a store uses it: one writer, many readers, forks, and folders that are read-only."""

from __future__ import annotations

import random
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from skr_core.errors import StoreError, StoreLocked
from skr_core.files.foreign import check_tables

SECONDS_TO_WAIT = 60
"""How long a second writer waits for the first."""


class SQLite:
    """One SQLite file; safe to use from several threads, and after a fork.

    Many processes read while one writes, and a second writer waits for the first. What is written
    is on the disk when its transaction ends.

    Args:
        path: The file; its folder exists.
        schema: The statements that make its tables, parted by semicolons.
        writable: Whether this process may write to it.

    Raises:
        StoreError: It cannot be read or made.
    """

    def __init__(self, path: Path, schema: str, writable: bool) -> None:
        self.path, self.writable, self._schema = path, writable, schema
        self._copy: Path | None = None
        self._begin()
        with _explained(self.path):
            if writable:
                self._create()
            elif not self.path.exists():
                raise StoreError(f"{path.parent} is read-only here, so no store can be made in it")

    def _create(self) -> None:
        """Make the tables, unless they are there; opening a store does not wait for who writes."""
        if self.path.exists() and self.one("SELECT count(*) FROM sqlite_master"):
            return
        with self.transaction() as write:
            for statement in self._schema.split(";"):
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

    def all(self, statement: str, *values: object) -> list[Any]:
        """The rows of a query."""
        with self._reading, _explained(self.path):
            if self._reader is None:
                self._reader = self._open_reader()
            return self._reader.execute(statement, values).fetchall()

    def one(self, statement: str, *values: object) -> Any:
        """The first value of a query's first row; None where there is no row."""
        rows = self.all(statement, *values)
        return rows[0][0] if rows else None

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write, all or nothing; on the disk when this ends.

        Raises:
            StoreLocked: Another process is writing, and does not end.
            StoreError: The folder is read-only here or was removed, or its disk takes no more.
        """
        if not self.writable:
            raise StoreError(f"{self.path.parent} is read-only here: nothing can be added to it")
        with self._writing, _explained(self.path):
            if self._writer is not None and not self.path.exists():
                # A file without a name takes what is written, and is forgotten when it is closed.
                raise StoreError(f"{self.path.parent} was removed while it was open: start again")
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

    def _open_writer(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=0, isolation_level=None, check_same_thread=False
        )
        try:
            check_tables(connection, self._schema)
            _execute(connection, "PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()
            raise
        self._writer = connection
        return connection

    def _open_reader(self) -> sqlite3.Connection:
        # What a killed process left half-written is put right by who reads next, and that writes.
        path, mode = self.path, "mode=rw" if self.writable else "mode=ro"
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
        connection = sqlite3.connect(
            address, SECONDS_TO_WAIT, isolation_level=None, check_same_thread=False, uri=True
        )
        try:
            connection.execute("PRAGMA query_only = ON")
            check_tables(connection, self._schema)
        except BaseException:
            connection.close()
            raise
        return connection


@contextmanager
def _explained(path: Path) -> Iterator[None]:
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
        raise StoreError(f"{path}: {' '.join(str(error).split())}") from error


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
