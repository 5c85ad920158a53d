"""Whether answers stand in the references that were found, found without a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from skr_core.references.citations import without_markers
from skr_core.texts import words
from skr_core.types import Answer

WINDOW = 3
"""Times as many words of a reference as the answer has are read together, and never fewer than
`SHORTEST_WINDOW`."""
SHORTEST_WINDOW = 12
LONGEST_ANSWER = 40
"""Words of an answer that are looked for; a longer one is an explanation, not a name."""
MOST_WORDS = 20_000
"""Words of all references together that are read."""

_SMALL = frozenset(
    "the a an of in on at to for and or is are was were be by with from as that this it its".split()
)


@dataclass(frozen=True, slots=True)
class Standing:
    """How answers stand in the references of one of them, each between 0 and 1.

    Attributes:
        direct: The share of the direct answer's words that stand together in a reference.
        direct_cited: The same in the references that the answer cites.
        own: The share of the answer's own words that stand together in a reference.
    """

    direct: float = 0.0
    direct_cited: float = 0.0
    own: float = 0.0


def standing_of(answer: Answer, direct: str) -> Standing:
    """How an answer from references, and the direct answer beside it, stand in them.

    Example:
        >>> from skr_core.types import Decision, Reference
        >>> given = (Reference.of("It was built by Gustave Eiffel."),)
        >>> answer = Answer("Who?", "Eiffel.", (), given, Decision(True), (), "sufficient", {})
        >>> standing_of(answer, "Gustave Eiffel")
        Standing(direct=1.0, direct_cited=0.0, own=1.0)
    """
    found = [reference.text for reference in answer.references]
    cited = [reference.text for reference in answer.cited_references]
    return standing_in(direct, without_markers(answer.text), found, cited)


def standing_in(
    direct: str, own: str, references: Sequence[str], cited: Sequence[str] = ()
) -> Standing:
    """The same of texts.

    Example:
        >>> standing_in("Emma", "Persuasion", ["Persuasion came out in 1817."]).own
        1.0
    """
    return Standing(
        share_standing(direct, references),
        share_standing(direct, cited),
        share_standing(own, references),
    )


def share_standing(answer: str, texts: Iterable[str]) -> float:
    """The largest share of an answer's words that stand close together in one of some texts.

    Example:
        >>> share_standing("Ada Lovelace", ["Ada King, Countess of Lovelace", "Ada"])
        1.0
    """
    said = words(answer)[:LONGEST_ANSWER]
    wanted = frozenset(word for word in said if word not in _SMALL) or frozenset(said)
    if not wanted:
        return 0.0
    best, left = 0, MOST_WORDS
    size = max(SHORTEST_WINDOW, WINDOW * len(wanted))
    for text in texts:
        read = words(text)[:left]
        left -= len(read)
        places = [place for place, word in enumerate(read) if word in wanted]
        for first, place in enumerate(places):
            together = {read[each] for each in places[first:] if each < place + size}
            best = max(best, len(together))
            if best == len(wanted):
                return 1.0
    return best / len(wanted)
