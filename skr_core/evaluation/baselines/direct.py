"""Without retrieval: zero-shot, few-shot and their chains of thought (SKR Table 1)."""

from __future__ import annotations

from collections.abc import Sequence

from skr_core.answering import generate
from skr_core.evaluation.baselines.parts import concluded, spend
from skr_core.flow import Flow
from skr_core.ports import LanguageModel
from skr_core.prompts.baselines import ANSWER_LEAD, RECITE, STEP_BY_STEP, ask
from skr_core.types import Answer, Demonstration, Prompt, Usage


def zero_shot(model: LanguageModel, question: str) -> Flow[Answer]:
    """The question alone."""
    return (yield from few_shot(model, question, ()))


def few_shot(
    model: LanguageModel, question: str, demonstrations: Sequence[Demonstration]
) -> Flow[Answer]:
    """The question after worked examples.

    With short answers this is Few-Shot; with reasoning that ends in "the answer is" it is
    Manual-CoT (Wei et al. 2022), and with reasoning by the model itself Auto-CoT.

    Example:
        >>> from skr_core.flow import run
        >>> from skr_core.testing import ScriptedModel
        >>> model = ScriptedModel(["It is the capital. So the answer is Paris."])
        >>> run(few_shot(model, "Largest city of France?", [])).text
        'Paris.'
    """
    reply = yield from generate(model, ask(question, demonstrations))
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
    prompt = RECITE.format(demonstrations="", question=question)
    passage = yield from generate(model, Prompt("answer_directly", prompt, question))
    spend(spent, "recite", passage.usage)
    recited = " ".join(passage.text.split())
    reply = yield from generate(model, ask(f"{recited}\n{question}", demonstrations))
    spend(spent, "answer_directly", reply.usage)
    return concluded(question, reply.text, spent)
