"""MarginArbiter: which answer to serve by the model's own likelihoods, without records."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from skr_core.candidates import CandidateAnswer
from skr_core.replies.refusals import is_refusal
from skr_core.types import Action, Verdict
from skr_learn.arbiters.answers import agree

WEIGHT = 0.5
"""Of the binding margin beside the prior one, as in the paper."""
THRESHOLD = -1.5
"""The sum above which the answer from references is served, as in the paper."""


class MarginArbiter:
    """Serves the answer from references unless the model finds its own much likelier.

    The rule of TrustMargin (arXiv 2606.08397), which learns nothing: the answer from references is
    served where ``prior + weight * binding > threshold``, see `skr_core.rivals`.
    Its likelihoods are those of ``Settings(likelihoods=...)``; where they are not known, as where
    the budget has no calls left for them, the answer from references stands. So it does where the
    model's own refuses.

    The chances of its verdict are one half at the threshold and otherwise not calibrated.

    Args:
        weight: Of the binding margin.
        threshold: Of the sum.

    Example:
        >>> from skr_core.rivals import Margins
        >>> answers = {
        ...     "direct": CandidateAnswer("Lyon"),
        ...     "loop": CandidateAnswer("Paris", margins=Margins(prior=-4.0, binding=0.5)),
        ... }
        >>> MarginArbiter().judge("Capital?", answers).served
        'direct'
    """

    actions: Sequence[Action] = ("direct", "loop")
    needs_likelihoods = True

    def __init__(self, *, weight: float = WEIGHT, threshold: float = THRESHOLD) -> None:
        self.weight, self.threshold = weight, threshold

    def judge(self, question: str, answers: Mapping[Action, CandidateAnswer]) -> Verdict:
        """Which of the two to serve."""
        direct, loop = answers["direct"], answers["loop"]
        if agree(direct.text, loop.text):
            return _verdict("loop", 0.5, "all answers agree")
        if is_refusal(direct.text):
            return _verdict("loop", 1.0, "the direct answer refuses")
        if is_refusal(loop.text):
            return _verdict("direct", 0.0, "the answer of the loop refuses")
        margins = loop.margins
        if margins is None:
            return _verdict("loop", 0.5, "the likelihoods of the answers are not known")
        total = margins.prior + self.weight * margins.binding
        chance = 1 / (1 + math.exp(min(700.0, self.threshold - total)))
        served: Action = "loop" if total > self.threshold else "direct"
        return _verdict(
            served,
            chance,
            f"the answer of the loop has a margin of {total:+.2f} in log-likelihood a token; above "
            f"{self.threshold:+.2f} it is served",
        )

    async def ajudge(self, question: str, answers: Mapping[Action, CandidateAnswer]) -> Verdict:
        """The same; nothing is awaited, because nothing is called."""
        return self.judge(question, answers)


def _verdict(served: Action, chance: float, reason: str) -> Verdict:
    return Verdict(served, {"direct": 1 - chance, "loop": chance}, reason)
