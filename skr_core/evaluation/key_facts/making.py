"""Key-facts of a question, made by a model in two steps (RaLLM §3) and reviewed by a person."""

from __future__ import annotations

from skr_core.answering import generate
from skr_core.errors import ModelError
from skr_core.evaluation.experiments.knowledge import complete
from skr_core.evaluation.key_facts.review import KeyFacts
from skr_core.flow import Flow
from skr_core.ports import LanguageModel
from skr_core.prompts.key_facts import ask_facts, ask_steps
from skr_core.questions import Question
from skr_core.replies.lists import parse_facts


def make_key_facts(model: LanguageModel, question: Question) -> Flow[KeyFacts]:
    """Reasoning steps, then the facts in them: two calls.

    The number of facts is not put right here: a person sees what the model wrote.

    Raises:
        ModelError: The model failed, or wrote no fact.

    Example:
        >>> from skr_core.flow import run
        >>> from skr_core.testing import ScriptedModel
        >>> model = ScriptedModel(["First, ...", "1. Jaws is by Spielberg.\\n2. He is from Ohio."])
        >>> run(make_key_facts(model, Question("1", "Where from?", ("Ohio",)))).facts
        ('Jaws is by Spielberg.', 'He is from Ohio.')
    """
    answer = "; ".join(question.gold)
    references = [each.reference for each in question.contexts] or complete(question)
    steps = yield from generate(model, ask_steps(question.question, references, answer))
    reply = yield from generate(model, ask_facts(question.question, steps.text, answer))
    facts = parse_facts(reply.text)
    if not facts:
        raise ModelError(f"the model wrote no key-fact for {question.question!r}")
    return KeyFacts(question.id, question.question, question.gold, facts, steps.text.strip())
