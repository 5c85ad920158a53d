"""Routers by the certainty that the model states of its own answer (W2R §5 and §6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from skr_core.answering import generate
from skr_core.errors import InputError
from skr_core.flow import Flow, arun, gather, run
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
from skr_core.routers.model_routers import ModelRouter, quoted
from skr_core.types import Decision, Usage


@dataclass(frozen=True, slots=True)
class Assessment:
    """What a model says about a question and about its own answer.

    Attributes:
        answer: The answer without references; None where the model gave none.
        certain: The certainty that the model states; None where it states none.
        said: The reply that states the certainty, in full.
        usage: The usage of asking.
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
        model: The model that would answer.
        strategy: The way it is asked: ``vanilla``, ``punish``, ``challenge`` (a second turn that
            doubts the answer), ``think_step_by_step``, ``generate``, ``explain`` or
            ``punish_explain``, which W2R finds the best balance.

    Raises:
        InputError: There is no such strategy.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> router = ConfidenceRouter(ScriptedModel(["China (certain) - Pandas live there."]))
        >>> router.decide("Of which country is the panda a national animal?").retrieve
        False
    """

    kind: ClassVar[str] = "confidence"
    parameter: ClassVar[str] = "strategy"

    def __init__(self, model: AnyModel, *, strategy: Strategy = "punish_explain") -> None:
        super().__init__(model)
        if strategy not in STRATEGIES:
            raise InputError(f"no strategy {strategy!r}: give one of {', '.join(STRATEGIES)}")
        self._strategy = strategy

    def assess(self, question: str) -> Assessment:
        """Ask for answer and certainty, and once more for either where it is missing.

        Example:
            >>> from skr_core.testing import ScriptedModel
            >>> ConfidenceRouter(ScriptedModel(["1972. Certain."])).assess("When?").answer
            '1972'
        """
        return run(assessment(self._model, checked_question(question), self._strategy))

    async def aassess(self, question: str) -> Assessment:
        """Async version of `assess`."""
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
        model: The model that is asked.
        question: The question, as it is asked.
        strategy: The way it is asked.
        answer_needed: Whether a missing answer is asked for again; a decision needs the certainty
            alone.

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


HIGHEST_LEVEL = 3


class CertaintyLevelRouter(ModelRouter):
    """Asks by Vanilla and by Punish+Explain, side by side, and retrieves at low levels.

    Both uncertain is level 0, only Vanilla uncertain 1, only Vanilla certain 2, both certain 3. The
    levels score 1, 2/3, 1/3 and 0. W2R finds that models lean on references less, the higher it is.

    Args:
        model: The model that would answer.
        threshold: The score above which it retrieves: 0.5 retrieves at levels 0 and 1, 0.8 at
            level 0, 0.2 at all but level 3.

    Raises:
        InputError: The threshold is not between 0 and 1.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> router = CertaintyLevelRouter(ScriptedModel(["Paris (certain)"]))
        >>> router.decide("What is the capital of France?").score
        0.0
    """

    kind: ClassVar[str] = "certainty_level"

    def __init__(self, model: AnyModel, *, threshold: float = 0.5) -> None:
        super().__init__(model)
        if not 0 <= threshold <= 1:
            raise InputError(f"threshold must be between 0 and 1, not {threshold}")
        self._threshold = threshold

    def _decision(self, question: str) -> Flow[Decision]:
        vanilla, prudent = yield from gather(
            [
                assessment(self._model, question, "vanilla", answer_needed=False),
                assessment(self._model, question, "punish_explain", answer_needed=False),
            ]
        )
        level = certainty_level(bool(vanilla.certain), bool(prudent.certain))
        score = 1 - level / HIGHEST_LEVEL
        return Decision(
            retrieve=score > self._threshold,
            score=score,
            threshold=self._threshold,
            reason=f"certainty level {level} of {HIGHEST_LEVEL}: "
            f"{quoted(vanilla.said)}, {quoted(prudent.said)}",
            usage=vanilla.usage + prudent.usage,
            draft=prudent.answer or vanilla.answer or "",
        )

    def _parameters(self) -> dict[str, Any]:
        return {"threshold": self._threshold}


def certainty_level(vanilla: bool, prudent: bool) -> int:
    """Return the level of two statements of certainty, 0 to 3 (W2R §5.1).

    Args:
        vanilla: Whether it is certain when asked by Vanilla.
        prudent: Whether it is certain when asked by Punish+Explain.

    Example:
        >>> certainty_level(True, False)
        2
    """
    return 2 * vanilla + prudent
