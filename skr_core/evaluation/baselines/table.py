"""The baselines by name, and what each needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from skr_core.errors import InputError
from skr_core.evaluation.baselines.auto_cot import most_diverse, most_similar, with_reasoning
from skr_core.evaluation.baselines.direct import (
    few_shot,
    recite_and_answer,
    zero_shot,
    zero_shot_cot,
)
from skr_core.evaluation.baselines.parts import FlowAnswerer, final_answer
from skr_core.evaluation.baselines.retrieving import cot_ir, ircot, self_ask
from skr_core.flow import Flow, call
from skr_core.ports import Embedder, LanguageModel, QuestionAnswerer, Retriever
from skr_core.types import Answer, Demonstration

SHOTS = 4
"""Demonstrations (SKR §4.2)."""


@dataclass(frozen=True)
class Resources:
    """What baselines work with; each needs some of it.

    Attributes:
        model: Answers.
        retriever: For those that retrieve.
        embedder: For those that compare questions.
        demonstrations: Written by hand; with reasoning for those with a chain of thought.
        pool: Questions from which Auto-CoT chooses.
    """

    model: LanguageModel
    retriever: Retriever | None = None
    embedder: Embedder | None = None
    demonstrations: Sequence[Demonstration] = ()
    pool: Sequence[str] = ()


@dataclass(frozen=True)
class Baseline:
    """A way to answer.

    Attributes:
        answer: The flow.
        needs: Fields of `Resources` that must be given.
        source: Where it comes from.
    """

    answer: Callable[[Resources, str], Flow[Answer]]
    needs: tuple[str, ...]
    source: str


def make_baseline(name: str, resources: Resources) -> QuestionAnswerer:
    """Make a baseline of what is at hand.

    Raises:
        InputError: There is no such baseline, or something that it needs is not at hand.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> make_baseline("zero_shot", Resources(ScriptedModel(["Paris"]))).answer("Capital?").text
        'Paris'
    """
    if name not in BASELINES:
        raise InputError(f"no baseline {name!r}: give one of {', '.join(BASELINES)}")
    baseline = BASELINES[name]
    for need in baseline.needs:
        if not getattr(resources, need):
            raise InputError(f"the baseline {name} needs a {need}: give it one")
    return FlowAnswerer(lambda question: baseline.answer(resources, question))


def _retriever(resources: Resources) -> Retriever:
    assert resources.retriever is not None
    return resources.retriever


def _auto_cot_similarity(resources: Resources, question: str) -> Flow[Answer]:
    embedder = resources.embedder
    assert embedder is not None
    pool = [each for each in resources.pool if each != question]
    vectors = yield from call(embedder.embed, embedder.aembed, [*pool, question])
    chosen = [pool[place] for place in most_similar(vectors[-1], vectors[:-1], SHOTS)]
    return (yield from _auto_cot(resources, question, chosen))


def _auto_cot_diversity(resources: Resources, question: str) -> Flow[Answer]:
    embedder = resources.embedder
    assert embedder is not None
    pool = [each for each in resources.pool if each != question]
    vectors = yield from call(embedder.embed, embedder.aembed, pool)
    chosen = [pool[place] for place in most_diverse(vectors, SHOTS)]
    return (yield from _auto_cot(resources, question, chosen))


def _auto_cot(resources: Resources, question: str, chosen: Sequence[str]) -> Flow[Answer]:
    demonstrations, spent = yield from with_reasoning(resources.model, chosen)
    answer = yield from few_shot(resources.model, question, demonstrations)
    return replace(answer, usage={**answer.usage, "demonstrate": spent})


_SHOWN = ("demonstrations",)
BASELINES = {
    "zero_shot": Baseline(lambda has, asked: zero_shot(has.model, asked), (), "SKR Table 1"),
    "zero_shot_cot": Baseline(
        lambda has, asked: zero_shot_cot(has.model, asked), (), "Kojima et al. 2022"
    ),
    "few_shot": Baseline(
        lambda has, asked: few_shot(has.model, asked, _short(has.demonstrations)),
        _SHOWN,
        "SKR Table 1",
    ),
    "manual_cot": Baseline(
        lambda has, asked: few_shot(has.model, asked, has.demonstrations[:SHOTS]),
        _SHOWN,
        "Wei et al. 2022",
    ),
    "auto_cot_similarity": Baseline(
        _auto_cot_similarity, ("pool", "embedder"), "Liu et al. 2022, Rubin et al. 2022"
    ),
    "auto_cot_diversity": Baseline(_auto_cot_diversity, ("pool", "embedder"), "Zhang et al. 2023"),
    "cot_ir": Baseline(
        lambda has, asked: cot_ir(has.model, _retriever(has), asked, has.demonstrations[:SHOTS]),
        ("retriever",),
        "SKR §4.2",
    ),
    "ircot": Baseline(
        lambda has, asked: ircot(has.model, _retriever(has), asked, has.demonstrations[:SHOTS]),
        ("retriever",),
        "Trivedi et al. 2022",
    ),
    "self_ask": Baseline(
        lambda has, asked: self_ask(has.model, _retriever(has), asked),
        ("retriever",),
        "Press et al. 2022",
    ),
    "recite_and_answer": Baseline(
        lambda has, asked: recite_and_answer(has.model, asked, has.demonstrations[:SHOTS]),
        (),
        "Sun et al. 2022",
    ),
}
"""By name, as ``skr evaluate --systems`` takes them."""


def _short(demonstrations: Sequence[Demonstration]) -> list[Demonstration]:
    """Without reasoning: few-shot shows the answers alone."""
    return [
        Demonstration(each.question, final_answer(each.answer)) for each in demonstrations[:SHOTS]
    ]
