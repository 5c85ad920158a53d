"""How many records of self-knowledge a router needs (SKR §5.3, Figure 5), replayed from records."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from skr_app.report import Result, compare, row_of
from skr_core.errors import InputError
from skr_core.flow import Flow, call, gather
from skr_core.ports import Router
from skr_core.questions import Question
from skr_learn.evaluation.measuring import Judged

if TYPE_CHECKING:
    from skr_learn.self_knowledge.records import SelfKnowledge

FRACTIONS = (0.1, 0.25, 0.5, 1.0)
"""Of the training records, as in Figure 5."""

FEWEST = 20
"""Records; with fewer, a tenth of the training half would be none."""

Fit = Callable[[Sequence["SelfKnowledge"]], Router]
"""Makes a router of records."""


def training_size(
    records: Sequence[SelfKnowledge],
    fit: Fit,
    settings: Mapping[str, str],
    *,
    fractions: Sequence[float] = FRACTIONS,
    concurrency: int = 8,
) -> Flow[tuple[Result, dict[str, list[Judged]]]]:
    """Fit a router on growing parts of one half of the records, and replay the other half.

    No model is asked: the answer that a decision leads to is on record. Smaller parts are parts of
    greater ones, and the halves are drawn by the questions, so that every run draws the same.

    Args:
        records: All.
        fit: Makes a router of a part of them.
        settings: Shown above the table.
        fractions: Of the training half.
        concurrency: Decisions side by side.

    Raises:
        InputError: There are too few records.
    """
    if len(records) < FEWEST:
        raise InputError(f"{len(records)} records are too few: {FEWEST} are needed at least")
    drawn = sorted(records, key=lambda each: _draw(each.question))
    half = len(drawn) // 2
    training, held_out = drawn[:half], drawn[half:]
    judged = {
        "never": [_replayed(each, False) for each in held_out],
        "always": [_replayed(each, True) for each in held_out],
    }
    sizes: dict[str, float] = {}
    for fraction in fractions:
        part = training[: max(1, round(fraction * half))]
        router = fit(part)
        decisions = yield from gather(
            [call(router.decide, router.adecide, each.question) for each in held_out],
            limit=concurrency,
        )
        name = f"{fraction:.0%} ({len(part)} records)"
        sizes[name] = len(part)
        judged[name] = [
            _replayed(each, decision.retrieve)
            for each, decision in zip(held_out, decisions, strict=True)
        ]
    result = Result(
        "training-size",
        "how many records does the router need? (SKR §5.3, Figure 5)",
        settings,
        rows=tuple(
            replace(row_of(name, each), at=sizes.get(name)) for name, each in judged.items()
        ),
        comparisons=tuple(
            compare(name, each, "always", judged["always"])
            for name, each in judged.items()
            if name not in {"never", "always"}
        ),
        plotted=("answer_accuracy", "retrieved", "beneficial_guidance"),
        over="records",
    )
    return result, judged


def _replayed(record: SelfKnowledge, retrieve: bool) -> Judged:
    score = record.retrieved.score if retrieve else record.direct.score
    values: dict[str, float | None] = {"answer_accuracy": score, "retrieved": float(retrieve)}
    if record.effect != "same":
        values["beneficial_guidance"] = float((record.effect == "helps") == retrieve)
    return Judged(Question(_draw(record.question), record.question, record.gold), None, values)


def _draw(question: str) -> str:
    return hashlib.blake2b(question.encode(errors="surrogatepass"), digest_size=8).hexdigest()
