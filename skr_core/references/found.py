"""What a search brought, and what of it failed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from skr_core.errors import NoReferencesError
from skr_core.texts import encodable
from skr_core.types import Metadata, Reference


class FoundReferences(list[Reference]):
    """References, best first, of a search that may have failed in part.

    Args:
        references: What was found.
        errors: What failed beside, one line each.

    Example:
        >>> found = FoundReferences([Reference.of("Paris.")], errors=["web: no connection"])
        >>> len(found), found.errors
        (1, ('web: no connection',))
    """

    def __init__(self, references: Iterable[Reference] = (), errors: Iterable[str] = ()) -> None:
        super().__init__(references)
        self.errors = tuple(errors)


def errors_of(found: object) -> tuple[str, ...]:
    """What failed beside what was found, as far as the retriever tells it."""
    return found.errors if isinstance(found, FoundReferences) else ()


def checked_references(found: Any, retriever: object) -> list[Reference]:
    """What a retriever, which is anybody's code, has found; in text that UTF-8 holds.

    Raises:
        NoReferencesError: It is something else.

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
