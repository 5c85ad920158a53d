"""The words that keyword search sees, of one text and of thousands at once."""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from skr_core.texts import WORD, words
from skr_store.postings import Postings, as_bytes, as_text, joined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be but by for if in into is it no not of on or such that the their "
        "then there these they this to was will with",
    )
)
# For `bytes.translate`: the characters of ASCII that no word holds become spaces.
_SPACED = bytes(
    code if code > 127 or re.match(WORD, chr(code)) else ord(" ") for code in range(256)
)


def searched_words(text: str) -> list[str]:
    """Split a text into the words that keyword search sees.

    Example:
        >>> searched_words("The Eiffel Tower, 巴黎")
        ['eiffel', 'tower', '巴', '黎']
    """
    return [word for word in words(text) if word not in STOP_WORDS]


def count_words(passages: Iterable[tuple[str, str]]) -> Postings:
    """The postings of many passages, which is quicker than one by one.

    Texts are split at the characters of ASCII first, which is quick, and only what is then still
    not a single word is looked at more closely: once, however often it stands there.

    Args:
        passages: The id of each, and its text.

    Example:
        >>> found = count_words([("a", "Red, red - blue!"), ("b", "the red")])
        >>> [numbers.tolist() for numbers in found.find("red")]
        [[0, 1], [2, 1]]
    """
    import numpy as np

    ids: list[bytes] = []
    lengths, numbers = array("I"), array("I")
    pieces: defaultdict[bytes, int] = defaultdict()
    pieces.default_factory = pieces.__len__  # a new piece has the next number
    for identity, text in passages:
        ids.append(as_bytes(identity))
        found = as_bytes(text.lower()).translate(_SPACED).split()
        lengths.append(len(found))
        numbers.extend(map(pieces.__getitem__, found))
    vocabulary, rows, sizes = _rows(pieces)
    each = np.frombuffer(numbers, np.uint32)
    places = np.repeat(np.arange(len(ids)), np.frombuffer(lengths, np.uint32))
    places = np.repeat(places, sizes[each])
    held = rows[_ranges((np.cumsum(sizes) - sizes)[each], sizes[each])]
    # Sorted by word and then by passage; a passage that repeats a word stands there once.
    total = max(len(ids), 1)
    held, counts = np.unique(held * total + places, return_counts=True)
    in_rows, in_places = np.divmod(held, total)
    return Postings(
        np.bincount(places, minlength=len(ids)).astype(np.uint32),
        *joined(ids),
        *joined(vocabulary),
        np.cumsum(np.bincount(in_rows, minlength=len(vocabulary)), dtype=np.uint64),
        in_places.astype(np.uint32),
        counts.astype(np.min_scalar_type(counts.max(initial=0))),
    )


def _rows(pieces: defaultdict[bytes, int]) -> tuple[list[bytes], Integers, Integers]:
    """The words in their order; the rows of those that each piece holds, and how many these are."""
    import numpy as np

    others = {piece: _words(piece) for piece in pieces if not piece.isascii()}
    others = {piece: held for piece, held in others.items() if held != [piece]}
    others |= {word: [] for word in map(as_bytes, STOP_WORDS) if word in pieces}
    for held in others.values():
        for word in held:
            pieces[word]  # has a number from now on
    vocabulary = sorted(pieces.keys() - others.keys())
    row_of = np.zeros(len(pieces), np.int64)
    row_of[[pieces[word] for word in vocabulary]] = np.arange(len(vocabulary))
    sizes = np.ones(len(pieces), np.int64)
    sizes[[pieces[piece] for piece in others]] = list(map(len, others.values()))
    rows = np.repeat(row_of, sizes)
    starts = np.cumsum(sizes) - sizes
    for piece, held in others.items():
        start = starts[pieces[piece]]
        rows[start : start + len(held)] = row_of[[pieces[word] for word in held]]
    return vocabulary, rows, sizes


def _words(piece: bytes) -> list[bytes]:
    """Of a piece of a text in lower case, which has spaces only around it."""
    return [as_bytes(word) for word in searched_words(as_text(piece))]


def _ranges(starts: Integers, sizes: Integers) -> Integers:
    """Whole numbers from each start on, so many of each, one after the other."""
    import numpy as np

    before = np.cumsum(sizes) - sizes
    return np.repeat(starts - before, sizes) + np.arange(int(sizes.sum()))
