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
class CandidateAnswer:
    """One of the answers to a question, among which an arbiter or a router chooses.

    Attributes:
        text: The answer without citation markers.
        confidence: The confidence in it, on any scale; None where nothing states it.
        grounded: Whether it rests on references; None where that is not known.
        standing: How the direct answer and this one stand in its references; None where that is not
            known.
    """

    text: str
    confidence: float | None = None
    grounded: bool | None = None
    standing: Standing | None = None
