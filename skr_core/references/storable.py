"""What is stored and what is searched of a reference."""

from __future__ import annotations

import math
from dataclasses import replace

from skr_core.errors import InputError
from skr_core.texts import encodable
from skr_core.types import Reference


def storable_reference(reference: Reference) -> Reference:
    """The same reference in text that UTF-8 holds; its id stays, so adding it twice is no change.

    Raises:
        InputError: A value of the metadata is not a string, a bool, a finite float or a 64-bit int.
    """
    for key, value in reference.metadata.items():
        if isinstance(value, int) and not isinstance(value, bool):
            flat = -(2**63) <= value < 2**63
        elif isinstance(value, float):
            flat = math.isfinite(value)
        else:
            flat = isinstance(value, str | bool)
        if not flat:
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
            for key, value in reference.metadata.items()
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
