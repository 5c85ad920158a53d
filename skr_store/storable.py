"""References as a store keeps them, and the texts by which it finds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from skr_core.errors import InputError
from skr_core.files import encodable_json
from skr_core.references.found import encodable_reference
from skr_core.types import Reference, flat_metadata


def storable_reference(reference: Reference) -> Reference:
    """The same reference in text that UTF-8 holds; its id stays, so adding it twice is no change.

    What no JSON holds of its original becomes text, such as dates.

    Example:
        >>> odd = Reference("1", "Paris" + chr(0xD800))
        >>> storable_reference(odd).text == "Paris" + chr(0xFFFD)
        True

    Raises:
        InputError: A value of the metadata is not a string, a bool, a finite float or a 64-bit int.
    """
    kept = flat_metadata(reference.metadata)
    if len(kept) < len(reference.metadata):
        key = next(key for key in reference.metadata if key not in kept)
        raise InputError(
            f"metadata {key!r} of reference {reference.title or reference.id!r} is "
            f"{reference.metadata[key]!r:.60}, but must be a string, a bool, a finite float or a "
            f"64-bit int"
        )
    if not isinstance(reference.metadata, dict):
        reference = replace(reference, metadata=kept)
    reference = encodable_reference(reference)
    if reference.original is None and not reference.also_in:
        return reference
    return replace(
        reference,
        original=_json(reference.original),
        also_in=tuple(map(_json, reference.also_in)),
    )


def provenance(reference: Reference) -> dict[str, Any]:
    """The fields that a store keeps beside text, title and metadata, where they have a value.

    Example:
        >>> provenance(Reference.of("Text.", shown="Page 3: Text."))
        {'shown': 'Page 3: Text.'}
    """
    kept = {
        "shown": reference.shown,
        "original": reference.original,
        "also_in": reference.also_in or None,
    }
    return {name: value for name, value in kept.items() if value is not None}


def with_provenance(reference: Reference, row: Mapping[str, Any]) -> Reference:
    """The reference with the fields that `provenance` gave.

    Example:
        >>> with_provenance(Reference.of("Text."), {"shown": "Page 3: Text."}).shown
        'Page 3: Text.'
    """
    kept = {name: row[name] for name in ("shown", "original") if name in row}
    if "also_in" in row:
        kept["also_in"] = tuple(row["also_in"])
    return replace(reference, **kept) if kept else reference


def _json(value: Any) -> Any:
    if value is None:
        return None
    from pydantic_core import to_jsonable_python

    return encodable_json(to_jsonable_python(value, fallback=str, bytes_mode="base64"))


def searchable_text(reference: Reference) -> str:
    """Title and text, which are embedded and searched as one.

    Example:
        >>> searchable_text(Reference.of("It is in France.", "Paris"))
        'Paris\\nIt is in France.'
    """
    return f"{reference.title}\n{reference.text}" if reference.title else reference.text


def keyword_text(reference: Reference) -> str:
    """The text for keyword search: the title counts twice, because it says what it is about.

    Example:
        >>> keyword_text(Reference.of("It is in France.", "Paris"))
        'Paris\\nParis\\nIt is in France.'
    """
    return f"{reference.title}\n{searchable_text(reference)}" if reference.title else reference.text
