"""Reflectors beside each other: who sees that references do not suffice (RaLLM §6.4, Table 4)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from skr_app.report import Comparison, Result, Row
from skr_core.errors import ModelError
from skr_core.files import KeyedLog
from skr_core.flow import Flow, call, gather
from skr_core.plain import from_plain, to_plain
from skr_core.ports import Embedder, OnProgress, Reflector
from skr_core.texts import encodable
from skr_core.types import NO_USAGE, Reflection
from skr_lab.experiments.drafts import Draft
from skr_lab.metrics.reflection import ReflectionScores
from skr_learn.evaluation.measuring import Judged, difference, mean
from skr_learn.learned_reflector import LearnedReflector, best_threshold
from skr_learn.learning.folds import folds
from skr_learn.learning.signals import groups_of
from skr_learn.metrics.statistics import Interval

FEWEST = 40
"""Drafts to learn from; from fewer every estimate is the average."""

CONSTANTS = {"always sufficient": False, "always insufficient": True}
ACCURACY, F1 = "reflection_accuracy", "reflection_f1"


@dataclass(frozen=True, slots=True)
class Held:
    """Whether a reflector held a draft insufficient, and what asking it cost.

    Attributes:
        insufficient: None where it failed.
        calls: Of a model.
        prompt_tokens: Sent to it.
    """

    insufficient: bool | None
    calls: int = 0
    prompt_tokens: int = 0


def reflect_on(
    reflector: Reflector,
    name: str,
    drafts: Sequence[Draft],
    log: KeyedLog,
    *,
    concurrency: int = 8,
    on_progress: OnProgress | None = None,
) -> Flow[list[Held]]:
    """What the loop makes of every draft with a reflector; what the log holds is not asked again.

    A refusal is sent back without asking, and a failure is not kept.

    Args:
        reflector: Is asked.
        name: Tells it from others in the log.
        drafts: What it is asked about.
        log: Of reflections.
        concurrency: Drafts under way at a time.
        on_progress: Told after each.

    Example:
        >>> from skr_core.flow import run
        >>> from skr_core.questions import Question
        >>> from skr_core.reflectors import RefusalReflector
        >>> from skr_learn.self_knowledge.records import SelfKnowledge
        >>> record = SelfKnowledge.of("Who?", direct=("", 0), single=("", 0))
        >>> said = {"refused": False, "accepted": False}
        >>> draft = Draft(Question("1", "Who?", ()), "I do not know.", (), True, record, **said)
        >>> run(reflect_on(RefusalReflector(), "refusal", [draft], KeyedLog(None)))[0].insufficient
        True
    """
    done = count(1)

    def one(draft: Draft) -> Flow[Held]:
        key = _key(name, draft)
        if draft.refused:
            held = Held(True)
        elif (row := log.rows.get(key)) is not None:
            held = _held(from_plain(Reflection, row["reflection"]))
        else:
            try:
                reflection = yield from call(
                    reflector.reflect,
                    reflector.areflect,
                    draft.question.asked,
                    draft.references,
                    draft.text,
                )
            except ModelError:
                held = Held(None)
            else:
                held = _held(reflection)
                line = {"key": key, "reflection": to_plain(reflection)}
                yield from call(log.append, log.aappend, [line])
        if on_progress is not None:
            on_progress(next(done), len(drafts))
        return held

    return (yield from gather([one(draft) for draft in drafts], limit=concurrency))


def stated(drafts: Sequence[Draft]) -> list[Held]:
    """What `RefusalReflector` makes of every draft, or what was made of it when it was recorded."""
    return [Held(not draft.accepted) for draft in drafts]


def learned(drafts: Sequence[Draft], embedder: Embedder | None = None) -> list[Held]:
    """What `LearnedReflector` holds of each draft, learnt from the others alone.

    Neither the estimate nor its threshold has seen a draft of the question that it judges.

    Args:
        drafts: `FEWEST` at least.
        embedder: For questions and drafts; a `HashingEmbedder` by default.
    """
    records = [draft.record for draft in drafts]
    _, chances = LearnedReflector.with_held_out(records, embedder=embedder)
    right = np.array([record.retrieved.score for record in records])
    held = [Held(None)] * len(drafts)
    for fit, judge in folds(groups_of(records)):
        threshold = best_threshold(chances[fit], right[fit])
        for place in judge.tolist():
            held[place] = Held(drafts[place].refused or bool(chances[place] < threshold))
    return held


def reflection_result(
    drafts: Sequence[Draft],
    held: Mapping[str, Sequence[Held]],
    settings: Mapping[str, str],
    *,
    n_failed: int = 0,
    notes: Sequence[str] = (),
) -> tuple[Result, dict[str, list[Judged]]]:
    """The table: both constants, then every reflector, each beside the better constant.

    Args:
        drafts: What was judged.
        held: By the name of each reflector, in the order of the drafts.
        settings: Shown above the table.
        n_failed: Drafts that could not be made, which are in no mean.
        notes: What a reader has to know.

    Returns:
        The result, and each draft with the values of its measures, by reflector.
    """
    every: dict[str, Sequence[Held]] = {
        name: [Held(said)] * len(drafts) for name, said in CONSTANTS.items()
    }
    every |= held
    judged = {
        name: [_judged(draft, each) for draft, each in zip(drafts, holds, strict=True)]
        for name, holds in every.items()
    }
    rows = [_row(name, drafts, every[name], judged[name], n_failed) for name in every]
    best = max(CONSTANTS, key=lambda name: mean(judged[name], ACCURACY).mean)
    comparisons = tuple(
        Comparison(name, best, {ACCURACY: difference(judged[name], judged[best], ACCURACY)})
        for name in held
    )
    return (
        Result(
            "reflection",
            "who sees that the references do not suffice? (RaLLM §6.4, Table 4)",
            settings,
            tuple(rows),
            comparisons,
            (ACCURACY, F1),
            tuple(notes),
        ),
        judged,
    )


def _judged(draft: Draft, held: Held) -> Judged:
    said, lacks = held.insufficient, draft.insufficient
    values: dict[str, float | None] = {ACCURACY: None if said is None else float(said == lacks)}
    values["insufficient_found" if lacks else "sufficient_sent_back"] = (
        None if said is None else float(said)
    )
    values |= {"calls": float(held.calls), "prompt_tokens": float(held.prompt_tokens)}
    return Judged(draft.question, draft.answer, values)


def _row(
    name: str,
    drafts: Sequence[Draft],
    held: Sequence[Held],
    judged: Sequence[Judged],
    n_failed: int,
) -> Row:
    pairs = [
        (draft.insufficient, each.insufficient)
        for draft, each in zip(drafts, held, strict=True)
        if each.insufficient is not None
    ]
    scores = ReflectionScores.of([lack for lack, _ in pairs], [said for _, said in pairs])
    failed = n_failed + len(drafts) - len(pairs)
    cells = {ACCURACY: _failed(scores.accuracy, failed), F1: _failed(scores.f1, failed)}
    for measure in ("insufficient_found", "sufficient_sent_back"):
        cells[measure] = mean(judged, measure)
    if any(each.calls for each in held):
        cells |= {measure: mean(judged, measure) for measure in ("calls", "prompt_tokens")}
    return Row(name, cells)


def _failed(interval: Interval, n_failed: int) -> Interval:
    return Interval(interval.mean, interval.low, interval.high, interval.n, n_failed)


def _held(reflection: Reflection) -> Held:
    usage = reflection.usage or NO_USAGE
    return Held(not reflection.sufficient, usage.calls, usage.prompt_tokens)


def _key(name: str, draft: Draft) -> str:
    said = repr((draft.question.asked, draft.text, [each.id for each in draft.references]))
    digest = hashlib.blake2b(encodable(said).encode(), digest_size=12).hexdigest()
    return f"reflection/{name}/{digest}"
