"""Answers as whoever chooses among them sees them, and how they stand in their references.

How an answer stands in references is found without a model: by its words that stand close together
in one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from skr_core.candidates import CandidateAnswer, Standing
from skr_core.references.citations import without_markers
from skr_core.replies.refusals import without_notice
from skr_core.texts import words
from skr_core.types import Answer, Generation

WINDOW = 3
"""A window of a reference is this many times as long as the words looked for, and at least
`SHORTEST_WINDOW`."""
SHORTEST_WINDOW = 12
LONGEST_ANSWER = 40
"""Words of an answer that are looked for; a longer one is an explanation, not a name."""
MOST_WORDS = 20_000
"""Words of all references together that are read."""

_SMALL = frozenset(
    "the a an of in on at to for and or is are was were be by with from as that this it its".split()
)
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")


def candidate_of_generation(direct: Generation) -> CandidateAnswer:
    """Return what is known of the direct answer that a model has just given.

    Example:
        >>> candidate_of_generation(Generation("Paris.", logprobs=(-0.5,))).confidence
        -0.5
    """
    return CandidateAnswer(without_markers(plain_text(direct.text)), confidence=direct.mean_logprob)


def candidate_of_answer(answer: Answer, direct: str = "") -> CandidateAnswer:
    """Return what is known of an answer that a system has just given.

    Args:
        answer: The system's answer.
        direct: Text of the direct answer beside it, empty where there is none.
    """
    retrieved = answer.decision.retrieve
    return CandidateAnswer(
        without_markers(plain_text(without_notice(answer.text))),
        confidence=answer.logprob,
        grounded=answer.grounded if retrieved else None,
        standing=standing_of(answer, direct) if retrieved else None,
    )


def plain_text(text: Any) -> str:
    r"""Return a recorded answer as it was said: logs often keep it quoted, with escapes.

    Example:
        >>> plain_text(r'"Beyonc\u00e9 sang \"Halo\"."')
        'Beyoncé sang "Halo".'
    """
    if not isinstance(text, str):
        return ""
    said = _ESCAPE.sub(lambda match: chr(int(match.group(1), 16)), text)
    return said.strip().strip('"').replace('\\"', '"')


def standing_of(answer: Answer, direct: str) -> Standing:
    """Measure how an answer from references, and the direct answer beside it, stand in them.

    Example:
        >>> from skr_core.types import Decision, Reference
        >>> given = (Reference.of("It was built by Gustave Eiffel."),)
        >>> answer = Answer("Who?", "Eiffel.", (), given, Decision(True), (), "sufficient", {})
        >>> standing_of(answer, "Gustave Eiffel")
        Standing(direct=1.0, direct_cited=0.0, own=1.0)
    """
    found = [reference.text for reference in answer.references]
    cited = [reference.text for reference in answer.cited_references]
    return standing_in(direct, without_markers(without_notice(answer.text)), found, cited)


def standing_in(
    direct: str, own: str, references: Sequence[str], cited: Sequence[str] = ()
) -> Standing:
    """Measure the standing of texts, as `standing_of` does of answers.

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
    """Return the largest share of an answer's words that stand close together in one text.

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
