"""The same words found in several places: one reference, which names the other places.

Example:
    >>> first = Reference.of("Wash by hand.", original={"id": "1", "metadata": {"page": 3}})
    >>> other = Reference.of("Wash by hand.", original={"id": "2", "metadata": {"page": 9}})
    >>> found = with_copy(first, other)
    >>> found.original["id"], found.also_in
    ('1', ({'id': '2', 'metadata': {'page': 9}},))
    >>> with_copy(found, other) == found
    True
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any, TypeVar

from skr_core.types import Reference

T = TypeVar("T")


def best_copies(rankings: Sequence[Iterable[Reference]]) -> dict[str, Reference]:
    """Each reference by its id: of equal ones the best-ranked, which names the others.

    Args:
        rankings: Each best first. Of equal ranks the first ranking's counts.
    """
    return joined(rankings, lambda each: each.id, with_copy)


def joined(
    rankings: Sequence[Iterable[T]], identity: Callable[[T], str], join: Callable[[T, T], T]
) -> dict[str, T]:
    """Each item by its identity, best-ranked first; equal ones are joined.

    Args:
        rankings: As above, of references in any form.
        identity: What makes two of them equal.
        join: Given the better-ranked of two equal ones and the other.
    """
    best: dict[str, T] = {}
    for rank in zip_longest(*rankings):
        for each in rank:
            if each is not None:
                key = identity(each)
                best[key] = join(best[key], each) if key in best else each
    return best


def with_copy(best: Reference, other: Reference) -> Reference:
    """The better-ranked of two references that say the same, with the other named beside it.

    One that has an original is better than one that has none.
    """
    found_by = tuple(dict.fromkeys((*best.found_by, *other.found_by)))
    if best.original is None:
        return replace(best if other.original is None else other, found_by=found_by)
    named = list(best.also_in)
    for each in (other.original, *other.also_in):
        if each and not any(_is_same(each, known) for known in (best.original, *named)):
            named.append(each)
    return replace(best, also_in=tuple(named), found_by=found_by)


def places(reference: Reference) -> list[dict[str, Any]]:
    """Where else a reference's text stands: the metadata of each other original, with its id."""
    return [{"id": _id(each), **each.get("metadata", {})} for each in reference.also_in]


def _id(original: Mapping[str, Any]) -> Any:
    return original.get("id", original.get("id_"))


def _is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """By their ids, or by metadata; those may hold the score, which is another for each query."""
    if _id(one) is not None or _id(other) is not None:
        return bool(_id(one) == _id(other))
    return _unscored(one) == _unscored(other)


def _unscored(original: Mapping[str, Any]) -> dict[str, Any]:
    from pydantic_core import to_jsonable_python  # as a store gives it back

    metadata = to_jsonable_python(original.get("metadata", {}), fallback=str, bytes_mode="base64")
    return {key: value for key, value in metadata.items() if not isinstance(value, float)}
