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
class Margins:
    """How much likelier the model finds the answer from references than its own.

    Attributes:
        prior: The difference without the references, in natural-log probability a token.
        binding: The difference with them, less what they alone make likely.
    """

    prior: float = 0.0
    binding: float = 0.0


@dataclass(frozen=True, slots=True)
class CandidateAnswer:
    """One of the answers to a question, among which an arbiter or a router chooses.

    Attributes:
        text: The answer without citation markers.
        reasoning: The chain of thought before it, where there is one.
        confidence: The confidence in it, on any scale; None where nothing states it.
        grounded: Whether it rests on references; None where that is not known.
        standing: How the direct answer and this one stand in its references; None where that is not
            known.
        margins: How much likelier the model finds it than the direct answer; None where that is
            not known.
    """

    text: str
    reasoning: str = ""
    confidence: float | None = None
    grounded: bool | None = None
    standing: Standing | None = None
    margins: Margins | None = None
