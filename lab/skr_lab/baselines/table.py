"""The baselines by name, and what each needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from skr_core.errors import InputError
from skr_core.flow import Flow
from skr_core.ports import (
    Embedder,
    EntailmentModel,
    LanguageModel,
    QuestionAnswerer,
    Retriever,
)
from skr_core.prompts.templates import PromptTemplates
from skr_core.replies.certainty import final_answer
from skr_core.types import NO_USAGE, Answer, Demonstration, Usage
from skr_lab.baselines.answering import (
    AnswerFlow,
    FlowAnswerer,
    Once,
    cot_ir,
    few_shot,
    ircot,
    recite_and_answer,
    self_ask,
    zero_shot,
    zero_shot_cot,
)
from skr_lab.baselines.auto_cot import Pool
from skr_lab.baselines.searching import cot_rr, demonstrated, dsp

SHOTS = 4
"""Demonstrations (SKR §4.2)."""


@dataclass(frozen=True)
class BaselineInputs:
    """The inputs of baselines; each baseline needs some of them.

    Attributes:
        model: The model that answers.
        retriever: The retriever of those that retrieve.
        embedder: The embedder of those that compare questions.
        demonstrations: Worked examples, written by hand; with reasoning for those with a chain of
            thought, and with passages for those that retrieve or recite.
        pool: Questions from which Auto-CoT chooses.
        templates: The templates of a run, for the baselines that ask once; None takes the papers'.
        entailment: Judges whether passages bear a reasoning out.
    """

    model: LanguageModel
    retriever: Retriever | None = None
    embedder: Embedder | None = None
    demonstrations: Sequence[Demonstration] = ()
    pool: Sequence[str] = ()
    templates: PromptTemplates | None = None
    entailment: EntailmentModel | None = None


@dataclass(frozen=True)
class Baseline:
    """A way to answer.

    Attributes:
        make: Makes the flow from question to answer; what it keeps is shared by all questions.
        needs: Fields of `BaselineInputs` that must be given.
        source: The paper that it comes from.
    """

    make: Callable[[BaselineInputs], AnswerFlow]
    needs: tuple[str, ...]
    source: str


def make_baseline(name: str, inputs: BaselineInputs) -> QuestionAnswerer:
    """Make a baseline of what is at hand.

    Raises:
        InputError: There is no such baseline, or something that it needs is not at hand.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> inputs = BaselineInputs(ScriptedModel(["Paris"]))
        >>> make_baseline("zero_shot", inputs).answer("Capital of France?").text
        'Paris'
    """
    if name not in BASELINES:
        raise InputError(f"no baseline {name!r}: give one of {', '.join(BASELINES)}")
    baseline = BASELINES[name]
    for need in baseline.needs:
        if not getattr(inputs, need):
            raise InputError(f"the baseline {name} needs {need}: give some, such as with --{need}")
    return FlowAnswerer(baseline.make(inputs))


def _retriever(inputs: BaselineInputs) -> Retriever:
    assert inputs.retriever is not None
    return inputs.retriever


def _auto_cot_similarity(inputs: BaselineInputs) -> AnswerFlow:
    pool = _pool(inputs)

    def answer(question: str) -> Flow[Answer]:
        shown, spent = yield from pool.similar(question, SHOTS)
        return (yield from _after_reasoning(inputs, question, shown, spent))

    return answer


def _auto_cot_diversity(inputs: BaselineInputs) -> AnswerFlow:
    pool = _pool(inputs)

    def answer(question: str) -> Flow[Answer]:
        shown, spent = yield from pool.diverse(question, SHOTS)
        return (yield from _after_reasoning(inputs, question, shown, spent))

    return answer


def _pool(inputs: BaselineInputs) -> Pool:
    assert inputs.embedder is not None
    return Pool(inputs.model, inputs.embedder, inputs.pool)


def _cot_rr(inputs: BaselineInputs) -> AnswerFlow:
    entailment = inputs.entailment
    assert entailment is not None
    return lambda asked: cot_rr(inputs.model, _retriever(inputs), entailment, asked, _shots(inputs))


def _dsp(inputs: BaselineInputs) -> AnswerFlow:
    """The demonstrations are annotated once."""
    model, retriever = inputs.model, _retriever(inputs)
    once = Once(lambda: demonstrated(model, retriever, _shots(inputs)))

    def answer(question: str) -> Flow[Answer]:
        (shown, spent), is_new = yield from once.value()
        answer = yield from dsp(model, retriever, question, shown)
        return replace(answer, usage={**answer.usage, "demonstrate": spent if is_new else NO_USAGE})

    return answer


def _after_reasoning(
    inputs: BaselineInputs, question: str, shown: Sequence[Demonstration], spent: Usage
) -> Flow[Answer]:
    answer = yield from few_shot(inputs.model, question, shown)
    return replace(answer, usage={**answer.usage, "demonstrate": spent})


_SHOWN = ("demonstrations",)
BASELINES = {
    "zero_shot": Baseline(
        lambda has: lambda asked: zero_shot(has.model, asked, has.templates), (), "SKR Table 1"
    ),
    "zero_shot_cot": Baseline(
        lambda has: lambda asked: zero_shot_cot(has.model, asked), (), "Kojima et al. 2022"
    ),
    "few_shot": Baseline(
        lambda has: lambda asked: few_shot(has.model, asked, _short(has), has.templates),
        _SHOWN,
        "SKR Table 1",
    ),
    "manual_cot": Baseline(
        lambda has: lambda asked: few_shot(has.model, asked, _shots(has), has.templates),
        _SHOWN,
        "Wei et al. 2022",
    ),
    "auto_cot_similarity": Baseline(
        _auto_cot_similarity, ("pool", "embedder"), "Liu et al. 2022, Rubin et al. 2022"
    ),
    "auto_cot_diversity": Baseline(_auto_cot_diversity, ("pool", "embedder"), "Zhang et al. 2023"),
    "cot_ir": Baseline(
        lambda has: (
            lambda asked: cot_ir(has.model, _retriever(has), asked, _shots(has), has.templates)
        ),
        ("retriever",),
        "SKR §4.2",
    ),
    "ircot": Baseline(
        lambda has: lambda asked: ircot(has.model, _retriever(has), asked, _shots(has)),
        ("retriever",),
        "Trivedi et al. 2022",
    ),
    "cot_rr": Baseline(_cot_rr, ("retriever", "entailment"), "He et al. 2022"),
    "self_ask": Baseline(
        lambda has: lambda asked: self_ask(has.model, _retriever(has), asked),
        ("retriever",),
        "Press et al. 2022",
    ),
    "recite_and_answer": Baseline(
        lambda has: lambda asked: recite_and_answer(has.model, asked, _shots(has)),
        (),
        "Sun et al. 2022",
    ),
    "dsp": Baseline(_dsp, ("retriever",), "Khattab et al. 2022"),
}
"""The baselines by name, as ``skr-lab run baselines`` takes them."""


def _shots(inputs: BaselineInputs) -> Sequence[Demonstration]:
    return inputs.demonstrations[:SHOTS]


def _short(inputs: BaselineInputs) -> list[Demonstration]:
    """Without reasoning: few-shot shows the answers alone."""
    return [replace(each, answer=final_answer(each.answer)) for each in _shots(inputs)]
