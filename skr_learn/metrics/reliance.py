"""Reliance: whether the model takes its answer from the document it is given (W2R §5)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from skr_core.errors import InputError
from skr_core.texts import normalise

REPLACEMENT = "Tom"
"""What W2R §5 puts in the answer's place."""


def overlap(answer: str, document: str) -> float:
    """Share of the answer's words that stand in the document, 0 to 1; of no word, 0.

    W2R §5 names Overlap(a, d) without a formula; this is the one used here.

    Example:
        >>> overlap("in Paris, France", "Paris is the capital of France.") == 2 / 3
        True
    """
    said = normalise(answer).split()
    words = set(normalise(document).split())
    return sum(word in words for word in said) / len(said) if said else 0.0


def relies(direct: str, augmented: str, document: str, *, gamma: float = 0.0) -> bool:
    """Overlap(â, d) - Overlap(a, d) > γ (W2R §5): the document drew the answer to itself.

    Args:
        direct: The answer a, without the document.
        augmented: The answer â, with it.
        document: d.
        gamma: γ; the paper sets 0.

    Example:
        >>> relies("Lyon", "Paris", "Paris is the capital.")
        True
        >>> relies("Paris", "Paris", "Paris is the capital.")
        False
    """
    return overlap(augmented, document) - overlap(direct, document) > gamma


def utilisation_ratio(
    direct: Sequence[str],
    augmented: Sequence[str],
    documents: Sequence[str],
    *,
    gamma: float = 0.0,
) -> float:
    """Share of the questions whose answer relies on its document (W2R §5), 0 to 1.

    Example:
        >>> utilisation_ratio(["Lyon", "Paris"], ["Paris", "Paris"], ["Paris.", "Paris."])
        0.5
    """
    _same_length(direct, augmented, documents)
    relying = [
        relies(*each, gamma=gamma) for each in zip(direct, augmented, documents, strict=True)
    ]
    return sum(relying) / len(relying) if relying else 0.0


def corruption_rate(direct_right: Sequence[bool], augmented_right: Sequence[bool]) -> float:
    """Share of all questions that are right without the document and wrong with it (W2R §5).

    Example:
        >>> corruption_rate([True, True, False], [False, True, False]) == 1 / 3
        True
    """
    _same_length(direct_right, augmented_right)
    pairs = list(zip(direct_right, augmented_right, strict=True))
    return sum(before and not after for before, after in pairs) / len(pairs) if pairs else 0.0


def corrupt(text: str, gold: Sequence[str], replacement: str = REPLACEMENT) -> str:
    """The text with every right answer replaced, longest first, whatever the case (W2R §5).

    Example:
        >>> corrupt("Paris is a city. In paris, the Parisians live.", ["Paris"])
        'Tom is a city. In Tom, the Parisians live.'
    """
    for each in sorted(filter(str.strip, gold), key=len, reverse=True):
        pattern = rf"(?<!\w){re.escape(each.strip())}(?!\w)"
        text = re.sub(pattern, lambda _: replacement, text, flags=re.IGNORECASE)
    return text


def _same_length(*lists: Sequence[object]) -> None:
    if len({len(each) for each in lists}) > 1:
        raise InputError(f"these must be as many: {', '.join(str(len(each)) for each in lists)}")
