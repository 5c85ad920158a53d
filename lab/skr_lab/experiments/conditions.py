"""Experiments over the references that a question is given: RaLLM §6.3, W2R §5."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from skr_app.report import F1_OF_MEANS, Result, Row, compare, row_of
from skr_core.ports import LanguageModel
from skr_core.prompts.papers import W2R_TEMPLATES
from skr_core.prompts.templates import DEFAULT_TEMPLATES, PromptTemplates
from skr_core.questions import Question
from skr_core.types import Answer, Reference
from skr_lab.experiments.knowledge import (
    answer_given,
    can_be_corrupted,
    can_be_partial,
    complete,
    corrupted,
    partial,
    with_noise,
)
from skr_learn.evaluation.asking import System
from skr_learn.evaluation.measuring import Judged
from skr_learn.metrics.reliance import relies
from skr_learn.metrics.statistics import Interval, bootstrap

Conditions = Mapping[str, Sequence[Judged]]
"""What each condition's answers were judged, by its name, in order."""

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


@dataclass(frozen=True)
class Experiment:
    """Conditions, the questions they can be asked, and what is made of the answers.

    Attributes:
        name: Of the command.
        title: What it asks, in words.
        needs: What a question must have, in words.
        usable: Whether a question has it.
        systems: The conditions, from a model, the passages of all questions and the words to ask
            in.
        rows: From the judged answers to the table's rows.
        plotted: Measures that the plot shows.
        measures: Those that the table shows, where they are known.
        over: What number the conditions differ by, in words; empty where they do not.
        place: That number for one answer.
        templates: The words where no others are given.
    """

    name: str
    title: str
    needs: str
    usable: Callable[[Question], bool]
    systems: Callable[[LanguageModel, Sequence[Reference], PromptTemplates], list[System]]
    rows: Callable[[Conditions], list[Row]]
    plotted: tuple[str, ...]
    measures: tuple[str, ...] = MEASURES
    over: str = ""
    place: Callable[[Question, Answer], float] | None = None
    templates: PromptTemplates = DEFAULT_TEMPLATES

    def result(
        self, judged: Conditions, settings: Mapping[str, str], notes: Sequence[str] = ()
    ) -> Result:
        """The table: each condition, and each beside the first."""
        first, *others = judged
        return Result(
            self.name,
            self.title,
            settings,
            rows=tuple(self._placed(judged)),
            comparisons=tuple(
                compare(name, judged[name], first, judged[first], self.measures) for name in others
            ),
            plotted=self.plotted,
            notes=tuple(notes),
            over=self.over,
        )

    def _placed(self, judged: Conditions) -> list[Row]:
        if self.place is None:
            return self.rows(judged)
        numbers = {
            name: [self.place(each.question, each.answer) for each in answers if each.answer]
            for name, answers in judged.items()
        }
        return [replace(row, at=_average(numbers[row.name])) for row in self.rows(judged)]


def _plain_rows(judged: Conditions, measures: Sequence[str] = MEASURES) -> list[Row]:
    return [row_of(name, answers, measures) for name, answers in judged.items()]


def _precision(
    model: LanguageModel, pool: Sequence[Reference], words: PromptTemplates
) -> list[System]:
    def given(noise: int) -> Given:
        return lambda question: with_noise(question, noise, pool)

    return [_system(f"gold + {noise} noise", model, given(noise), words) for noise in NOISE]


def _recall(
    model: LanguageModel, pool: Sequence[Reference], words: PromptTemplates
) -> list[System]:
    return [
        _system("none", model, lambda question: (), words),
        _system("partial", model, partial, words),
        _system("complete", model, complete, words),
    ]


def _reliance(
    model: LanguageModel, pool: Sequence[Reference], words: PromptTemplates
) -> list[System]:
    return [
        _system("no document", model, lambda question: (), words),
        _system("gold document", model, complete, words),
        _system("corrupted document", model, corrupted, words),
    ]


def reliance_rows(judged: Conditions, *, gamma: float = 0.0) -> list[Row]:
    """The rows of the experiment on reliance.

    Args:
        judged: Answers without a document, with the gold one and with the corrupted one.
        gamma: γ of the utilisation ratio: what the overlap has to grow by; the paper sets 0.
    """
    direct, gold, wrong = judged.values()
    uses: list[float | None] = []
    corrupts: list[float | None] = []
    for before, with_gold, with_wrong in zip(direct, gold, wrong, strict=True):
        if before.answer is None or with_gold.answer is None:
            uses.append(None)
        else:
            document = " ".join(each.text for each in with_gold.answer.references)
            texts = before.answer.text, with_gold.answer.text
            uses.append(float(relies(*texts, document, gamma=gamma)))
        was, is_ = before.values["answer_accuracy"], with_wrong.values["answer_accuracy"]
        corrupts.append(None if was is None or is_ is None else float(was == 1 and is_ == 0))
    first, second, third = _plain_rows(judged, EXPERIMENTS["reliance"].measures)
    return [
        first,
        Row(second.name, {"utilisation_ratio": _mean(uses), **second.cells}),
        Row(third.name, {"corruption_rate": _mean(corrupts), **third.cells}),
    ]


def _system(name: str, model: LanguageModel, given: Given, words: PromptTemplates) -> System:
    return System(name, lambda each: answer_given(model, each, given(each), templates=words))


def _references_given(question: Question, answer: Answer) -> float:
    return float(len(answer.references))


def _gold_given(question: Question, answer: Answer) -> float:
    gold = {each.id for each in complete(question)}
    return len(gold & {each.id for each in answer.references}) / len(gold)


def _average(numbers: Sequence[float]) -> float | None:
    return sum(numbers) / len(numbers) if numbers else None


def _mean(values: Sequence[float | None]) -> Interval:
    known = [value for value in values if value is not None]
    return bootstrap(known, n_failed=len(values) - len(known))


_PARTIAL = "contexts of which two are supporting at least"
EXPERIMENTS = {
    each.name: each
    for each in (
        Experiment(
            "knowledge-precision",
            "what does noise among the references cost? (RaLLM §6.3, Figure 3)",
            "contexts of which one is supporting at least",
            lambda question: bool(complete(question)),
            _precision,
            _plain_rows,
            ("key_fact_recall", "key_fact_precision", "answer_accuracy"),
            over="references given",
            place=_references_given,
        ),
        Experiment(
            "knowledge-recall",
            "what does an incomplete set of references cost? (RaLLM §6.3, Table 3)",
            _PARTIAL,
            can_be_partial,
            _recall,
            _plain_rows,
            ("key_fact_recall", "key_fact_precision", "answer_accuracy"),
            over="share of the gold references given",
            place=_gold_given,
        ),
        Experiment(
            "reliance",
            "does the model take its answer from the document? (W2R §5)",
            "supporting contexts that name an answer",
            can_be_corrupted,
            _reliance,
            reliance_rows,
            ("answer_accuracy", "utilisation_ratio", "corruption_rate"),
            # A corrupted title is no longer a supporting one.
            tuple(each for each in MEASURES if not each.startswith("citation")),
            templates=W2R_TEMPLATES,
        ),
    )
}
"""By the name of their command."""
