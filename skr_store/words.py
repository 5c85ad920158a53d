"""Search by words: BM25 in tantivy, and in memory for what tantivy does not hold yet."""

from __future__ import annotations

import logging
import math
import re
import shutil
import threading
import time
import unicodedata
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from skr_core._compat import cached_property
from skr_core.errors import InputError, StoreError, extra
from skr_core.forks import leave_to_parent
from skr_core.types import Reference
from skr_store._compat import panics_raised
from skr_store.database import Database, Progress
from skr_store.locking import try_lock
from skr_store.storable import keyword_text

with extra("store"):
    from tantivy import (
        Document,
        Filter,
        Index,
        Occur,
        Query,
        SchemaBuilder,
        TextAnalyzerBuilder,
        Tokenizer,
    )

WORDS_NAME = "words"
LOCK_NAME = "words.lock"
FORMAT = "1"
"""Said anew with every change of what becomes a term, so that old indexes are made again."""
LEAST_BEHIND, BEHIND = 1_000, 5_000
"""Passages that are searched in memory while a store is open, before tantivy gets them.

Half as many as it has, between these: it says how rare a word is by its own passages alone."""
BEHIND_AT_REST = 200
"""Passages that may wait for the next one who opens the store: reading them takes milliseconds."""
AT_ONCE = 1_000
SECONDS_TO_RETRY = 60
HEAP = 64 * 1024 * 1024
# Lucene's constants, which are tantivy's.
K1 = 1.2
B = 0.75
STOP_WORDS = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then "
    "there these they this to was will with"
).split()
# Chinese, Japanese and Thai put no spaces between words.
_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
# Marks of tone and the like, at which tantivy would cut a word.
_THAI_MARKS = dict.fromkeys((*range(0x0E47, 0x0E4D), 0x0E4E), None)

_log = logging.getLogger(__name__)


