"""Pairs of passages that belong together, because they share a name that is rare among them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations, groupby

from skr_core.texts import split_sentences
from skr_core.types import Reference

MOST_HOLDERS = 5
"""A name that more passages hold does not tell two of them from the others."""
_HEADING = re.compile(r"^#.*$|^.*\n(?:===+|---+|~~~+)$", re.MULTILINE)


def pairs_of(passages: Sequence[Reference]) -> list[tuple[str, tuple[Reference, Reference]]]:
    """Pairs of passages with a name that they share and few others hold, each pair once.

    Those of two documents come first, then those of the rarest and longest names.
    """
    holders: dict[str, list[Reference]] = defaultdict(list)
    # Scripts without capitals show no names, but a title may stand in another's text.
    bare = {each.title for each in passages if each.title.lower() == each.title.upper()}
    for each in passages:
        # In headings every word may have a capital: only that of the document is looked at.
        said = f"{each.title.partition(': ')[0]}\n{_HEADING.sub('', each.text)}"
        titles = {title for title in bare if len(title) > 1 and title in said}
        for name in names_in(said) | titles:
            holders[name].append(each)
    shared = [
        (one.title == other.title, len(held), -len(name), name, (one, other))
        for name, held in holders.items()
        if len(held) <= MOST_HOLDERS
        for one, other in combinations(held, 2)
    ]
    shared.sort(key=lambda each: each[:4])
    pairs: dict[frozenset[str], tuple[str, tuple[Reference, Reference]]] = {}
    for *_, name, pair in shared:
        pairs.setdefault(frozenset(each.id for each in pair), (name, pair))
    return list(pairs.values())


def names_in(text: str) -> set[str]:
    """Runs of capitalised words; a word that only begins a sentence or a point is none.

    Example:
        >>> sorted(names_in("Built by Ada Moor, it burnt. - **Then** it was rebuilt in Arden."))
        ['Ada Moor', 'Arden']
    """
    found = set()
    for sentence in split_sentences(text):
        tokens = re.findall(r"\w[\w'’-]*|[^\w\s]", sentence)
        first = next((place for place, each in enumerate(tokens) if each[0].isalnum()), 0)
        for is_name, part in groupby(enumerate(tokens), key=lambda each: each[1][:1].isupper()):
            places, said = zip(*part, strict=True)
            begun = said[1:] if places[0] <= first else said
            if is_name:
                found |= {" ".join(each) for each in (said, begun) if each and begun}
    return {each for each in found if len(each) > 2}
