"""Metrics of what was retrieved and what was cited, against the supporting titles."""

from __future__ import annotations

import html
from collections.abc import Iterable


def title_recall(found: Iterable[str], supporting: Iterable[str]) -> float:
    """Share of the supporting titles among those found, 0 to 1.

    Example:
        >>> title_recall(["Jaws", "Cincinnati"], ["Jaws", "Steven Spielberg"])
        0.5
    """
    wanted = titles(supporting)
    return len(wanted & titles(found)) / len(wanted) if wanted else 0.0


def all_titles(found: Iterable[str], supporting: Iterable[str]) -> bool:
    """Whether every supporting title was found; False where none is recorded.

    Example:
        >>> all_titles(["Jaws", "Cincinnati"], ["Jaws"])
        True
    """
    return title_recall(found, supporting) == 1.0


def citation_recall(cited: Iterable[str], supporting: Iterable[str]) -> float:
    """|cited ∩ supporting| / |supporting| (RaLLM §4.2), 0 to 1; an uncited answer has 0.

    Example:
        >>> citation_recall(["Jaws"], ["Jaws", "Steven Spielberg"])
        0.5
    """
    return title_recall(cited, supporting)


def citation_precision(cited: Iterable[str], supporting: Iterable[str]) -> float:
    """|cited ∩ supporting| / |cited| (RaLLM §4.2), 0 to 1; an uncited answer has 0.

    Example:
        >>> citation_precision(["Jaws", "Shark"], ["Jaws", "Steven Spielberg"])
        0.5
    """
    said = titles(cited)
    return len(said & titles(supporting)) / len(said) if said else 0.0


def titles(given: Iterable[str]) -> set[str]:
    """Titles as they are compared: entities decoded, case and surrounding space ignored."""
    return {html.unescape(title).strip().casefold() for title in given} - {""}
