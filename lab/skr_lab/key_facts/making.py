"""Key-facts of a question, made by a model in two steps (RaLLM §3) and reviewed by a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from skr_core.answering import generate
from skr_core.errors import DataError, ModelError
from skr_core.files import read_jsonl
from skr_core.flow import Flow
from skr_core.ports import LanguageModel
from skr_core.questions import Question
from skr_core.replies.opening import without_thoughts
from skr_core.replies.queries import parse_facts
from skr_core.replies.refusals import is_refusal
from skr_lab.experiments.knowledge import complete
from skr_lab.key_facts.remarks import remarks_on
from skr_lab.key_facts.review import KeyFacts
from skr_lab.prompts.key_facts import WorkedSteps, ask_facts, ask_steps

SHOWN = 120
"""Characters of a refusal in the error."""


def make_key_facts(
    model: LanguageModel, question: Question, demonstrations: Sequence[WorkedSteps] = ()
) -> Flow[KeyFacts]:
    """Reasoning steps, then the facts in them: two calls.

    Nothing is put right here: a person sees what the model wrote, with remarks on what to look at.

    Args:
        model: Reasons, and names the facts.
        question: With its answer, and its contexts where it has some.
        demonstrations: Of the reasoning.

    Raises:
        ModelError: The model failed, refused, or wrote no fact.

    Example:
        >>> from skr_core.flow import run
        >>> from skr_core.testing import ScriptedModel
        >>> model = ScriptedModel(["First, ...", "1. Jaws is by Spielberg.\\n2. He is from Ohio."])
        >>> run(make_key_facts(model, Question("1", "Where from?", ("Ohio",)))).facts
        ('Jaws is by Spielberg.', 'He is from Ohio.')
    """
    answer = "; ".join(question.gold)
    references = [each.reference for each in question.contexts] or complete(question)
    generation = yield from generate(
        model, ask_steps(question.question, references, answer, demonstrations)
    )
    steps = without_thoughts(generation.text).strip()
    _check([steps], question)
    generation = yield from generate(model, ask_facts(question.question, steps, answer))
    said = without_thoughts(generation.text)
    facts = parse_facts(said)
    _check([said, *facts], question)
    if not facts:
        raise ModelError(f"the model wrote no key-fact for {question.question!r}")
    remarks = remarks_on(facts, question.gold, references)
    return KeyFacts(question.id, question.question, question.gold, facts, steps, remarks)


def read_worked_steps(path: str | Path) -> list[WorkedSteps]:
    """Worked examples of reasoning, from a JSONL file.

    A line holds ``question``, ``answer``, ``reasoning``, and ``contexts`` where given, each with a
    ``text``.

    Raises:
        InputError: There is no such file.
        DataError: A line is broken, or there is none.
    """
    found: list[WorkedSteps] = []
    for number, row in read_jsonl(path):
        match row:
            case {"question": str(asked), "answer": str(answer), "reasoning": str(steps)}:
                contexts = row.get("contexts")
                texts = [
                    each.get("text") if isinstance(each, Mapping) else None
                    for each in (contexts if isinstance(contexts, list) else ())
                ]
                passages = tuple(text for text in texts if isinstance(text, str))
                found.append(WorkedSteps(asked, answer, steps.strip(), passages))
            case _:
                raise DataError(path, number, 'a line holds "question", "answer" and "reasoning"')
    if not found:
        raise DataError(path, None, "there is no worked example in this file")
    return found


def _check(texts: Sequence[str], question: Question) -> None:
    refusal = next((each for each in texts if each.strip() and is_refusal(each)), None)
    if refusal is not None:
        raise ModelError(
            f"the model refuses to make key-facts for {question.question!r}: "
            f"{' '.join(refusal.split())[:SHOWN]}"
        )
