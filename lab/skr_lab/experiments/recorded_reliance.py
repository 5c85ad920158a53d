"""Reliance by certainty on recorded answers, before and after an arbiter; no model is asked.

The recorded answer with retrieval stands in both places: whether it moved to the recorded passages,
and whether it is wrong where the direct answer is right. The passages are what a retriever found,
neither gold nor corrupted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import ClassVar

from skr_core.errors import InputError
from skr_core.ports import Embedder
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
from skr_learn import Records
from skr_learn.aims import Aim, Baseline
from skr_learn.calibrating import judge
from skr_learn.candidates import candidates_of
from skr_learn.evaluate import Judged
from skr_learn.records import Outcome, Record, in_fixed_order
from skr_learn.replaying import training_of

FEWEST = 50
"""Records; on fewer no arbiter is fitted."""


class RecordedReliance(Recorded):
    """Does it lean on documents the less, the surer it is? By answers that are on record."""

    name: ClassVar[str] = "recorded-reliance"
    reproduces: ClassVar[str] = "W2R §5, Figure 1"

    gamma: float = 0.0
    """The γ of the utilisation ratio: the overlap must grow by more."""
    embedder: str | None = None
    """The embedder that an arbiter, cross-fitted on the records, looks at beside words."""

    async def run(self, bench: Bench) -> Found:
        """Measure the records, and what an arbiter makes of them."""
        records = Records.read(self.recorded, skip_bad=self.skip_bad, mixed_stamps=True)
        records = records[: self.limit]
        settings = {
            "recorded": self.told(each.question for each in records),
            "embedder": self.embedder or "words alone",
        }
        bench.open_folder(command=self.name, **settings)
        embedder = None if self.embedder is None else open_embedder(self.embedder)
        with progress("Fitting an arbiter") if len(records) >= FEWEST else nullcontext():
            found, notes = recorded_reliance(records, gamma=self.gamma, embedder=embedder)
        return found_by_level(found, settings, notes, gamma=self.gamma)


def recorded_reliance(
    records: Sequence[Record], *, gamma: float = 0.0, embedder: Embedder | None = None
) -> tuple[list[Levelled], list[str]]:
    """Measure records of a direct answer and one with retrieval.

    Where there are enough of them, an arbiter is cross-fitted on the records and measured beside.

    Args:
        records: With passages, where the utilisation is wanted.
        gamma: The γ of the utilisation ratio.
        embedder: The embedder that the arbiter looks at beside words.

    Returns:
        Every record, and notes on what they lack.

    Raises:
        InputError: A record has no answer after one round of retrieval.
    """
    if any("single" not in each.outcomes for each in records):
        raise InputError("every record needs an answer after one round of retrieval (single)")
    records = in_fixed_order(records)
    fitted = len(records) >= FEWEST
    served = _served(records, embedder) if fitted else [None] * len(records)
    found = [
        _levelled(place, each, gamma, retrieved)
        for place, (each, retrieved) in enumerate(zip(records, served, strict=True))
    ]
    return found, list(_notes(records, found, fitted=fitted))


def _served(records: Sequence[Record], embedder: Embedder | None) -> Sequence[bool]:
    """Whether the arbiter, which has seen none of these questions, serves the retrieved answer."""
    training = training_of(
        records, embedder=embedder, actions=("direct", "single"), cost="retrievals"
    )
    (arbiter,) = candidates_of(["arbiter"], training.table.actions)
    found = judge(arbiter, training, Aim(), Baseline.of(training.table), anyway=True)
    assert found is not None  # anyway
    return [bool(answer) for answer in found.served.answers]


def _levelled(place: int, record: Record, gamma: float, retrieved: bool | None) -> Levelled:
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


def _rates(record: Record, direct: Outcome, single: Outcome, gamma: float) -> dict[str, float]:
    rates = {CORRUPTION: float(direct.score >= RIGHT > single.score)}
    if document := _document(record):
        moved = relies(direct.answer, single.answer, document, gamma=gamma)
        rates[UTILISATION] = float(moved)
    elif (standing := single.standing) is not None:
        rates[UTILISATION] = float(standing.own - standing.direct > gamma)
    return rates


def _document(record: Record) -> str:
    passages = record.extra.get("passages")
    if not isinstance(passages, list):
        return ""
    texts = (each.get("text") for each in passages if isinstance(each, dict))
    return " ".join(text for text in texts if isinstance(text, str))


def _said(record: Record) -> tuple[bool | None, bool | None]:
    """The certainties by Vanilla and by Punish+Explain; None of what is not on record."""
    vanilla, prudent = (record.statements.get(CONFIDENCE + way) for way in (VANILLA, PRUDENT))
    return (
        record.direct.certain if vanilla is None else not vanilla.retrieve,
        None if prudent is None else not prudent.retrieve,
    )


def _notes(records: Sequence[Record], found: Sequence[Levelled], *, fitted: bool) -> Iterator[str]:
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
