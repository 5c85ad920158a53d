"""Reliance by certainty on recorded answers, before and after an arbiter; no model is asked.

The recorded answer with retrieval stands in both places: whether it moved to the recorded passages,
and whether it is wrong where the direct answer is right. The passages are what a retriever found,
neither gold nor corrupted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any, ClassVar

import numpy as np

from skr_core.errors import InputError
from skr_core.ports import Embedder, OnProgress
from skr_core.questions import Question
from skr_lab.experiment import Bench, Found, Recorded
from skr_lab.experiments.recorded_certainty import CONFIDENCE, RIGHT
from skr_lab.experiments.reliance import (
    AFTER,
    CORRUPTION,
    LEVELS,
    PRUDENT,
    UTILISATION,
    VANILLA,
    Levelled,
    found_by_level,
    levels_of,
)
from skr_lab.metrics import relies
from skr_lab.opening import open_embedder, progress
from skr_learn.calibration.replaying import TWO
from skr_learn.calibration.weighing import Known, arbitrated
from skr_learn.evaluate import Judged
from skr_learn.learning.folds import folds
from skr_learn.learning.outcomes import ActionTable
from skr_learn.learning.signals import Training
from skr_learn.self_knowledge import read_self_knowledge
from skr_learn.self_knowledge.records import Outcome, SelfKnowledge

DRAWS = 5
"""Times the folds are drawn anew, over which what an arbiter serves is averaged."""
FEWEST = 50
"""Records; on fewer no arbiter is fitted."""


class RecordedReliance(Recorded):
    """Does it lean on documents the less, the surer it is? By answers that are on record."""

    name: ClassVar[str] = "recorded-reliance"
    reproduces: ClassVar[str] = "W2R §5, Figure 1"

    gamma: float = 0.0
    """The γ of the utilisation ratio: the overlap must grow by more."""
    embedder: str = "hashing"
    """The embedder of an arbiter that is cross-fitted on the records."""

    async def run(self, bench: Bench) -> Found:
        """Measure the records, and what an arbiter makes of them."""
        records = read_self_knowledge(self.recorded, skip_bad=self.skip_bad, mixed_stamps=True)
        records = records[: self.limit]
        settings = {"recorded": self.recorded.name, "embedder": self.embedder}
        bench.open_folder(command=self.name, **settings)
        embedder, fits = open_embedder(self.embedder), len(records) >= FEWEST
        with progress("Fitting an arbiter") if fits else nullcontext() as advance:
            found, notes = recorded_reliance(
                records, gamma=self.gamma, embedder=embedder, on_progress=advance
            )
        return found_by_level(found, settings, notes, gamma=self.gamma)


def recorded_reliance(
    records: Sequence[SelfKnowledge],
    *,
    gamma: float = 0.0,
    embedder: Embedder | None = None,
    on_progress: OnProgress | None = None,
) -> tuple[list[Levelled], list[str]]:
    """Measure records of a direct answer and one with retrieval.

    Args:
        records: With passages, where the utilisation is wanted.
        gamma: The γ of the utilisation ratio.
        embedder: The embedder of an arbiter that is cross-fitted on the records and measured
            beside; None fits none.
        on_progress: Called after each draw.

    Returns:
        Every record, and notes on what they lack.

    Raises:
        InputError: A record has no answer after one round of retrieval.
    """
    if any("single" not in each.outcomes for each in records):
        raise InputError("every record needs an answer after one round of retrieval (single)")
    fitted = embedder is not None and len(records) >= FEWEST
    served = _served(records, embedder, on_progress) if embedder is not None and fitted else None
    found = [
        _levelled(place, each, gamma, None if served is None else served[place])
        for place, each in enumerate(records)
    ]
    return found, list(_notes(records, found, fitted=fitted or embedder is None))


def _served(
    records: Sequence[SelfKnowledge], embedder: Embedder, on_progress: OnProgress | None
) -> Any:
    """Share of the draws in which the answer with retrieval is served, shape (n,)."""
    table = ActionTable.of(records, actions=TWO, unit="retrievals")
    known = Known.of(Training.of(list(records), embedder, table=table), embedder)
    retrieved = np.zeros((DRAWS, len(records)))
    for seed in range(DRAWS):
        for fit, judge in folds(known.training.groups, seed=seed):
            retrieved[seed, judge] = arbitrated(known[fit], known[judge]).served
        if on_progress is not None:
            on_progress(seed + 1, DRAWS)
    return retrieved.mean(axis=0)


def _levelled(place: int, record: SelfKnowledge, gamma: float, retrieved: float | None) -> Levelled:
    direct, single = record.direct, record.outcomes["single"]
    values: dict[str, float | None] = {
        "accuracy_none": direct.score,
        "accuracy_retrieved": single.score,
        **_rates(record, direct, single, gamma),
    }
    if retrieved is not None:  # where the direct answer is served, neither can happen
        after = _rates(record, direct, single, gamma)
        values |= {name + AFTER: retrieved * value for name, value in after.items()}
    question = Question(str(record.extra.get("id", place + 1)), record.question, record.gold)
    return Levelled(levels_of(*_said(record)), Judged(question, None, values))


def _rates(
    record: SelfKnowledge, direct: Outcome, single: Outcome, gamma: float
) -> dict[str, float]:
    rates = {CORRUPTION: float(direct.score >= RIGHT > single.score)}
    if document := _document(record):
        moved = relies(direct.answer, single.answer, document, gamma=gamma)
        rates[UTILISATION] = float(moved)
    elif (standing := single.standing) is not None:
        rates[UTILISATION] = float(standing.own - standing.direct > gamma)
    return rates


def _document(record: SelfKnowledge) -> str:
    passages = record.extra.get("passages")
    if not isinstance(passages, list):
        return ""
    texts = (each.get("text") for each in passages if isinstance(each, dict))
    return " ".join(text for text in texts if isinstance(text, str))


def _said(record: SelfKnowledge) -> tuple[bool | None, bool | None]:
    """The certainties by Vanilla and by Punish+Explain; None of what is not on record."""
    vanilla, prudent = (record.statements.get(CONFIDENCE + way) for way in (VANILLA, PRUDENT))
    return (
        record.direct.certain if vanilla is None else not vanilla.retrieve,
        None if prudent is None else not prudent.retrieve,
    )


def _notes(
    records: Sequence[SelfKnowledge], found: Sequence[Levelled], *, fitted: bool
) -> Iterator[str]:
    known = {level for each in found for level in each.levels}
    if known and not known & {LEVELS[0], LEVELS[3]}:
        yield "One certainty a question is on record: levels 0 and 3 need that of Punish+Explain."
    without = [each.outcomes["single"] for each in records if not _document(each)]
    if standing := sum(each.standing is not None for each in without):
        yield (
            f"{standing} of {len(records)} records hold no passage, but how the answers stand in "
            "the references: that is taken for their overlap."
        )
    if lacking := len(without) - standing:
        yield f"{lacking} of {len(records)} records hold no passage: not in the utilisation ratio."
    if not fitted:
        yield f"{len(records)} records are too few to fit an arbiter: {FEWEST} are needed."
