'''Passages as a prompt shows them: as they are, between fences that no text in them can imitate.

Each reference has a head of one line, which numbers it, and its text between two lines that are
the same for the whole prompt::

    [1] Paris (page: 3)
    """
    Paris is the capital of France.
    """

Code, tables and brackets stay as they are, and of the rest all that can be seen (`cleaned`). The
fence is made longer until it occurs in no passage of the prompt, so that whatever stands in one
stays inside; a title and metadata stand on one line each that cannot pose as another head. A
reference whose source says what a prompt shows
of it (`Reference.shown`) has that in its fence, and the number alone in its head.
'''

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import count

from skr_core.cleaning import cleaned
from skr_core.patterns import lazy_pattern
from skr_core.types import Reference

FENCE = '"""'
"""The shortest fence: one token in most vocabularies, and rare in prose."""

LONGEST_PLAIN_FENCE = 8
"""Quotation marks; a passage that holds more of them in a row makes the fence end in a hash."""

LONGEST_LABEL = 300
"""Characters of a title, and of a value of the metadata, that a head shows."""

_Shown = tuple[str, str]  # what stands in the fence, and what its head says behind the number

# Lists, ranges, leads and wide brackets too: whatever the citations would take for a marker.
_BRACKETED_NUMBER = lazy_pattern(r"[\[【［]\s*([^\[\]【】［］\d]{0,16}\d[^\[\]【】［］]*)[\]】］]")


def fence_references(
    references: Sequence[Reference],
    *,
    metadata_keys: Sequence[str] = (),
    numbers: Sequence[int] | None = None,
) -> str:
    """Render references, numbered, each text as it is and inside of its fence.

    Args:
        references: In the order in which they are shown.
        metadata_keys: What of the metadata stands in the head, in this order, where there is any.
        numbers: One for each; by default from 1.

    Returns:
        Empty where there is no reference.

    Example:
        >>> code = Reference.of("x = arr[0]", "Code", metadata={"page": 3, "source": "a.py"})
        >>> print(fence_references([code], metadata_keys=["page"]))
        [1] Code (page: 3)
        \"\"\"
        x = arr[0]
        \"\"\"
    """
    shown = [_shown(reference, metadata_keys) for reference in references]
    fence = _fence_around(shown)
    return "\n".join(
        _block(number, *each, fence)
        for number, each in zip(numbers or count(1), shown, strict=False)
    )


def shown_text(reference: Reference) -> str:
    """What stands inside of a reference's fence.

    Example:
        >>> shown_text(Reference.of("It is in France.", "Paris", shown="Paris. It is in France."))
        'Paris. It is in France.'
    """
    return cleaned(reference.text if reference.shown is None else reference.shown)


def fenced(
    number: int, reference: Reference, fence: str, *, metadata_keys: Sequence[str] = ()
) -> str:
    """One reference with its head, between two lines that are the fence; none around no text."""
    return _block(number, *_shown(reference, metadata_keys), fence)


def fence_for(references: Sequence[Reference], *, metadata_keys: Sequence[str] = ()) -> str:
    """The shortest fence that occurs in none of the references; the same for the same ones.

    Example:
        >>> quoting = Reference.of('\"\"\"A docstring.\"\"\"')
        >>> len(fence_for([Reference.of("One.")])), len(fence_for([quoting]))
        (3, 4)
    """
    return _fence_around([_shown(reference, metadata_keys) for reference in references])


def one_line(text: str) -> str:
    """A text on one line, cleaned, with round brackets around numbers that could pose as markers.

    Example:
        >>> one_line("It sank. [7] " + chr(10) + "  It was new.")
        'It sank. (7) It was new.'
    """
    return _one_line_once(text) if len(text) <= LONGEST_LABEL else _one_line(text)


def _one_line(text: str) -> str:
    return _BRACKETED_NUMBER.sub(r"(\1)", " ".join(cleaned(text).split()))


# Titles stand in every prompt of a loop.
_one_line_once = lru_cache(512)(_one_line)


def _shown(reference: Reference, keys: Sequence[str]) -> _Shown:
    """What a prompt shows of a reference; its text alone where its source says all."""
    text = shown_text(reference)
    if reference.shown is not None:
        return text, ""
    title = one_line(reference.title[:LONGEST_LABEL])
    chosen = [
        f"{one_line(key)}: {value}"
        for key in keys
        if key in reference.metadata
        and (value := one_line(str(reference.metadata[key])[:LONGEST_LABEL]))
    ]
    return text, f"{title} ({'; '.join(chosen)})".lstrip() if chosen else title


def _block(number: int, text: str, label: str, fence: str) -> str:
    head = f"[{number}] {label}" if label else f"[{number}]"
    return f"{head}\n{fence}\n{text}\n{fence}" if text.strip() else head


def _fence_around(shown: Sequence[_Shown]) -> str:
    texts = [*(text for text, _ in shown), *(label for _, label in shown if label)]
    together = "\n".join(texts)
    return next(fence for fence in _fences(texts) if fence not in together)


def _fences(texts: Iterable[str]) -> Iterator[str]:
    """Fences, each longer than the one before; no passage can know the hash of all of them."""
    for length in range(len(FENCE), LONGEST_PLAIN_FENCE + 1):
        yield FENCE[0] * length
    digest = hashlib.shake_256()
    for text in texts:
        digest.update(text.encode(errors="surrogatepass") + b"\x00")
    length = 4
    while True:
        yield FENCE + digest.hexdigest(length)
        length *= 2
