"""Search by vectors: Chroma in the folder, and exactly for what Chroma does not hold yet."""

from __future__ import annotations

import hashlib
import logging
import shutil
import threading
import time
from typing import TYPE_CHECKING, Any

from skr_core.forks import leave_to_parent
from skr_core.types import Reference
from skr_store.chroma import COLLECTION, CONFIGURATION, explained, open_folder
from skr_store.database import Database, Progress, matrix, sound
from skr_store.locking import try_lock
from skr_store.storable import searchable_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from skr_core.ports import Embedder, Vectors

VECTORS_NAME = "vectors"
EXACT = 5_000
"""Vectors that are searched one by one, in milliseconds, before Chroma is asked for them."""
BEHIND = 1_000
"""Vectors that Chroma gets together once it is there."""
AT_ONCE = 1_000
CHROMA_AT_ONCE = 100
"""Of a thousand texts that are almost the same, added at once, Chroma misses up to a quarter."""
SECONDS_TO_RETRY = 60

_log = logging.getLogger(__name__)


class VectorSearch:
    """The vectors of one embedder; safe to use from several threads, and after a fork.

    One process at a time opens Chroma; the others, and a forked child, compare with every vector.

    Args:
        database: The store's passages and vectors.
        embedder: The embedder that makes the vectors.
    """

    def __init__(self, database: Database, embedder: Embedder) -> None:
        self._database, self._embedder = database, embedder
        digest = hashlib.blake2b(embedder.name.encode(), digest_size=8).hexdigest()
        self._path = database.path.parent / f"{VECTORS_NAME}-{digest}"
        self._name = f"{VECTORS_NAME}:{embedder.name}"
        self._embedded = f"embedded:{embedder.name}"
        self._forked = False
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.RLock()
        self._held: Any = None  # the lock of the folder
        self._client: Any = None
        self._collection: Any = None
        self._exact = _Exact()
        self._retry_at = 0.0
        self._seen = self._database.progress(self._embedded).upto

    def forget(self) -> None:
        """Begin anew in a forked child, which leaves Chroma to its parent."""
        # Chroma's threads did not come along, and its end would wait for them.
        leave_to_parent((self._held, self._client, self._collection))
        self._begin()
        self._forked = True

    def close(self) -> None:
        """Let go of Chroma."""
        with self._lock:
            if (
                self._database.writable
                and self._seen > self._database.progress(self._embedded).upto
            ):
                self._database.set_progress(self._embedded, Progress(self._seen))
            self._let_go()
            if self._held is not None:
                self._held.release()
                self._held = None

    def search(self, vector: Vectors, scope: str, limit: int) -> list[tuple[int, float]]:
        """Rows and cosines of the nearest passages of a scope, best first.

        Passages that were removed may be among them.
        """
        self.embed_missing()
        with self._lock, sound(self._database.path):
            if self._collection is None and self._database.progress(self._name).upto:
                self.catch_up()  # unless another process has it
            self._exact.read(self._database, self._embedder.name)
            found = self._exact.search(vector[0], scope, limit)
            if self._collection is not None:
                found += self._search_chroma(vector, scope, limit)
        return sorted(found, key=lambda each: -each[1])

    def catch_up(self) -> None:
        """Give Chroma what it lacks, unless another process has it open."""
        if not self._database.writable or self._forked or time.monotonic() < self._retry_at:
            return
        with self._lock:
            self._held = self._held or try_lock(self._path.with_suffix(".lock"))
            if self._held is None:
                return
            try:
                progress = self._database.progress(self._name)
                behind = self._database.one(
                    "SELECT count(*) FROM vectors WHERE number > ? AND embedder = ?",
                    progress.upto,
                    self._embedder.name,
                )
                if behind >= (BEHIND if progress.upto else EXACT) or (
                    progress.upto and self._collection is None
                ):
                    self._write(progress)
            except Exception as error:
                self._retry_at = time.monotonic() + SECONDS_TO_RETRY
                _log.warning("%s is searched without Chroma for now: %s", self._path, error)
                self._let_go()
            finally:
                if self._client is None:
                    self._held.release()
                    self._held = None

    def catch_up_where_behind(self) -> None:
        """Give Chroma what it lacks where that is worth while."""
        upto = self._database.progress(self._name).upto
        if self._database.last_vector() - upto >= (BEHIND if upto else EXACT):
            self.catch_up()

    def embed_missing(self) -> None:
        """Embed the passages that were added without this embedder, unless another does so."""
        database, embedder, done = self._database, self._embedder, 0
        last = database.last_row()
        if last <= self._seen or not database.writable:
            return
        if database.without_vector(embedder.name, self._seen, 1):
            lock = try_lock(self._path.with_suffix(".embedding.lock"))
            if lock is None:
                return
            try:
                while rows := database.without_vector(embedder.name, self._seen, AT_ONCE):
                    texts = [searchable_text(Reference("", text, title)) for _, title, text in rows]
                    vectors = embedder.embed(texts)
                    database.add_vectors([row for row, *_ in rows], vectors, embedder.name)
                    self._seen, done = rows[-1][0], done + len(rows)
                    _log.info("%s: %d passages embedded by %s", self._path, done, embedder.name)
            finally:
                lock.release()
        self._seen = last

    def _write(self, progress: Progress) -> None:
        """With the lock: open Chroma, and write what was added and what was removed."""
        database = self._database
        if not progress.whole:
            _log.warning("%s is made again: it was not written to its end", self._path)
            progress = Progress(0, database.last_removed())
        try:
            self._open(afresh=not progress.upto)
            if self._collection.count() == 0:
                progress = Progress(0, database.last_removed())
        except Exception as error:
            _log.warning("%s is made again: %s", self._path, error)
            self._drop()
            progress = Progress(0, database.last_removed())
            self._open(afresh=True)
        removed = database.removed_after(progress.removed)
        vectors = database.vectors_after(progress.upto, self._embedder.name, CHROMA_AT_ONCE)
        if not removed and not vectors:
            self._exact = _Exact(progress.upto)
            return
        database.set_progress(self._name, Progress(progress.upto, progress.removed, False))
        for start in range(0, len(removed), AT_ONCE):
            self._collection.delete(ids=[str(row) for _, row in removed[start : start + AT_ONCE]])
        upto = progress.upto
        while vectors:
            self._collection.add(
                ids=[str(row) for _, row, _, _ in vectors],
                embeddings=matrix([blob for *_, blob in vectors]),
                metadatas=[{"scope": scope} for _, _, scope, _ in vectors],
            )
            upto = vectors[-1][0]
            vectors = database.vectors_after(upto, self._embedder.name, CHROMA_AT_ONCE)
        last = removed[-1][0] if removed else progress.removed
        database.set_progress(self._name, Progress(upto, last))
        self._exact = _Exact(upto)

    def _open(self, *, afresh: bool) -> None:
        if self._client is None:
            self._client = open_folder(self._path)
        if afresh and self._client.list_collections():
            self._client.delete_collection(COLLECTION)
        self._collection = self._client.get_or_create_collection(
            COLLECTION, embedding_function=None, configuration=CONFIGURATION
        )

    def _drop(self) -> None:
        """Take Chroma's folder away."""
        self._let_go()
        shutil.rmtree(self._path, ignore_errors=True)

    def _let_go(self) -> None:
        """Close Chroma; all vectors are searched exactly."""
        if self._client is not None:
            self._client.close()
            self._exact = _Exact()
        self._client = self._collection = None

    def _search_chroma(self, vector: Vectors, scope: str, limit: int) -> list[tuple[int, float]]:
        others = self._database.has_other_scopes(scope)
        with explained(self._path):
            found = self._collection.query(
                query_embeddings=vector,
                n_results=limit,
                where={"scope": scope} if others else None,
                include=["distances"],
            )
        pairs = zip(found["ids"][0], found["distances"][0], strict=True)
        return [(int(row), 1 - distance) for row, distance in pairs]


