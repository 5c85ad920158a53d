"""References as searches bring them: checked, and made of other frameworks' documents.

Retrievers are anybody's code, and the values of their documents may be anything. A document or node
goes along as its reference's `original`, in values that every checkpointer holds, so that the very
same comes back, in another process too.

Example:
    >>> found = foreign_reference("It is in France.", title=7, score=float("nan"), metadata={})
    >>> found.title, found.score
    ('', None)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any
from uuid import UUID

from skr_core.errors import NoReferencesError
from skr_core.texts import encodable
from skr_core.types import Metadata, Reference, flat_metadata


class FoundReferences(list[Reference]):
    """The references of a search that may have failed in part, best first.

    Args:
        references: The references that were found.
        errors: The failures, one line each.

    Example:
        >>> found = FoundReferences([Reference.of("Paris.")], errors=["web: no connection"])
        >>> len(found), found.errors
        (1, ('web: no connection',))
    """

    def __init__(self, references: Iterable[Reference] = (), errors: Iterable[str] = ()) -> None:
        super().__init__(references)
        self.errors = tuple(errors)


def errors_of(found: object) -> tuple[str, ...]:
    """The failures of a search, as far as the retriever reports them."""
    return found.errors if isinstance(found, FoundReferences) else ()


def checked_references(found: Any, retriever: object) -> list[Reference]:
    """The references that a retriever found, checked and in text that UTF-8 holds.

    Args:
        found: The retriever's result.
        retriever: The retriever, which is named in the error.

    Raises:
        NoReferencesError: The result is something else than references.

    Example:
        >>> checked_references("Paris", 5)
        Traceback (most recent call last):
        ...
        skr_core.errors.NoReferencesError: int gave str, no references
    """
    name = type(retriever).__name__
    if not isinstance(found, Iterable) or isinstance(found, str):
        raise NoReferencesError(f"{name} gave {type(found).__name__}, no references")
    references = list(found)
    for each in references:
        if not isinstance(each, Reference):
            raise NoReferencesError(f"{name} found {type(each).__name__}, no reference")
    return list(map(encodable_reference, references))


def encodable_reference(reference: Reference) -> Reference:
    """The same reference in text that UTF-8 holds, as checkpoints and requests need it.

    Its id stays, and so does its original.

    Example:
        >>> odd = Reference("1", "Paris" + chr(0xD800))
        >>> encodable_reference(odd).text == "Paris" + chr(0xFFFD)
        True
    """
    texts = (reference.text, reference.title, reference.shown or "", *_texts(reference.metadata))
    if encodable(together := "".join(texts)) is together:
        return reference
    metadata = {
        encodable(key): encodable(value) if isinstance(value, str) else value
        for key, value in reference.metadata.items()
    }
    shown = None if reference.shown is None else encodable(reference.shown)
    text, title = encodable(reference.text), encodable(reference.title)
    return replace(reference, text=text, title=title, metadata=metadata, shown=shown)


def _texts(metadata: Metadata) -> Iterator[str]:
    for key, value in metadata.items():
        yield key
        if isinstance(value, str):
            yield value


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
    """Make a reference of another framework's document, without what a reference cannot hold.

    Args:
        text: The passage.
        title: The title; used where it is a string.
        score: The score; used where it is a finite number.
        metadata: The metadata; flat values are used.
        shown: The text that a prompt shows in place of title and text.
        original: The fields of the document, see `plain_values`.

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
    """A copy of a value that a checkpointer can hold; only lone surrogates are lost.

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
    # No subclass: an enumeration's member, or a timestamp of pandas, is another type.
    return type(value) in _KEPT or isinstance(value, Path)


def finite_score(score: object) -> float | None:
    """The score as a float; None where it is no number, or not finite as a float.

    Example:
        >>> finite_score(1), finite_score(float("inf")), finite_score("0.5"), finite_score(10**400)
        (1.0, None, None, None)
    """
    try:
        value = float(score) if isinstance(score, Real) else math.nan
    except OverflowError:
        return None
    return value if math.isfinite(value) else None
