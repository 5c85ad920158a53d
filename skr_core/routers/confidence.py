"""ConfidenceRouter: asks for an answer with its certainty, retrieves where uncertain (W2R §6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from skr_core.answering import generate
from skr_core.errors import InputError
from skr_core.flow import Flow, arun, run
from skr_core.models.adapting import AnyModel
from skr_core.ports import LanguageModel
from skr_core.prompts.asking import checked_question
from skr_core.prompts.routing import (
    ANSWER_ALONE,
    CERTAINTY_ALONE,
    CHALLENGE,
    STRATEGIES,
    Strategy,
    ask_certainty,
    ask_further,
)
from skr_core.replies.certainty import parse_certainty
from skr_core.routers.model_router import ModelRouter, quoted
from skr_core.types import Decision, Usage


@dataclass(frozen=True, slots=True)
class Assessment:
    """What a model says about a question and about its own answer.

    Attributes:
        answer: Given without references; None where the model gave none.
        certain: What the model said; None where it said neither.
        said: The reply that states the certainty, in full.
        usage: What asking cost.
    """

    answer: str | None
    certain: bool | None
    said: str
    usage: Usage


class ConfidenceRouter(ModelRouter):
    """Retrieves where the model is not certain of its own answer.

    A certainty that the reply lacks is asked for once more; where the second reply lacks it too,
    retrieving is the safe side. The answer whose certainty was stated is the decision's draft,
    which is served where the model is certain.

    Args:
        model: The one that would answer.
        strategy: How it is asked: ``vanilla``, ``punish``, ``challenge`` (a second turn that doubts
            the answer), ``think_step_by_step``, ``generate``, ``explain`` or ``punish_explain``,
            which W2R finds the best balance.

    Raises:
        InputError: There is no such strategy.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> router = ConfidenceRouter(ScriptedModel(["China (certain) - Pandas live there."]))
        >>> router.decide("Of which country is the panda a national animal?").retrieve
        False
    """

    kind: ClassVar[str] = "confidence"

    def __init__(self, model: AnyModel, *, strategy: Strategy = "punish_explain") -> None:
        super().__init__(model)
        if strategy not in STRATEGIES:
            raise InputError(f"no strategy {strategy!r}: give one of {', '.join(STRATEGIES)}")
        self._strategy = strategy

    def assess(self, question: str) -> Assessment:
        """Answer and certainty, with blocking calls; asks once more for either where it is missing.

        Example:
            >>> from skr_core.testing import ScriptedModel
            >>> ConfidenceRouter(ScriptedModel(["1972. Certain."])).assess("When?").answer
            '1972'
        """
        return run(assessment(self._model, checked_question(question), self._strategy))

    async def aassess(self, question: str) -> Assessment:
        """The same, with awaited calls."""
        return await arun(assessment(self._model, checked_question(question), self._strategy))

    def _decision(self, question: str) -> Flow[Decision]:
        found = yield from assessment(self._model, question, self._strategy, answer_needed=False)
        claim = {True: "is certain", False: "is uncertain", None: "states no certainty"}
        reason = f"the model {claim[found.certain]}: {quoted(found.said)}"
        # W2R serves the answer whose certainty was stated: a known question costs no further call.
        return Decision(
            not found.certain, reason=reason, usage=found.usage, draft=found.answer or ""
        )

    def _parameters(self) -> dict[str, Any]:
        return {"strategy": self._strategy}


def assessment(
    model: LanguageModel, question: str, strategy: Strategy, *, answer_needed: bool = True
) -> Flow[Assessment]:
    """Ask for an answer and its certainty, and once more for each that is missing (W2R §3.1).

    Args:
        model: The one that is asked.
        question: What it is asked.
        strategy: How.
        answer_needed: Ask again for a missing answer; a decision needs the certainty alone.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> run(assessment(ScriptedModel(["1972", "uncertain"]), "When?", "vanilla")).certain
        False
    """
    asked = ask_certainty(question, strategy)
    reply = yield from generate(model, asked)
    usage, first = reply.usage, parse_certainty(reply.text)
    answer, certain, said = first.answer, first.certain, reply.text
    if answer is None and answer_needed:
        again = yield from generate(model, ask_further(asked, reply.text, ANSWER_ALONE))
        usage += again.usage
        answer = parse_certainty(again.text).answer
    if strategy == "challenge":
        # The answer stays the first one (Figure 5): the second turn asks for certainty alone.
        asked, before = ask_further(asked, reply.text, CHALLENGE), reply
        reply = yield from generate(model, asked)
        usage += reply.usage
        certain, said = parse_certainty(reply.text).certain, reply.text or before.text
    if certain is None:
        again = yield from generate(model, ask_further(asked, reply.text, CERTAINTY_ALONE))
        usage += again.usage
        certain, said = parse_certainty(again.text).certain, again.text or said
    return Assessment(answer, certain, said, usage)
