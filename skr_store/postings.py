"""Which words each passage holds, and how often: growing in memory, or whole in arrays."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.unsignedinteger[Any]]
    Found = tuple[Numbers, Numbers]
    """The places of the passages that hold a word, and how often each does."""


class GrowingPostings:
    """Postings that take one passage after the other.

    Example:
        >>> growing = GrowingPostings()
        >>> growing.insert("a", Counter(["red", "red", "blue"]))
        >>> [numbers.tolist() for numbers in growing.find("red")]
        [[0], [2]]
    """

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._lengths = array("I")
        self._postings: dict[str, tuple[array[int], array[int]]] = {}

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def lengths(self) -> Numbers:
        """The number of words of each passage; let go of it before the next passage comes."""
        import numpy as np

        return np.frombuffer(self._lengths, np.uint32)

    def insert(self, identity: str, counts: Counter[str]) -> None:
        """Add a passage."""
        place = len(self._ids)
        self._ids.append(identity)
        self._lengths.append(counts.total())
        for word, count in counts.items():
            posting = self._postings.get(word)
            if posting is None:
                posting = self._postings[word] = (array("I"), array("I"))
            posting[0].append(place)
            posting[1].append(count)

    def find(self, word: str) -> Found | None:
        """Who holds a word; let go of it before the next passage comes."""
        import numpy as np

        if (posting := self._postings.get(word)) is None:
            return None
        return np.frombuffer(posting[0], np.uint32), np.frombuffer(posting[1], np.uint32)

    def identity(self, place: int) -> str:
        """The id of a passage."""
        return self._ids[place]

    def ids(self) -> list[str]:
        """All ids, by place."""
        return list(self._ids)

    def freeze(self) -> Postings:
        """The same postings in arrays."""
        import numpy as np

        rows = sorted((as_bytes(word), posting) for word, posting in self._postings.items())
        places = np.frombuffer(b"".join(posting[0] for _, posting in rows), np.uint32)
        counts = np.frombuffer(b"".join(posting[1] for _, posting in rows), np.uint32)
        return Postings(
            self.lengths.copy(),
            *joined([as_bytes(identity) for identity in self._ids]),
            *joined([word for word, _ in rows]),
            np.cumsum([len(posting[0]) for _, posting in rows], dtype=np.uint64),
            places,
            counts.astype(np.min_scalar_type(counts.max(initial=0))),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Postings that do not change, in arrays that may lie on the disk.

    Attributes:
        lengths: The number of words of each passage.
        id_bytes: The ids in UTF-8, without anything between them.
        id_ends: Where each of them ends.
        words: The words in UTF-8, sorted by their bytes.
        word_ends: Where each of them ends.
        ends: Where the postings of each word end.
        places: Of the passages that hold a word, for one word after the other.
        counts: How often they hold it.
    """

    lengths: Numbers
    id_bytes: Numbers
    id_ends: Numbers
    words: Numbers
    word_ends: Numbers
    ends: Numbers
    places: Numbers
    counts: Numbers

    def __len__(self) -> int:
        return len(self.lengths)

    def arrays(self) -> dict[str, Numbers]:
        """The arrays by name; `Postings` takes them again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def find(self, word: str) -> Found | None:
        """Who holds a word."""
        sought = as_bytes(word)
        row = bisect_left(range(len(self.ends)), sought, key=self._word)
        if row == len(self.ends) or self._word(row) != sought:
            return None
        part = slice(int(self.ends[row - 1]) if row else 0, int(self.ends[row]))
        return self.places[part], self.counts[part]

    def sizes(self) -> NDArray[np.int64]:
        """How many passages hold each word."""
        import numpy as np

        ends = np.concatenate([[0], self.ends]).astype(np.int64)
        return ends[1:] - ends[:-1]

    def identity(self, place: int) -> str:
        """The id of a passage."""
        return as_text(_item(self.id_bytes, self.id_ends, place))

    def ids(self) -> list[str]:
        """All ids, by place."""
        return [as_text(each) for each in _items(self.id_bytes, self.id_ends)]

    def _word(self, row: int) -> bytes:
        return _item(self.words, self.word_ends, row)


def merged(parts: Sequence[Postings]) -> Postings:
    """The postings of the passages of several, one after the other."""
    import numpy as np

    if len(parts) == 1:
        return parts[0]
    vocabularies = [_items(part.words, part.word_ends) for part in parts]
    words = sorted(set().union(*vocabularies))
    row_of = {word: row for row, word in enumerate(words)}
    rows = [np.array([row_of[word] for word in each], np.int64) for each in vocabularies]
    sizes: list[NDArray[np.int64]] = [part.sizes() for part in parts]
    totals = np.zeros(len(words), np.int64)
    for row, size in zip(rows, sizes, strict=True):
        totals[row] += size
    ends = np.cumsum(totals)
    free = ends - totals  # where the next posting of each word goes
    places = np.empty(totals.sum(), np.uint32)
    counts = np.empty(totals.sum(), np.result_type(*(part.counts.dtype for part in parts)))
    before = 0
    for part, row, size in zip(parts, rows, sizes, strict=True):
        shift = free[row] - (part.ends.astype(np.int64) - size)
        target = np.repeat(shift, size) + np.arange(len(part.places))
        places[target] = part.places + np.uint32(before)
        counts[target] = part.counts
        free[row] += size
        before += len(part)
    return Postings(
        np.concatenate([part.lengths for part in parts]),
        *joined([identity for part in parts for identity in _items(part.id_bytes, part.id_ends)]),
        *joined(words),
        ends.astype(np.uint64),
        places,
        counts,
    )


def joined(items: Sequence[bytes]) -> Found:
    """Items without anything between them, and where each ends."""
    import numpy as np

    ends = np.cumsum([len(each) for each in items], dtype=np.uint64)
    return np.frombuffer(b"".join(items), np.uint8), ends


def _item(whole: Numbers, ends: Numbers, place: int) -> bytes:
    return whole[int(ends[place - 1]) if place else 0 : int(ends[place])].tobytes()


def _items(whole: Numbers, ends: Numbers) -> list[bytes]:
    content = whole.tobytes()
    return [content[start:end] for start, end in pairwise([0, *ends.tolist()])]


def as_bytes(text: str) -> bytes:
    """In UTF-8, where a text is one that others made and not all of it is Unicode."""
    return text.encode(errors="surrogatepass")


def as_text(encoded: bytes) -> str:
    """What `as_bytes` was given."""
    return encoded.decode(errors="surrogatepass")
