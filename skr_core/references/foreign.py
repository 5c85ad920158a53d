"""What retrievers of other frameworks found, made into references; their values may be anything.

A document or node goes along as its `original`, in values that every checkpointer holds, so that
the very same comes back, in another process too.

Example:
    >>> found = foreign_reference("It is in France.", title=7, score=float("nan"), metadata={})
    >>> found.title, found.score
    ('', None)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any
from uuid import UUID

from skr_core.references.found import encodable_reference
from skr_core.texts import encodable
from skr_core.types import Reference, flat_metadata

_KEPT = (str, bool, float, bytes, date, datetime, time, timedelta, Decimal, UUID, type(None))
"""LangGraph's checkpointers give back these, and paths and integers of 64 bits, as they were."""

_INTEGERS = range(-(2**63), 2**64)


def foreign_reference(
    text: str,
    *,
    title: object,
    score: object,
    metadata: Mapping[str, object],
    shown: str | None = None,
    original: Mapping[str, object] | None = None,
) -> Reference:
    """Make a reference, leaving out what a reference cannot hold.

    Args:
        text: The passage.
        title: Taken where it is a string.
        score: Taken where it is a finite number.
        metadata: Flat values are taken.
        shown: What a prompt shows of it in place of title and text.
        original: What it is made from, see `plain_values`.

    Example:
        >>> found = foreign_reference("Text.", title="T", score=1, metadata={"page": 3, "tags": []})
        >>> found.metadata
        {'page': 3}
    """
    return encodable_reference(
        Reference.of(
            text,
            title if isinstance(title, str) else "",
            score=finite_score(score),
            metadata=flat_metadata(metadata),
            shown=shown,
            original=None if original is None else plain_values(original),
        )
    )


def plain_values(value: Any) -> Any:
    """A copy in values that a checkpointer holds: nothing is left out but lone surrogates.

    Texts, numbers, dates, paths, UUIDs and bytes stay, and so do dicts, lists, tuples and sets of
    them. Arrays become lists, objects their fields or their text.

    Example:
        >>> plain_values({"tags": ["a", {"b": (1, None)}], 3: 2**80})
        {'tags': ['a', {'b': (1, None)}], 3: '1208925819614629174706176'}
    """
    if type(value) is str:
        return encodable(value)
    if type(value) is dict or isinstance(value, Mapping):
        return {_plain_key(key): plain_values(each) for key, each in value.items()}
    if _is_kept(value):
        return value
    if type(value) is tuple:
        return tuple(map(plain_values, value))
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_values(each) for each in value]
    if isinstance(value, int):
        return str(value)
    if callable(getattr(value, "tolist", None)):  # numpy's arrays and numbers
        return plain_values(value.tolist())
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, fallback=str, bytes_mode="base64")


def _plain_key(key: object) -> Any:
    if type(key) is str:
        return encodable(key)
    return plain_values(key) if _is_kept(key) else str(key)


def _is_kept(value: object) -> bool:
    if type(value) is int:
        return value in _INTEGERS
    if type(value) in (set, frozenset):
        return all(map(_is_kept, value))  # type: ignore[call-overload]  # mypy sees an object
    # Of no subclass: an enumeration's member, or a timestamp of pandas, is another type.
    return type(value) in _KEPT or isinstance(value, Path)


def finite_score(score: object) -> float | None:
    """The number as a float; None for what is none, or is not finite as a float.

    Example:
        >>> finite_score(1), finite_score(float("inf")), finite_score("0.5"), finite_score(10**400)
        (1.0, None, None, None)
    """
    try:
        value = float(score) if isinstance(score, Real) else math.nan
    except OverflowError:
        return None
    return value if math.isfinite(value) else None