class _Exact:
    """The vectors behind a number, compared one by one.

    Args:
        after: The last number that Chroma holds.
    """

    def __init__(self, after: int = 0) -> None:
        self._last = after
        self._rows: list[int] = []
        self._scopes: list[str] = []
        self._parts: list[Vectors] = []

    def __len__(self) -> int:
        return len(self._rows)

    def read(self, database: Database, embedder: str) -> None:
        """Read what was added since."""
        while vectors := database.vectors_after(self._last, embedder, 10 * AT_ONCE):
            self._rows += [row for _, row, _, _ in vectors]
            self._scopes += [scope for _, _, scope, _ in vectors]
            self._parts.append(matrix([blob for *_, blob in vectors]))
            self._last = vectors[-1][0]

    def search(
        self, vector: NDArray[np.float32], scope: str, limit: int
    ) -> list[tuple[int, float]]:
        """Rows and cosines of the nearest, best first, and those that are as near as the last."""
        import numpy as np

        if not self._rows:
            return []
        if len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]
        cosines = self._parts[0] @ vector
        places = np.flatnonzero(np.array(self._scopes, dtype=object) == scope)
        if len(places) > limit:
            near = cosines[places]
            places = places[near >= np.partition(near, -limit)[-limit]]
        found = [(self._rows[place], float(cosines[place])) for place in places.tolist()]
        return sorted(found, key=lambda each: -each[1])
