"""What may stand beside a text: flat values, which every vector store can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

Metadata = Mapping[str, str | int | float | bool]
"""Flat values only: what every vector store can hold beside a text."""

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
