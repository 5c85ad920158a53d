"""Retrieval made worse by design: lower ranks, half of the corpus (SKR appendix C, Table 7)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from skr_core.ports import Retriever
from skr_core.types import Reference

RANKS = {"rank 1-3": (1, 3), "rank 8-10": (8, 10)}
"""The rows of Table 7 over the whole corpus."""


class RankSlice:
    """Hands on only some ranks of what another retriever finds.

    Args:
        retriever: Asked for references; it has to return `last` of them.
        first: The best rank handed on, from 1.
        last: The worst.

    Example:
        >>> from skr_core.testing import MappingRetriever
        >>> found = RankSlice(MappingRetriever({"q": ["a", "b", "c"]}), 2, 3).retrieve("q")
        >>> [reference.text for reference in found]
        ['b', 'c']
    """

    def __init__(self, retriever: Retriever, first: int, last: int) -> None:
        self._retriever = retriever
        self._first, self._last = first, last

    @property
    def name(self) -> str:
        """The retriever's, with the ranks."""
        return f"{self._retriever.name}[{self._first}-{self._last}]"

    def retrieve(self, query: str) -> Sequence[Reference]:
        """Some ranks of what is found."""
        return list(self._retriever.retrieve(query))[self._first - 1 : self._last]

    async def aretrieve(self, query: str) -> Sequence[Reference]:
        """Some ranks of what is found."""
        return list(await self._retriever.aretrieve(query))[self._first - 1 : self._last]


def half_of(references: Sequence[Reference]) -> list[Reference]:
    """Half of a corpus, drawn by content, so that every run draws the same half.

    Example:
        >>> len(half_of([Reference.of(str(number)) for number in range(10)]))
        5
    """
    drawn = sorted(references, key=lambda each: hashlib.blake2b(each.id.encode()).digest())
    return drawn[: len(references) // 2]