class Words:
    """The words of a store's passages; safe to use from several threads, and after a fork.

    Args:
        database: The store's passages.
        language: The language whose words are stemmed, such as ``"english"``; empty for none, None
            for that of the store.

    Raises:
        InputError: tantivy has no stems of the language.
    """

    def __init__(self, database: Database, language: str | None) -> None:
        self._database = database
        self._path = database.path.parent / WORDS_NAME
        kept = (database.setting("words") or f"{FORMAT}:").partition(":")
        self.language = kept[2] if language is None else language
        self._terms = _analyzer(self.language)
        self._copy: Path | None = None
        self._begin()
        if database.writable and (kept[0], kept[2]) != (FORMAT, self.language):
            self._drop()
        if database.writable:
            database.set("words", f"{FORMAT}:{self.language}")

    def _begin(self) -> None:
        self._writing, self._lock = threading.RLock(), threading.RLock()
        self._index: Any = None
        self._searcher: Any = None
        self._seen: Progress | None = None
        self._tail = _Tail()
        self._retry_at = 0.0

    def hold(self) -> None:
        """Before a fork: wait until no other thread opens or writes to tantivy's files.

        A file that tantivy has locked stays locked until the last process that has inherited it
        ends, and a child would wait for itself.
        """
        self._writing.acquire()
        self._lock.acquire()

    def resume(self) -> None:
        """After a fork, in the parent."""
        self._lock.release()
        self._writing.release()

    def forget(self) -> None:
        """Begin anew in a forked child."""
        leave_to_parent((self._index, self._searcher))
        self._begin()

    def close(self) -> None:
        """Let go of the index."""
        with self._lock:
            self._index = self._searcher = None
            if self._copy is not None:
                shutil.rmtree(self._copy, ignore_errors=True)
                self._copy = None

    def search(self, query: str, scope: str, limit: int) -> list[tuple[int, float]]:
        """Rank the passages of a scope for a query.

        Returns:
            Pairs of row and score, best first: `limit` of them and those that score as the last
            one, where there are so many. Passages that were removed may still be among them.

        Raises:
            StoreError: The index is damaged.
        """
        try:
            with panics_raised():
                return self._ranked(query, scope, limit)
        except ValueError as error:
            raise StoreError(
                f"{self._path} is damaged: delete it, and it is made again from the passages"
            ) from error

    def _ranked(self, query: str, scope: str, limit: int) -> list[tuple[int, float]]:
        terms = Counter(self._terms.analyze(prepared(query)))
        if not terms:
            return []
        with self._lock:
            searcher = self._current()
            ranked = self._tail.search(terms, scope, searcher)
        if searcher is not None:
            ranked += self._search_index(searcher, terms, scope, limit)
            ranked.sort(key=lambda each: -each[1])
        if self._tail.rows >= LEAST_BEHIND:
            self.catch_up()
        return ranked

    def catch_up(self, least: int | None = None) -> None:
        """Give tantivy what it does not hold yet, unless another process does so.

        An index that cannot be read is made again; a disk that takes no more is a warning, because
        what tantivy lacks is searched in memory.

        Args:
            least: The number of passages that it is worth while for; by default as many as a store
                should not search in memory while it is open.
        """
        if not self._database.writable or time.monotonic() < self._retry_at:
            return
        with self._lock:
            self._current(reading=False)
            behind = self._database.last_row() - self._tail.after
            seen = self._seen or Progress()
            if least is None:
                least = min(BEHIND, max(LEAST_BEHIND, self._tail.after // 2))
        if behind < least and self._database.last_removed() - seen.removed < least:
            return
        lock = try_lock(self._path.with_name(LOCK_NAME))
        if lock is None:  # another thread or process does so
            return
        try:
            with self._writing:
                self._write_or_make_again()
        except Exception as error:
            self._retry_at = time.monotonic() + SECONDS_TO_RETRY
            _log.warning("%s is searched without its newest words: %s", self._path, error)
        finally:
            lock.release()

    def _drop(self) -> None:
        """Take away an index of other terms."""
        lock = try_lock(self._path.with_name(LOCK_NAME))
        if lock is None:
            raise StoreError(f"{self._path} is being written to: open the store again in a moment")
        try:
            shutil.rmtree(self._path, ignore_errors=True)
        finally:
            lock.release()

    def _write_or_make_again(self) -> None:
        """With the lock: write to the index, or to a new one where it cannot be read."""
        try:
            self._write()
        except StoreError:
            raise
        except Exception as error:
            _log.warning("%s is made again: %s", self._path, error)
            shutil.rmtree(self._path, ignore_errors=True)
            with self._lock:
                self._index = self._searcher = None
            self._write()

    @panics_raised()
    def _write(self) -> None:
        """With the lock: write what was added and what was removed."""
        if not self._path.exists():
            self._path.mkdir()
            Index(self._schema, str(self._path))
        index = Index.open(str(self._path))
        index.register_tokenizer("terms", _analyzer(self.language))
        row = _last_row(index.searcher())
        removed = self._database.removed_after(self._database.progress(WORDS_NAME).removed)
        writer = index.writer(HEAP, 1)
        for start in range(0, len(removed), AT_ONCE):
            some = [gone for _, gone in removed[start : start + AT_ONCE] if gone <= row]
            if some:
                query = Query.term_set_query(self._schema, "row", some)
                writer.delete_documents_by_query(query)
        while texts := self._database.texts_after(row, AT_ONCE):
            for row, scope, title, text in texts:
                document = Document()
                document.add_unsigned("row", row)
                document.add_text("scope", scope)
                document.add_text("terms", _terms_text(title, text))
                writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()
        last = removed[-1][0] if removed else self._database.progress(WORDS_NAME).removed
        self._database.set_progress(WORDS_NAME, Progress(row, last))

    def _current(self, *, reading: bool = True) -> Any:
        """With the lock: tantivy's searcher as it was written last, None where there is none."""
        progress = self._database.progress(WORDS_NAME)
        if self._searcher is None or progress != self._seen:
            self._searcher = self._opened()
            self._seen = progress
            after = _last_row(self._searcher)
            if after != self._tail.after:
                self._tail = _Tail(after, self._mean_length(after))
        if reading:
            while texts := self._database.texts_after(self._tail.last, AT_ONCE):
                for row, scope, title, text in texts:
                    self._tail.add(row, scope, self._terms.analyze(_terms_text(title, text)))
        return self._searcher

    def _opened(self) -> Any:
        try:
            return self._open()
        except Exception as error:
            _log.warning("%s cannot be read and is searched without: %s", self._path, error)
            self._index = None
            return None

    @panics_raised()
    def _open(self) -> Any:
        if self._index is None:
            if not (self._path / "meta.json").exists():
                return None
            path = self._path
            if not self._database.writable:  # tantivy writes a lock where it reads
                self._copy = Path(mkdtemp(prefix="skr-read-only-"))
                path = self._copy
                for file in self._path.iterdir():
                    shutil.copyfile(file, path / file.name)
            self._index = Index.open(str(path))
            self._index.config_reader("manual")
        self._index.reload()
        searcher = self._index.searcher()
        _last_row(searcher)
        return searcher

    def _mean_length(self, row: int) -> float:
        """The mean number of terms of a passage, by the last hundred that tantivy holds."""
        rows = self._database.all(
            "SELECT title, text FROM passages WHERE row <= ? ORDER BY row DESC LIMIT 100", row
        )
        lengths = [len(self._terms.analyze(_terms_text(*each))) for each in rows]
        return sum(lengths) / max(1, len(lengths))

    def _search_index(
        self, searcher: Any, terms: Counter[str], scope: str, limit: int
    ) -> list[tuple[int, float]]:
        query = Query.boolean_query(
            [
                (Occur.Should, Query.boost_query(self._term("terms", term, "freq"), repeats))
                for term, repeats in terms.items()
            ]
        )
        if self._database.has_other_scopes(scope):
            of_scope = Query.const_score_query(self._term("scope", scope, "basic"), 0.0)
            query = Query.boolean_query([(Occur.Must, query), (Occur.Must, of_scope)])
        depth = limit + 10
        while True:
            hits = searcher.search(query, depth, count=False).hits
            # Those that score as the last one are all looked at, so that their ids decide.
            last = hits[limit - 1][0] / 1.0001 if len(hits) >= limit else 0.0
            if len(hits) < depth or depth > 16 * limit or last > hits[-1][0]:
                break
            depth *= 4
        hits = [hit for hit in hits if hit[0] >= last]
        rows = searcher.fast_field_values("row", [address for _, address in hits])
        return list(zip(rows, (score for score, _ in hits), strict=True))

    def _term(self, field: str, value: str, option: str) -> Any:
        return Query.term_query(self._schema, field, value, option)

    @cached_property
    def _schema(self) -> Any:
        builder = SchemaBuilder()
        builder.add_unsigned_field("row", indexed=True, fast=True)
        builder.add_text_field("scope", tokenizer_name="raw", index_option="basic")
        builder.add_text_field("terms", tokenizer_name="terms", index_option="freq")
        return builder.build()


class _Tail:
    """The words of the passages behind a row, scored as tantivy would.

    Args:
        after: The last row that tantivy holds.
        mean: The mean number of terms of what it holds.
    """

    def __init__(self, after: int = 0, mean: float = 0) -> None:
        self.after = self.last = after
        self._mean = mean
        self._passages: dict[int, tuple[str, int]] = {}
        self._postings: defaultdict[str, dict[int, int]] = defaultdict(dict)

    @property
    def rows(self) -> int:
        """How many passages there are."""
        return len(self._passages)

    def add(self, row: int, scope: str, terms: list[str]) -> None:
        """Add a passage behind the last one."""
        self.last = row
        self._passages[row] = scope, len(terms)
        for term, count in Counter(terms).items():
            self._postings[term][row] = count

    def search(self, terms: Counter[str], scope: str, searcher: Any) -> list[tuple[int, float]]:
        """Rank the passages of a scope; `searcher` tells how rare the terms are in tantivy's."""
        if not self._passages:
            return []
        total = len(self._passages) + (searcher.num_docs if searcher else 0)
        # As rare as in the whole, and of as many passages as tantivy thinks that there are.
        size = searcher.num_docs if searcher else total
        lengths = [length for _, length in self._passages.values()]
        mean = self._mean or max(1.0, sum(lengths) / len(lengths))
        scores: defaultdict[int, float] = defaultdict(float)
        for term, repeats in terms.items():
            found = self._postings.get(term, {})
            number: float = len(found) + (searcher.doc_freq("terms", term) if searcher else 0)
            number *= size / total
            rarity = math.log(1 + (size - number + 0.5) / (number + 0.5)) * (K1 + 1)
            for row, count in found.items():
                in_scope, length = self._passages[row]
                if in_scope == scope:
                    damping = K1 * (1 - B + B * length / mean)
                    scores[row] += repeats * rarity * count / (count + damping)
        return sorted(scores.items(), key=lambda each: -each[1])


def prepared(text: str) -> str:
    """The text with spaces between what tantivy is to see as words.

    Of what stands in a script without spaces each character is one, and each pair of neighbours.

    Example:
        >>> prepared("The Eiffel Tower, 巴黎市").split()
        ['The', 'Eiffel', 'Tower', ',', '巴', '黎', '市', '巴黎', '黎市']
    """
    if text.isascii():
        return text
    return _UNSPACED.sub(_with_pairs, unicodedata.normalize("NFKC", text))


def _terms_text(title: str, text: str) -> str:
    return prepared(keyword_text(Reference("", text, title)))


def _with_pairs(found: re.Match[str]) -> str:
    run = found[0].translate(_THAI_MARKS)
    return f" {' '.join([*run, *map(''.join, pairwise(run))])} "


def _analyzer(language: str) -> Any:
    """What makes terms of a prepared text: lower case, without accents and stop words, stemmed."""
    builder = TextAnalyzerBuilder(Tokenizer.simple())
    builder = builder.filter(Filter.lowercase()).filter(Filter.ascii_fold())
    builder = builder.filter(Filter.custom_stopword(STOP_WORDS))
    if language:
        try:
            builder = builder.filter(Filter.stemmer(language))
        except ValueError as error:
            raise InputError(f"language {language!r} has no stems: {error}") from error
    return builder.build()


def _last_row(searcher: Any) -> int:
    """The last row that an index holds; 0 where it holds none."""
    if searcher is None or not searcher.num_docs:
        return 0
    hits = searcher.search(Query.all_query(), 1, count=False, order_by_field="row").hits
    return int(searcher.fast_field_values("row", [hits[0][1]])[0])
