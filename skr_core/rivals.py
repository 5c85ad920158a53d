"""Answers as whoever chooses among them sees them, and how they stand in their references.

How an answer stands in references is found without a model: by its words that stand close together
in one of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from skr_core.candidates import CandidateAnswer, Confirmation, Standing
from skr_core.references.citations import without_markers
from skr_core.replies.refusals import without_notice
from skr_core.replies.reply import cited_numbers
from skr_core.texts import words
from skr_core.types import Answer, Generation, Reference

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
_ASKED_WITH = _SMALL | frozenset("who which what when where how did do does".split())
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


def candidate_of_draft(draft: str, references: Sequence[Reference]) -> CandidateAnswer:
    """Return what is known of a draft by itself.

    Args:
        draft: The draft, with its markers.
        references: The references in its prompt.

    Example:
        >>> found = candidate_of_draft("Ada [1].", [Reference.of("It was Ada.")])
        >>> found.text, found.grounded, found.standing and found.standing.own
        ('Ada.', True, 1.0)
    """
    text = without_markers(plain_text(draft))
    return CandidateAnswer(
        text,
        grounded=bool(cited_numbers(draft, len(references))),
        standing=standing_in("", text, [each.text for each in references]),
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


def confirmation_in(question: str, direct: str, found: Sequence[Reference]) -> Confirmation:
    """Measure how a direct answer stands in what a search for its question found.

    Args:
        question: The question, as it can be understood alone.
        direct: The direct answer.
        found: The references of the first search, best first.

    Example:
        >>> found = [Reference.of("It was built in 1889 by Eiffel.", "Eiffel Tower", score=2.0)]
        >>> seen = confirmation_in("Who built the Eiffel Tower?", "Gustave Eiffel", found)
        >>> seen.share, seen.rank, round(seen.covered, 2)
        (0.5, 1.0, 1.0)
    """
    if not found:
        return Confirmation()
    asked = {*words(question)} - _ASKED_WITH
    texts = [f"{each.title} {each.text}" for each in found]
    shares = [share_standing(direct, [text]) for text in texts]
    covered = [len(asked & {*words(text)}) / max(1, len(asked)) for text in texts]
    scores = [each.score or 0.0 for each in found]
    best, top = shares.index(max(shares)), scores[0] or 1.0
    stands = shares[best] > 0
    return Confirmation(
        share=shares[best],
        first=shares[0],
        rank=1 / (1 + best) if stands else 0.0,
        whole=sum(each == 1 for each in shares) / len(shares),
        asked=covered[best] if stands else 0.0,
        both=max(one * other for one, other in zip(shares, covered, strict=True)),
        covered=max(covered),
        score=scores[best] / top,
        second=scores[min(1, len(scores) - 1)] / top,
        last=scores[-1] / top,
        top=math.log1p(max(0.0, scores[0])),
    )


def holding(answer: str, found: Sequence[Reference]) -> list[Reference]:
    """Return the references in which all words of an answer stand together, best first.

    Example:
        >>> found = [Reference.of("Eiffel."), Reference.of("By Gustave Eiffel.")]
        >>> [each.text for each in holding("Gustave Eiffel", found)]
        ['By Gustave Eiffel.']
    """
    return [each for each in found if share_standing(answer, [f"{each.title} {each.text}"]) == 1]


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
