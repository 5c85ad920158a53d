"""SKR's own systems: what they learn from, and what their routers make of two answers.

All answer in the same way, after the same demonstrations: directly (Manual-CoT), or from passages
(Manual-CoT-IR). What SKR answers follows from the two: the direct answer where its router says that
the question is known, else the one from passages. The routers learn from training questions, on
which both answers are compared (equations 1 to 4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from skr_core.errors import InputError, ModelError
from skr_core.flow import Flow, call, gather
from skr_core.ports import Embedder, LanguageModel, Retriever, Router
from skr_core.prompts.templates import version_of
from skr_core.questions import Question
from skr_core.references.found import checked_references
from skr_core.routers.model_routers import PromptRouter
from skr_core.types import Answer, Demonstration, Stamp
from skr_lab.baselines import PASSAGES
from skr_learn.evaluate import Answers, Judged, System
from skr_learn.records import Outcome, Record, question_key
from skr_learn.routers.classifier import ClassifierRouter
from skr_learn.routers.in_context import InContextRouter
from skr_learn.routers.knn import KNNRouter

Metric = Literal["answer_accuracy", "exact_match", "token_f1"]
"""The measure E of equation 4, as evaluation names it."""

DIRECT, RETRIEVED = "manual_cot", "cot_ir"
"""The two that SKR chooses between."""

GUIDANCE, WHEN_KNOWN = "beneficial_guidance", "accuracy_when_known"


def with_passages(
    retriever: Retriever, demonstrations: Sequence[Demonstration]
) -> Flow[list[Demonstration]]:
    """The demonstrations with passages (equation 3): their own, or those that are found for them.

    Example:
        >>> from skr_core.flow import run
        >>> from skr_core.testing import MappingRetriever
        >>> retriever = MappingRetriever({"Who?": ["Ada wrote it."]})
        >>> run(with_passages(retriever, [Demonstration("Who?", "Ada")]))[0].references
        ('Ada wrote it.',)
    """

    def one(shown: Demonstration) -> Flow[Demonstration]:
        if shown.references:
            return shown
        given = yield from call(retriever.retrieve, retriever.aretrieve, shown.question)
        found = checked_references(given, retriever)[:PASSAGES]
        return replace(shown, references=tuple(each.text for each in found))

    return (yield from gather([one(each) for each in demonstrations]))


def training_apart(training: Sequence[Question], asked: Sequence[Question]) -> list[Question]:
    """The training questions that are not asked, each once."""
    taken = {question_key(each.asked) for each in asked}
    apart = {question_key(each.asked): each for each in training}
    return [each for key, each in apart.items() if key not in taken]


def records_of(
    direct: Sequence[Judged], retrieved: Sequence[Judged], metric: Metric, stamp: Stamp
) -> list[Record]:
    """Self-knowledge of both answers to the training questions; a failure of either is left out.

    Args:
        direct: Answers without passages.
        retrieved: Answers to the same questions with them.
        metric: The measure that compares them.
        stamp: The model and the retriever that they were made with.
    """
    records = []
    for without, given in zip(direct, retrieved, strict=True):
        if without.answer is None or given.answer is None:
            continue
        outcomes = {
            "direct": _outcome(without.answer, without.values[metric]),
            "single": _outcome(given.answer, given.values[metric]),
        }
        question = without.question
        records.append(Record(question.asked, question.gold, outcomes, stamp))  # type: ignore[arg-type]
    return records


def make_routers(
    names: Sequence[str],
    model: LanguageModel,
    records: Sequence[Record],
    embedder: Embedder,
    encoder: str | Path | None = None,
) -> tuple[dict[str, Router], list[str]]:
    """Make the routers of SKR §3.2.

    Args:
        names: Some of ``skr_prompt``, ``skr_icl``, ``skr_cls`` and ``skr_knn``.
        model: The model that the first two ask.
        records: The records of the training questions.
        embedder: The embedder of questions.
        encoder: An encoder that is fine-tuned for ``skr_cls``; without one it is a logistic head
            on the embedder's vectors.

    Returns:
        The routers by name, and why others could not be made, a sentence each.
    """
    makers: dict[str, Callable[[], Router]] = {
        "skr_prompt": lambda: PromptRouter(model),
        "skr_icl": lambda: InContextRouter.from_records(model, records),
        "skr_cls": lambda: _classifier(records, embedder, encoder),
        "skr_knn": lambda: KNNRouter.fit(records, embedder=embedder),
    }
    made: dict[str, Router] = {}
    problems = []
    for name in names:
        try:
            made[name] = makers[name]()
        except InputError as error:
            problems.append(f"{name} is left out: {error}.")
    return made, problems


def guided(
    name: str,
    router: Router,
    direct: Answers,
    retrieved: Answers,
    *,
    learnt_from: Sequence[Record] = (),
) -> System:
    """A system that serves one of two answers, as a router decides, with the cost of deciding.

    Args:
        name: The name in tables.
        router: The router that decides on each question.
        direct: The answers to known questions.
        retrieved: The answers to unknown ones.
        learnt_from: The records of the router; with others it may decide otherwise, so that the
            log tells them apart.
    """
    effects = [(each.question, each.direct.score, each.retrieved.score) for each in learnt_from]
    key = f"{name} {version_of(repr(effects))}" if effects else name
    known, unknown = (
        {each.question.asked: each for each in answers.asked} for answers in (direct, retrieved)
    )

    def ask(question: Question) -> Flow[Answer]:
        decision = yield from call(router.decide, router.adecide, question.asked)
        chosen = (unknown if decision.retrieve else known)[question.asked]
        if chosen.answer is None:
            raise ModelError(chosen.failure)
        usage = {**chosen.answer.usage, "route": decision.usage}
        return replace(chosen.answer, decision=decision, usage=usage)

    return System(name, ask, key)


def with_guidance(
    judged: Sequence[Judged],
    direct: Sequence[Judged],
    retrieved: Sequence[Judged],
    metric: Metric,
) -> list[Judged]:
    """Judged answers of a guided system, with what its advice was worth (Figure 4, Table 2).

    Advice counts where the two answers differ, and accuracy when known where it says known.
    """
    found = []
    for each, without, given in zip(judged, direct, retrieved, strict=True):
        values = dict(each.values)
        own, other = without.values[metric], given.values[metric]
        if each.answer is not None and own is not None:
            retrieves = each.answer.decision.retrieve
            if not retrieves:
                values[WHEN_KNOWN] = own
            if other is not None and own != other:
                values[GUIDANCE] = float(retrieves == (other > own))
        found.append(replace(each, values=values))
    return found


def _classifier(
    records: Sequence[Record], embedder: Embedder, encoder: str | Path | None
) -> Router:
    if encoder is None:
        return ClassifierRouter.fit(records, embedder=embedder)
    from skr_learn.routers.encoder import EncoderRouter

    return EncoderRouter.fit(records, encoder=encoder)


def _outcome(answer: Answer, score: float | None) -> Outcome:
    rounds = len(answer.rounds)
    return Outcome(
        answer.text,
        float(score or 0.0),
        answer.total_usage.uncached,
        retrievals=float(rounds),
        rounds=rounds,
    )
