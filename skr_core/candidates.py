"""CandidateAnswer: an answer to a question as whoever chooses among several sees it.

`skr_core.rivals` makes them of what a system answered.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Standing:
    """How answers stand in the references of one of them, each between 0 and 1.

    Attributes:
        direct: The share of the direct answer's words that stand together in a reference.
        direct_cited: That share in the references that the answer cites.
        own: The share of the answer's own words that stand together in a reference.
    """

    direct: float = 0.0
    direct_cited: float = 0.0
    own: float = 0.0


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What the first search found for a question, and how the direct answer stands in it.

    A share of the answer is that of its words which stand together in a passage; the best
    passage is the first of the largest share.

    Attributes:
        share: The share of the best passage, 0 to 1.
        first: The share of the first passage.
        rank: 1 over the best passage's rank; 0 where no word stands in any.
        whole: The share of the passages in which the whole answer stands.
        asked: The share of the question's words that stand in the best passage.
        both: The largest product of a passage's shares of the answer and of the question's words.
        covered: The largest share of the question's words that stand in a passage.
        score: The best passage's score over the first one's; so are the next two.
        second: The second passage's.
        last: The last passage's.
        top: The logarithm of 1 and the first passage's score.
    """

    share: float = 0.0
    first: float = 0.0
    rank: float = 0.0
    whole: float = 0.0
    asked: float = 0.0
    both: float = 0.0
    covered: float = 0.0
    score: float = 0.0
    second: float = 0.0
    last: float = 0.0
    top: float = 0.0


@dataclass(frozen=True, slots=True)
class CandidateAnswer:
    """One of the answers to a question, among which an arbiter or a router chooses.

    Attributes:
        text: The answer without citation markers.
        confidence: The confidence in it, on any scale; None where nothing states it.
        grounded: Whether it rests on references; None where that is not known.
        standing: How the direct answer and this one stand in its references; None where that is not
            known.
        confirmation: Of the direct answer, how it stands in what the first search found; None where
            nothing has been searched for.
    """

    text: str
    confidence: float | None = None
    grounded: bool | None = None
    standing: Standing | None = None
    confirmation: Confirmation | None = None
