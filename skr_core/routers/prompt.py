"""PromptRouter: asks the model whether it needs help (SKR §3.2, Direct Prompting)."""

from __future__ import annotations

from typing import Any, ClassVar

from skr_core.answering import generate
from skr_core.errors import InputError
from skr_core.flow import Flow
from skr_core.models.adapting import AnyModel
from skr_core.prompts.routing import NEED_TEMPLATES, NeedTemplate, ask_need
from skr_core.replies.certainty import parse_need
from skr_core.routers.model_router import ModelRouter, quoted
from skr_core.types import Decision, Generation


class PromptRouter(ModelRouter):
    """Asks one question about the question, one of the five of SKR Table 2.

    A reply that says neither yes nor no leads to retrieval, which is the safe side.

    Args:
        model: The one that would answer.
        template: Its place in the table, from 0, or its name: ``additional_information``,
            ``extra_prompts``, ``additional_clues``, ``can_answer``, ``can_solve``.

    Raises:
        InputError: There is no such template.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> router = PromptRouter(ScriptedModel(["No, I don't need any."]))
        >>> router.decide("What is the capital of France?").retrieve
        False
    """

    kind: ClassVar[str] = "prompt"

    def __init__(self, model: AnyModel, *, template: int | str = 0) -> None:
        super().__init__(model)
        self._template = need_template(template)

    def _decision(self, question: str) -> Flow[Decision]:
        reply = yield from generate(self._model, ask_need(question, self._template))
        return decision_of(reply, self._template)

    def _parameters(self) -> dict[str, Any]:
        return {"template": self._template.name}


def need_template(template: int | str) -> NeedTemplate:
    """Find a template by its place in SKR Table 2, from 0, or by its name.

    Raises:
        InputError: There is no such template.

    Example:
        >>> need_template(3).name
        'can_answer'
    """
    for place, each in enumerate(NEED_TEMPLATES):
        if template in (place, each.name):
            return each
    names = ", ".join(each.name for each in NEED_TEMPLATES)
    raise InputError(f"no template {template!r}: give 0 to {len(NEED_TEMPLATES) - 1} or {names}")


def decision_of(reply: Generation, template: NeedTemplate) -> Decision:
    """Read the decision from a reply to a template (SKR Table 2).

    Example:
        >>> decision_of(Generation("No, I cannot."), NEED_TEMPLATES[3]).retrieve
        True
    """
    need = parse_need(reply.text, yes_means_unknown=template.yes_means_unknown)
    if need is None:
        reason = (
            f"the model said neither yes nor no, so it is safer to retrieve: {quoted(reply.text)}"
        )
        return Decision(True, reason=reason, usage=reply.usage)
    claim = "it needs help" if need else "it can answer by itself"
    return Decision(need, reason=f"the model says {claim}: {quoted(reply.text)}", usage=reply.usage)
