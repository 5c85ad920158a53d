"""References: the passages that can be cited."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Metadata = Mapping[str, str | int | float | bool]
"""Flat values only: what every vector store can hold beside a text."""

PLAIN: Mapping[str, Any] = {"plain": True}
"""Marks a field of a dataclass whose values are plain already, see `skr_core.plain.to_plain`."""

_INTEGERS = range(-(2**63), 2**63)
"""Stores count in 64 bits."""


def flat_metadata(metadata: Mapping[Any, Any]) -> Metadata:
    """What a store can hold of a document's metadata: one odd value keeps no document out.

    Texts, booleans, finite numbers and integers of 64 bits stay; the rest is left out.

    Example:
        >>> flat_metadata({"page": 3, "tags": ["a"], "score": float("nan"), "author": None})
        {'page': 3}
    """
    return {key: value for key, value in metadata.items() if isinstance(key, str) and _flat(value)}


def _flat(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return value in _INTEGERS
    return isinstance(value, str)


def content_id(text: str, title: str = "") -> str:
    """Identity of a reference: a hash of what it says, so that adding it twice changes nothing.

    It has 32 hexadecimal digits.

    Example:
        >>> content_id("Paris is the capital of France.") == content_id("Paris is a city.")
        False
    """
    content = f"{title}\x00{text}".encode(errors="surrogatepass")
    return hashlib.blake2b(content, digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Reference:
    """A passage that can be cited.

    Attributes:
        id: Hash of title and text, see `content_id`.
        text: The passage.
        title: Of the document it comes from; empty where unknown.
        score: The retriever's own; comparable within one query only. None where it gives none.
        metadata: Flat values, such as the source's path and page.
        shown: What a prompt shows of it, where its source says so; by default title and text.
        original: The document or node it was made from, as plain values, so that the very same
            comes back; its text is left out. None for references of this project's own.
        also_in: Originals of other documents that say the same, word by word.
        found_by: Names of the retrievers that found it, where there are several with names.
    """

    id: str
    text: str
    title: str = ""
    score: float | None = None
    metadata: Metadata = field(default_factory=dict, compare=False)
    shown: str | None = field(default=None, compare=False)
    original: Mapping[str, Any] | None = field(
        default=None, compare=False, repr=False, metadata=PLAIN
    )
    also_in: tuple[Mapping[str, Any], ...] = field(
        default=(), compare=False, repr=False, metadata=PLAIN
    )
    found_by: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def of(
        cls,
        text: str,
        title: str = "",
        *,
        score: float | None = None,
        metadata: Metadata | None = None,
        shown: str | None = None,
        original: Mapping[str, Any] | None = None,
    ) -> Reference:
        """Make a reference whose id is its content's hash."""
        identity = content_id(text, title)
        return cls(identity, text, title, score, dict(metadata or {}), shown, original)
