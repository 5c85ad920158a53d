"""Cutting long texts into passages by tokens."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from skr_core._compat import cached_property
from skr_core.budget import count_tokens
from skr_core.errors import extra

# A passage of 400 tokens is a few paragraphs; ten of them fit a small model's window.
LIMIT = 400
OVERLAP = 50
# What somebody cut as a passage stays one, unless ten of them would not fit a small model's window.
PASSAGE_LIMIT = 2000
# From the best place to cut to the worst; the full stops of Chinese and Japanese among them.
SEPARATORS = ("\n# ", "\n## ", "\n### ", "\n\n", "\n", ". ", "。", " ", "")

_BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")


def _tokens(text: str) -> int:
    return count_tokens(text).tokens


class TokenSplitter:
    """Splits where a text has its own borders: headings, paragraphs, sentences, words.

    Args:
        count: Says how many tokens a text has.
        limit: Most tokens of a passage.
        overlap: Most tokens that a passage repeats of the one before it.

    Example:
        >>> TokenSplitter(limit=4, overlap=0).split("one two three four five six")
        ['one two three four', 'five six']
    """

    def __init__(
        self, count: Callable[[str], int] = _tokens, *, limit: int = LIMIT, overlap: int = OVERLAP
    ) -> None:
        self._count, self._limit, self._overlap = count, limit, overlap

    def split(self, text: str) -> list[str]:
        """Cut a text; one within the limit stays whole.

        Returns:
            Passages without blank ones, in the order of the text.
        """
        # A token has at least one character, so short texts need no counting.
        if len(text) <= self._limit or self._count(text) <= self._limit:
            return [text] if text.strip() else []
        first, *others = self._splitter.split_text(text)
        parts = [_without_blank_lines(first), *map(_beginning_with_a_line, others)]
        return [part for part in parts if part.strip()]

    @cached_property
    def _splitter(self) -> Any:
        with extra("store"):
            from langchain_text_splitters import RecursiveCharacterTextSplitter

        return RecursiveCharacterTextSplitter(
            separators=list(SEPARATORS),
            keep_separator="start",
            chunk_size=self._limit,
            chunk_overlap=self._overlap,
            length_function=self._count,
            strip_whitespace=False,  # the indentation of a first line is part of its code
        )


def _without_blank_lines(part: str) -> str:
    """A part without blank lines around it; its first line keeps its indentation."""
    return _BLANK_LINES.sub("", part).rstrip()


def _beginning_with_a_line(part: str) -> str:
    """The same, without the space of a cut within a line."""
    return _without_blank_lines(part) if part[:1] == "\n" else part.strip()
