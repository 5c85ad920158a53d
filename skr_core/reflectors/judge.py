"""JudgeReflector: a separate call of a model judges the draft."""

from __future__ import annotations

from collections.abc import Sequence

from skr_core.answering import generate
from skr_core.flow import Flow, arun, run
from skr_core.models.adapting import AnyModel, as_language_model
from skr_core.prompts.judging import ask_is_sufficient, judge_name
from skr_core.replies.judgements import parse_sufficient
from skr_core.replies.refusals import is_refusal
from skr_core.types import Reference, Reflection


class JudgeReflector:
    """Asks a model, which may be another than the one that answers, for a verdict.

    A draft that refuses is insufficient without a call. A reply that gives no verdict counts as
    sufficient, so that a judge that cannot follow its instructions does not burn the budget.

    Args:
        model: The judge.

    Attributes:
        name: Of the model and the wording, for the stamp of what is made with it.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> judge = JudgeReflector(ScriptedModel(["insufficient: the birthplace"]))
        >>> judge.reflect("Where was she born?", [], "In spring.").missing
        'the birthplace'
    """

    def __init__(self, model: AnyModel) -> None:
        self._model = as_language_model(model)
        self.name = judge_name(self._model.name)

    def reflect(self, question: str, references: Sequence[Reference], draft: str) -> Reflection:
        """Judge with a blocking call."""
        return run(self._reflection(question, references, draft))

    async def areflect(
        self, question: str, references: Sequence[Reference], draft: str
    ) -> Reflection:
        """Judge with an awaited call."""
        return await arun(self._reflection(question, references, draft))

    def _reflection(
        self, question: str, references: Sequence[Reference], draft: str
    ) -> Flow[Reflection]:
        if is_refusal(draft):
            return Reflection(False, "the model finds the references insufficient")
        reply = yield from generate(self._model, ask_is_sufficient(question, references, draft))
        verdict = parse_sufficient(reply.text)
        if verdict is None:
            return Reflection(True, "the judge gave no verdict", usage=reply.usage)
        sufficient, missing = verdict
        reason = "the judge finds the references " + (
            "sufficient" if sufficient else "insufficient"
        )
        return Reflection(sufficient, reason, missing, reply.usage)
