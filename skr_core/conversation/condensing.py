"""The question on its own, asked of the model; where that fails, the question as it is.

Example:
    >>> from skr_core.flow import run
    >>> from skr_core.testing import ScriptedModel
    >>> turns = ("What is the capital of France?", "Paris.")
    >>> model = ScriptedModel(["Standalone question: Which river flows through Paris?"])
    >>> run(condense(model, "And its river?", turns)).question
    'Which river flows through Paris?'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skr_core.answering import generate
from skr_core.budget import Budget
from skr_core.conversation.leaning import leans_on_history
from skr_core.errors import ModelError
from skr_core.flow import Flow
from skr_core.ports import LanguageModel
from skr_core.prompts import asking as prompts
from skr_core.prompts.templates import DEFAULT_TEMPLATES, PromptTemplates
from skr_core.references.packing import fast_tokens
from skr_core.replies.condensed import read_condensed
from skr_core.types import NO_USAGE, Usage


@dataclass(frozen=True, slots=True)
class Condensed:
    """A question without its conversation.

    Attributes:
        question: As it can be routed and searched.
        usage: What asking for it cost.
        error: Why the question was left as it is, where that was not the model's choice; else
            empty.
    """

    question: str
    usage: Usage = NO_USAGE
    error: str = ""


def is_needed(question: str, turns: Sequence[str], budget: Budget) -> bool:
    """Whether a question is worth a call that rewrites it: it leans on turns that there are.

    A budget that such a call would use up is kept for the answer.

    Example:
        >>> is_needed("And its river?", ["Capital of France?", "Paris."], Budget())
        True
        >>> is_needed("And its river?", [], Budget())
        False
    """
    if not turns or not leans_on_history(question):
        return False
    # The answer is shown the turns as well.
    shown = 2 * sum(map(fast_tokens, turns))
    return not budget.spent(Usage(shown, calls=1), seconds=0.0)


def condense(
    model: LanguageModel,
    question: str,
    turns: Sequence[str],
    *,
    templates: PromptTemplates = DEFAULT_TEMPLATES,
) -> Flow[Condensed]:
    """Ask for the question as it would be asked without the turns before it; one call.

    Args:
        model: Rewrites it. One that fails, or whose reply holds no such question, changes nothing.
        question: As the user asked it.
        turns: Before it, user and assistant in turn.
        templates: The words to ask in.
    """
    prompt = prompts.condense(question, turns, templates=templates)
    try:
        generation = yield from generate(model, prompt)
    except ModelError as failure:
        return Condensed(question, error=f"the question was not condensed: {failure}")
    said = "" if generation.is_cut_off else read_condensed(generation.text, question, turns)
    if not said:
        error = "the question was not condensed: the model's reply holds no question of its kind"
        return Condensed(question, generation.usage, error)
    return Condensed(said, generation.usage)
