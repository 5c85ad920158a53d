"""Knowledge conditions: which references an answer is given, by design (RaLLM §6.3, W2R §5)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from skr_core.answering import answer_anyway, answer_directly, answer_with_references
from skr_core.errors import ModelError
from skr_core.flow import Flow
from skr_core.ports import LanguageModel
from skr_core.prompts.templates import DEFAULT_TEMPLATES, REFUSAL, PromptTemplates
from skr_core.questions import Question
from skr_core.references.citations import resolve_citations
from skr_core.replies.opening import strip_thoughts
from skr_core.replies.refusals import is_refusal
from skr_core.replies.reply import read_reply
from skr_core.texts import encodable
from skr_core.types import Answer, Decision, Generation, Reference, Reflection, Round
from skr_learn.metrics.reliance import corrupt


def answer_given(
    model: LanguageModel,
    question: Question,
    references: Sequence[Reference],
    *,
    may_refuse: bool = False,
    templates: PromptTemplates = DEFAULT_TEMPLATES,
) -> Flow[Answer]:
    """Answer from exactly these references, with one call; from none, from what the model knows.

    Args:
        model: Answers.
        question: What is asked.
        references: What it is given.
        may_refuse: Ask for the refusal sentence where the references lack something (RaLLM §5.1);
            without it the model has to answer, as in the papers' experiments on knowledge.
        templates: The words to ask in.

    Raises:
        ModelError: The model failed, or said nothing but what it thought.

    Example:
        >>> from skr_core.flow import run
        >>> from skr_core.testing import ScriptedModel
        >>> paris = Reference.of("Paris is its capital.")
        >>> capital = Question("1", "Capital?", ())
        >>> run(answer_given(ScriptedModel(["Paris [1]."]), capital, [paris])).text
        'Paris [1].'
    """
    asked = question.asked
    if not references:
        generation = yield from answer_directly(model, asked, templates=templates)
        cited = resolve_citations(_said(generation), ())
        return Answer(
            question=asked,
            text=cited.text,
            citations=(),
            references=(),
            decision=Decision(False, reason="closed book, by design"),
            rounds=(),
            stop_reason="known",
            usage={"answer_directly": generation.usage},
            removed_markers=cited.removed,
        )
    answer = answer_with_references if may_refuse else answer_anyway
    generation = yield from answer(model, asked, references, templates=templates)
    said = _said(generation)
    reply = read_reply(said, len(references)) if may_refuse else None
    # Neither the verdict's word nor the queries below it are part of the answer.
    text = said if reply is None else reply.text or REFUSAL
    cited = resolve_citations(text, references)
    refused = is_refusal(text) or (reply is not None and reply.sufficient is False)
    ids = tuple(reference.id for reference in references)
    verdict = Reflection(not refused, "the model refuses" if refused else "the model answers")
    return Answer(
        question=asked,
        text=cited.text,
        citations=cited.citations,
        references=tuple(references),
        decision=Decision(True, max_rounds=1, reason="references given, by design"),
        rounds=(Round((), ids, ids, said, verdict),),
        stop_reason="max_rounds" if refused else "sufficient",
        usage={"answer_with_references" if may_refuse else "answer_anyway": generation.usage},
        removed_markers=cited.removed,
    )


def with_noise(question: Question, noise: int, pool: Sequence[Reference] = ()) -> list[Reference]:
    """The gold references among so many that are not needed (RaLLM §6.3, knowledge precision).

    The noise is the question's own distractors first, then passages of the pool; the order is
    shuffled, always the same way for the same question.

    Args:
        question: With its contexts.
        noise: How many are added.
        pool: Passages to fill up with; those the question needs are passed over.
    """
    gold = complete(question)
    needed = {reference.id for reference in gold}
    titles = set(question.supporting_titles)
    distractors = [each.reference for each in question.noise_contexts]
    filling = (
        sorted(
            (each for each in pool if each.title not in titles),
            key=lambda each: _draw(question, each),
        )
        if len(distractors) < noise
        else []
    )
    chosen = {each.id: each for each in (*distractors, *filling) if each.id not in needed}
    mixed = [*gold, *list(chosen.values())[:noise]]
    return sorted(mixed, key=lambda each: _draw(question, each))


def complete(question: Question) -> list[Reference]:
    """All gold references, in the order of the contexts, none twice."""
    return list({each.reference.id: each.reference for each in question.gold_contexts}.values())


def partial(question: Question) -> list[Reference]:
    """Half of the gold references, at least one and never all (RaLLM §6.3, knowledge recall).

    Which half is drawn, always the same way for the same question.

    Example:
        >>> from skr_core.questions import Context
        >>> contexts = tuple(Context(title, f"About {title}.") for title in ("Jaws", "Spielberg"))
        >>> films = Question(
        ...     "1", "Who?", (), supporting_titles=("Jaws", "Spielberg"), contexts=contexts
        ... )
        >>> len(complete(films)), len(partial(films))
        (2, 1)
    """
    gold = sorted(complete(question), key=lambda each: _draw(question, each))
    return gold[: max(1, len(gold) // 2)]


def can_be_partial(question: Question) -> bool:
    """Whether something can be left out: two gold references at least."""
    return len(complete(question)) >= 2


def corrupted(question: Question) -> list[Reference]:
    """The gold references with every right answer replaced by "Tom", in titles too (W2R §5)."""
    return [
        Reference.of(corrupt(each.text, question.gold), corrupt(each.title, question.gold))
        for each in complete(question)
    ]


def can_be_corrupted(question: Question) -> bool:
    """Whether a gold reference names a right answer; yes, no and options are not replaced."""
    if question.choices or {each.lower() for each in question.gold} <= {"yes", "no"}:
        return False
    return [each.text for each in complete(question)] != [each.text for each in corrupted(question)]


def _said(generation: Generation) -> str:
    if said := strip_thoughts(generation.text):
        return said
    raise ModelError("the model gave no answer")


def _draw(question: Question, reference: Reference) -> str:
    drawn = f"{question.id}\x00{question.question}\x00{reference.id}"
    return hashlib.blake2b(encodable(drawn).encode(), digest_size=8).hexdigest()
