"""What a user says of a served answer, as a record that routers can learn from."""

from __future__ import annotations

from skr_core.errors import InputError
from skr_core.self_knowledge.records import SelfKnowledge, Stamp
from skr_core.types import Answer

UNSTAMPED = Stamp()


def record_of_feedback(
    answer: Answer, right: bool, *, expected_other: float, stamp: Stamp = UNSTAMPED
) -> SelfKnowledge:
    """A record of one answer that was served and judged.

    Only one of both answers was given, so the other's score is what is expected of it: its mean
    over the records collected. A right answer then counts for the way it was made, a wrong one
    against it, and the more, the less was to be expected. ``extra["imputed"]`` names the score that
    was not measured.

    Args:
        answer: What was served.
        right: What the user says of it.
        expected_other: Mean score of the way that was not taken, 0 to 1: of the augmented answers
            where the model answered directly, of the direct answers where it used references.
        stamp: Of the records that it joins.

    Raises:
        InputError: The expected score is not between 0 and 1.

    Example:
        >>> from skr_core.types import Decision
        >>> served = Answer("Who?", "Ada", (), (), Decision(False), (), "known", {})
        >>> record = record_of_feedback(served, False, expected_other=0.6)
        >>> record.effect, record.benefit
        ('helps', 0.6)
    """
    if not 0 <= expected_other <= 1:
        raise InputError(f"expected_other must be between 0 and 1, not {expected_other}")
    directly = answer.stop_reason == "known"
    score = float(right)
    return SelfKnowledge(
        question=answer.question,
        gold=(),
        direct_answer=answer.text if directly else "",
        augmented_answer="" if directly else answer.text,
        direct_score=score if directly else expected_other,
        augmented_score=expected_other if directly else score,
        stamp=stamp,
        extra={"imputed": "augmented_score" if directly else "direct_score", "feedback": right},
    )
