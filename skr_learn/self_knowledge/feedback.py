"""What a user says of a served answer, as a record that routers can learn from."""

from __future__ import annotations

from skr_core.errors import InputError
from skr_core.types import Action, Answer, Stamp
from skr_learn.self_knowledge.records import Outcome, SelfKnowledge

UNSTAMPED = Stamp()


def record_of_feedback(
    answer: Answer, right: bool, *, expected_other: float, stamp: Stamp = UNSTAMPED
) -> SelfKnowledge:
    """A record of one answer that was served and judged.

    Only one action was taken, so the score of the other one is what is expected of it: its mean
    over the records collected. A right answer then counts for the action that was taken, a wrong
    one against it, and the more, the less was to be expected. ``extra["imputed"]`` names the action
    whose score was not measured.

    Args:
        answer: What was served.
        right: What the user says of it.
        expected_other: Mean score of the action that was not taken, 0 to 1: of retrieving where the
            model answered directly, of answering directly where it used references.
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
    taken = answer.decision.action
    other: Action = "loop" if taken == "direct" else "direct"
    served = Outcome(
        answer.text,
        float(right),
        answer.total_usage.uncached,
        retrievals=float(sum(len(round_.queries) for round_ in answer.rounds)),
        rounds=len(answer.rounds),
        stop_reason=answer.stop_reason,
        logprob=answer.logprob,
    )
    return SelfKnowledge(
        question=answer.question,
        gold=(),
        outcomes={taken: served, other: Outcome("", expected_other)},
        stamp=stamp,
        extra={"imputed": other, "feedback": right},
    )
