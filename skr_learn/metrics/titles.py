"""Metrics of what was retrieved and cited: titles, and the sentences that support an answer."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from skr_core.questions import Context
from skr_core.types import Reference


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


def citation_precision(cited: Iterable[str], supporting: Iterable[str], invented: int = 0) -> float:
    """|cited ∩ supporting| / (|cited| + invented) (RaLLM §4.2), 0 to 1; an uncited answer has 0.

    Args:
        cited: Titles of what the answer cites.
        supporting: Titles of what supports it.
        invented: Citations that named no reference and were taken out.

    Example:
        >>> citation_precision(["Jaws", "Shark"], ["Jaws", "Steven Spielberg"])
        0.5
        >>> citation_precision(["Jaws", "Shark"], ["Jaws", "Steven Spielberg"], invented=2)
        0.25
    """
    said = titles(cited)
    made = len(said) + invented
    return len(said & titles(supporting)) / made if made else 0.0


def titles(given: Iterable[str]) -> set[str]:
    """Titles as they are compared: entities decoded, case and surrounding space ignored."""
    return {html.unescape(title).strip().casefold() for title in given} - {""}


Fact = tuple[str, int]
"""The title of a passage and the index of a sentence in it, from 0."""


def supporting_fact_recall(found: Iterable[Fact], supporting: Iterable[Fact]) -> float:
    """|found ∩ supporting| / |supporting| over (title, sentence index) pairs; of nothing, 0.

    The evaluation of HotpotQA (Yang et al. 2018, §4.2) over sentences, recall alone, because a
    passage brings its other sentences along.

    Example:
        >>> supporting_fact_recall([("Jaws", 0)], [("Jaws", 0), ("Spielberg", 2)])
        0.5
    """
    wanted = {(_title(title), index) for title, index in supporting}
    had = {(_title(title), index) for title, index in found}
    return len(wanted & had) / len(wanted) if wanted else 0.0


def facts_within(references: Iterable[Reference], contexts: Sequence[Context]) -> list[Fact]:
    """The sentences of the contexts that stand word by word in references of the same title.

    Example:
        >>> jaws = Context("Jaws", "It is a film. It is old.", ("It is a film.", "It is old."))
        >>> facts_within([Reference.of("It is  old.", "Jaws")], [jaws])
        [('Jaws', 1)]
    """
    texts: dict[str, list[str]] = {}
    for reference in references:
        texts.setdefault(_title(reference.title), []).append(_spaced(reference.text))
    return [
        (context.title, index)
        for context in contexts
        for index, sentence in enumerate(context.sentences)
        if _spaced(sentence)
        and any(_spaced(sentence) in each for each in texts.get(_title(context.title), ()))
    ]


def resolvable(facts: Iterable[Fact], contexts: Sequence[Context]) -> list[Fact]:
    """The facts whose sentence is recorded; published data name some that do not exist."""
    lengths: dict[str, int] = {}
    for context in contexts:
        title = _title(context.title)
        lengths[title] = max(len(context.sentences), lengths.get(title, 0))
    return [(title, index) for title, index in facts if 0 <= index < lengths.get(_title(title), 0)]


def _title(title: str) -> str:
    return next(iter(titles([title])), "")


def _spaced(text: str) -> str:
    return " ".join(text.split())
