"""UncertaintyRouter: how sure the model is of its tokens, or how well its samples agree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any, ClassVar

from skr_core.answering import answer_directly
from skr_core.errors import InputError
from skr_core.flow import Flow, arun, gather, run
from skr_core.match import token_f1
from skr_core.models.adapting import AnyModel
from skr_core.prompts.asking import checked_question
from skr_core.replies.refusals import says_unknown
from skr_core.routers.model_router import ModelRouter, quoted
from skr_core.types import NO_USAGE, Decision, Generation


class UncertaintyRouter(ModelRouter):
    """Answers directly and retrieves where that answer was unlikely, or one of many.

    Where the provider returns log-probabilities, the score is one minus the probability of an
    average token. Where it does not, more answers are sampled, and the score is one minus their
    mean agreement in words; a model that always says the same (temperature 0) then never retrieves.
    An answer that says it does not know scores 1. SKR and W2R have no such router: it is the usual
    baseline.

    Args:
        model: The one that would answer.
        threshold: Retrieval happens where the score is above it; calibrate it on records.
        samples: Answers compared where there are no log-probabilities, the first included.

    Raises:
        InputError: The threshold is not between 0 and 1, or there are fewer than 2 samples.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> router = UncertaintyRouter(ScriptedModel(["Paris.", "Lyon."]), samples=2)
        >>> router.decide("What is the capital of Lydia?").score
        1.0
    """

    kind: ClassVar[str] = "uncertainty"
    drafts = True

    def __init__(self, model: AnyModel, *, threshold: float = 0.5, samples: int = 5) -> None:
        super().__init__(model)
        if not 0 <= threshold <= 1:
            raise InputError(f"threshold must be between 0 and 1, not {threshold}")
        if samples < 2:
            raise InputError(f"samples must be at least 2, not {samples}: one agrees with itself")
        self._threshold, self._samples = threshold, samples

    def decide_on(self, question: str, direct: Generation) -> Decision:
        """Decide when the direct answer is there already, with blocking calls."""
        return run(self._decision_on(checked_question(question), direct))

    async def adecide_on(self, question: str, direct: Generation) -> Decision:
        """The same, with awaited calls."""
        return await arun(self._decision_on(checked_question(question), direct))

    def _decision(self, question: str) -> Flow[Decision]:
        direct = yield from answer_directly(self._model, question)
        return (yield from self._decision_on(question, direct))

    def _decision_on(self, question: str, direct: Generation) -> Flow[Decision]:
        answers = [direct]
        likely = token_probability(direct)
        if says_unknown(direct.text):
            score, ground = 1.0, "the model says that it does not know"
        elif likely is not None:
            score, ground = 1 - likely, f"an average token has probability {likely:.2f}"
        else:
            answers += yield from gather(
                answer_directly(self._model, question, sample=number)
                for number in range(1, self._samples)
            )
            agreed = agreement([answer.text for answer in answers])
            score, ground = 1 - agreed, f"{len(answers)} answers agree to {agreed:.0%}"
        return Decision(
            retrieve=score > self._threshold,
            score=score,
            threshold=self._threshold,
            reason=f"{ground}: {quoted(direct.text)}",
            usage=sum((answer.usage for answer in answers), NO_USAGE),
            draft=direct.text,
        )

    def _parameters(self) -> dict[str, Any]:
        return {"threshold": self._threshold, "samples": self._samples}


def token_probability(answer: Generation) -> float | None:
    """The geometric mean of an answer's token probabilities; None where they are not known.

    Example:
        >>> token_probability(Generation("Paris", logprobs=(0.0, 0.0)))
        1.0
    """
    mean = answer.mean_logprob
    return None if mean is None else math.exp(min(0.0, mean))


def agreement(answers: Sequence[str]) -> float:
    """Mean word F1 over all pairs of answers, 0 to 1; one that knows nothing agrees with none.

    Example:
        >>> agreement(["Paris.", "paris", "Lyon"])
        0.3333333333333333
    """
    pairs = [
        0.0 if says_unknown(one) or says_unknown(other) else token_f1(one, [other])
        for one, other in combinations(answers, 2)
    ]
    return math.fsum(pairs) / len(pairs)
