"""Without retrieval: zero-shot, few-shot and their chains of thought (SKR Table 1)."""

from __future__ import annotations

from collections.abc import Sequence

from skr_core.answering import generate
from skr_core.flow import Flow
from skr_core.ports import LanguageModel
from skr_core.prompts import asking as prompts
from skr_core.prompts.templates import PromptTemplates
from skr_core.types import Answer, Demonstration, Usage
from skr_lab.baselines.parts import concluded, spend
from skr_lab.prompts.baselines import (
    ANSWER_LEAD,
    STEP_BY_STEP,
    ask,
    ask_after_reciting,
    ask_recitation,
)


def zero_shot(
    model: LanguageModel, question: str, templates: PromptTemplates | None = None
) -> Flow[Answer]:
    """The question alone."""
    return (yield from few_shot(model, question, (), templates))


def few_shot(
    model: LanguageModel,
    question: str,
    demonstrations: Sequence[Demonstration],
    templates: PromptTemplates | None = None,
) -> Flow[Answer]:
    """The question after worked examples.

    With short answers this is Few-Shot; with reasoning that ends in "the answer is" it is
    Manual-CoT (Wei et al. 2022), and with reasoning by the model itself Auto-CoT.

    Args:
        model: Answers.
        question: The user's question.
        demonstrations: Worked examples.
        templates: The words of a run, in place of the papers' own.

    Example:
        >>> from skr_core.flow import run
        >>> from skr_core.testing import ScriptedModel
        >>> model = ScriptedModel(["It is the capital. So the answer is Paris."])
        >>> run(few_shot(model, "Largest city of France?", [])).text
        'Paris.'
    """
    prompt = ask(question, demonstrations)
    if templates is not None:
        prompt = prompts.answer_directly(question, demonstrations, templates=templates)
    reply = yield from generate(model, prompt)
    return concluded(question, reply.text, {"answer_directly": reply.usage})


def zero_shot_cot(model: LanguageModel, question: str) -> Flow[Answer]:
    """Let it think, then ask for the answer (Kojima et al. 2022): two calls."""
    spent: dict[str, Usage] = {}
    thought = yield from generate(model, ask(question, lead=STEP_BY_STEP))
    spend(spent, "answer_directly", thought.usage)
    lead = f"{STEP_BY_STEP} {thought.text.strip()}\n{ANSWER_LEAD}"
    reply = yield from generate(model, ask(question, lead=lead))
    spend(spent, "answer_directly", reply.usage)
    return concluded(question, reply.text, spent)


def recite_and_answer(
    model: LanguageModel, question: str, demonstrations: Sequence[Demonstration]
) -> Flow[Answer]:
    """Recite a passage from memory, then answer from it (Sun et al. 2022): two calls."""
    spent: dict[str, Usage] = {}
    passage = yield from generate(model, ask_recitation(question, demonstrations))
    spend(spent, "recite", passage.usage)
    prompt = ask_after_reciting(question, passage.text, demonstrations)
    reply = yield from generate(model, prompt)
    spend(spent, "answer_directly", reply.usage)
    return concluded(question, reply.text, spent)
