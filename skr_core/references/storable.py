"""What is stored and what is searched of a reference."""

from __future__ import annotations

from dataclasses import replace

from skr_core.errors import InputError
from skr_core.texts import encodable
from skr_core.types import Reference, flat_metadata


def storable_reference(reference: Reference) -> Reference:
    """The same reference in text that UTF-8 holds; its id stays, so adding it twice is no change.

    Example:
        >>> odd = Reference("1", "Paris" + chr(0xD800))
        >>> storable_reference(odd).text == "Paris" + chr(0xFFFD)
        True

    Raises:
        InputError: A value of the metadata is not a string, a bool, a finite float or a 64-bit int.
    """
    kept = flat_metadata(reference.metadata)
    for key, value in reference.metadata.items():
        if key not in kept:
            raise InputError(
                f"metadata {key!r} of reference {reference.title or reference.id!r} is "
                f"{value!r:.60}, but must be a string, a bool, a finite float or a 64-bit int"
            )
    return replace(
        reference,
        text=encodable(reference.text),
        title=encodable(reference.title),
        metadata={
            encodable(key): encodable(value) if isinstance(value, str) else value
            for key, value in kept.items()
        },
    )


def searchable(reference: Reference) -> str:
    """Title and text, which are embedded and searched as one.

    Example:
        >>> searchable(Reference.of("It is in France.", "Paris"))
        'Paris\\nIt is in France.'
    """
    return f"{reference.title}\n{reference.text}" if reference.title else reference.text


def keyworded(reference: Reference) -> str:
    """What keyword search sees: the title counts twice, because it says what the text is about.

    Example:
        >>> keyworded(Reference.of("It is in France.", "Paris"))
        'Paris\\nParis\\nIt is in France.'
    """
    return f"{reference.title}\n{searchable(reference)}" if reference.title else reference.text
