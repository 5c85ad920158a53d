"""Knowledge conditions: which references an answer is given, by design (RaLLM §6.3, W2R §5)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from skr_core.answering import answer_anyway, answer_directly, answer_with_references
from skr_core.errors import InputError, ModelError
from skr_core.flow import Flow
from skr_core.ports import LanguageModel
from skr_core.prompts.templates import DEFAULT_TEMPLATES, REFUSAL, PromptTemplates
from skr_core.questions import Question, corpus_of
from skr_core.references.citations import resolve_citations
from skr_core.replies.refusals import is_refusal
from skr_core.replies.reply import read_reply
from skr_core.texts import encodable
from skr_core.types import Answer, Decision, Generation, Reference, Reflection, Round
from skr_lab.experiment import Bench, Claiming, Found
from skr_lab.metrics import F1_OF_MEANS, corrupt
from skr_lab.opening import Result, Row, compare, read_templates, row_of
from skr_learn.evaluate import Judged, System

Conditions = Mapping[str, Sequence[Judged]]
"""The judged answers of each condition, by its name, in order."""

Given = Callable[[Question], Sequence[Reference]]

NOISE = (0, 3, 8)
"""Noise references beside two gold ones: 2, 5 and 10 together (RaLLM Figure 3)."""

MEASURES = (
    "answer_accuracy",
    "key_fact_recall",
    "key_fact_precision",
    "key_fact_f1",
    F1_OF_MEANS,
    "token_f1",
    "citation_recall",
    "citation_precision",
    "removed_markers",
    "self_consistency",
    "refused",
    "prompt_tokens",
    "usd",
)


class KnowledgeExperiment(Claiming):
    """Conditions that differ by the references that a question is given."""

    title: ClassVar[str]
    needs: ClassVar[str]
    """In words, what a question must have."""
    plotted: ClassVar[tuple[str, ...]] = (
        "key_fact_recall",
        "key_fact_precision",
        "answer_accuracy",
    )
    measures: ClassVar[tuple[str, ...]] = MEASURES
    over: ClassVar[str] = ""
    """The number that the conditions differ by, in words."""
    words: ClassVar[PromptTemplates] = DEFAULT_TEMPLATES
    """The templates where `templates` names none."""

    templates: str | None = None
    """The words to ask in: default, rallm, skr, w2r, or a JSON file."""

    def usable(self, question: Question) -> bool:
        """Whether a question has what the experiment needs."""
        raise NotImplementedError

    def conditions(self, pool: Sequence[Reference]) -> dict[str, Given]:
        """The references that each condition gives a question.

        Args:
            pool: The passages of all questions.
        """
        raise NotImplementedError

    def place(self, question: Question, answer: Answer) -> float | None:
        """The number of `over`, for one answer."""
        return None

    def rows(self, judged: Conditions) -> list[Row]:
        """The rows of the table."""
        rows = [row_of(name, answers, self.measures) for name, answers in judged.items()]
        places = {
            name: [self.place(each.question, each.answer) for each in answers if each.answer]
            for name, answers in judged.items()
        }
        return [replace(row, at=_average(places[row.name])) for row in rows]

    def systems(
        self, model: LanguageModel, pool: Sequence[Reference], words: PromptTemplates
    ) -> list[System]:
        """A system for each condition, which answers from what the condition gives.

        Args:
            model: The model that answers.
            pool: The passages of all questions.
            words: The templates to ask in.
        """

        def system(name: str, given: Given) -> System:
            return System(
                name, lambda each: answer_given(model, each, given(each), templates=words)
            )

        return [system(name, given) for name, given in self.conditions(pool).items()]

    def result(
        self, judged: Conditions, settings: Mapping[str, str], notes: Sequence[str] = ()
    ) -> Result:
        """The table: each condition, and each beside the first."""
        first, *others = judged
        return Result(
            self.name,
            self.title,
            settings,
            rows=tuple(self.rows(judged)),
            comparisons=tuple(
                compare(name, judged[name], first, judged[first], self.measures) for name in others
            ),
            plotted=self.plotted,
            notes=tuple(notes),
            over=self.over,
        )

    async def run(self, bench: Bench) -> Found:
        """Ask every condition."""
        read = self.read()
        usable = [each for each in read if self.usable(each)]
        if not usable:
            raise InputError(f"{self.questions}: no question has {self.needs}")
        model = self.language_model
        words = self.words if self.templates is None else read_templates(self.templates)
        bench.open_folder(command=self.name, model=model.name, prompts=words.version)
        _, judged = await self.ask(bench, self.systems(model, corpus_of(read), words), usable)
        left_out = len(read) - len(usable)
        settings = {
            "questions": f"{self.questions.name} ({len(usable)} of {len(read)})",
            "model": model.name,
        }
        notes = [f"{left_out} questions lack {self.needs}"] if left_out else []
        result = self.result(judged, settings, notes)
        return Found(result, judged, {"n": len(usable), "left_out": left_out})


class KnowledgePrecision(KnowledgeExperiment):
    """What does noise among the references cost? Two gold ones beside more and more others."""

    name: ClassVar[str] = "knowledge-precision"
    reproduces: ClassVar[str] = "RaLLM §6.3, Figure 3"
    title: ClassVar[str] = "what does noise among the references cost? (RaLLM §6.3, Figure 3)"
    needs: ClassVar[str] = "contexts of which one is supporting at least"
    over: ClassVar[str] = "references given"

    def usable(self, question: Question) -> bool:
        """Whether a reference is gold."""
        return bool(complete(question))

    def conditions(self, pool: Sequence[Reference]) -> dict[str, Given]:
        """Gold references among 0, 3 and 8 others."""

        def given(noise: int) -> Given:
            return lambda question: with_noise(question, noise, pool)

        return {f"gold + {noise} noise": given(noise) for noise in NOISE}

    def place(self, question: Question, answer: Answer) -> float:
        """The number of references."""
        return float(len(answer.references))


class KnowledgeRecall(KnowledgeExperiment):
    """What does an incomplete set of references cost? None, half and all of the gold ones."""

    name: ClassVar[str] = "knowledge-recall"
    reproduces: ClassVar[str] = "RaLLM §6.3, Table 3"
    title: ClassVar[str] = "what does an incomplete set of references cost? (RaLLM §6.3, Table 3)"
    needs: ClassVar[str] = "contexts of which two are supporting at least"
    over: ClassVar[str] = "share of the gold references given"

    def usable(self, question: Question) -> bool:
        """Whether something can be left out."""
        return can_be_partial(question)

    def conditions(self, pool: Sequence[Reference]) -> dict[str, Given]:
        """No gold reference, half of them, and all."""
        return {"none": lambda question: (), "partial": partial, "complete": complete}

    def place(self, question: Question, answer: Answer) -> float:
        """The share of the gold references."""
        gold = {each.id for each in complete(question)}
        return len(gold & {each.id for each in answer.references}) / len(gold)


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
        model: The model that answers.
        question: The question.
        references: The references that it is given.
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
        question: The question with its contexts.
        noise: The number of references that are added.
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
    if said := generation.text.strip():
        return said
    raise ModelError("the model gave no answer")


def _draw(question: Question, reference: Reference) -> str:
    drawn = f"{question.id}\x00{question.question}\x00{reference.id}"
    return hashlib.blake2b(encodable(drawn).encode(), digest_size=8).hexdigest()


def _average(numbers: Sequence[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return sum(known) / len(known) if known else None
