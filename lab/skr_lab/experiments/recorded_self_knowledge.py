"""SKR's Table 1 from answers that are on record: no model is asked, and some rows are missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import InputError
from skr_core.match import contains_gold, exact_match, token_f1
from skr_core.ports import Embedder
from skr_core.questions import Question
from skr_lab.experiment import Bench, Found, Recorded
from skr_lab.experiments.self_knowledge import DIRECT, GUIDANCE, RETRIEVED, WHEN_KNOWN
from skr_lab.experiments.skr_tables import TABLES
from skr_lab.opening import Result, compare, open_embedder, progress, row_of
from skr_learn import Records
from skr_learn.aims import Aim, Baseline
from skr_learn.calibrating import judge
from skr_learn.candidates import candidates_of, statements_of
from skr_learn.evaluate import Judged
from skr_learn.records import Outcome, Record
from skr_learn.replaying import training_of
from skr_learn.training import Training

SCORE, ORACLE = "recorded_score", "oracle"
MEASURES = (
    *(SCORE, "exact_match", "token_f1", "contains", "retrieved", GUIDANCE, WHEN_KNOWN),
    *("calls", "prompt_tokens", "completion_tokens"),
)
ROUTERS = {
    "skr_prompt": "prompt:additional_information",
    "skr_icl": "in_context",
    "skr_cls": "classifier",
    "skr_knn": "paper",
}
"""The paper's names, and those that calibration knows them by."""

TEMPORAL = "skr/temporalqa"
"""Where a record of SKR's own run on TemporalQA says that it is from."""
PUBLISHED = {
    DIRECT: (44.57, 54.22),
    RETRIEVED: (47.42, 57.37),
    "skr_prompt": (45.71, 56.31),
    "skr_icl": (47.42, 57.74),
    "skr_cls": (46.28, 56.54),
    "skr_knn": (48.00, 58.47),
}
"""Exact match and F1 of InstructGPT on TemporalQA (Table 1)."""

FOLDED = (
    "No router is judged on a question it was fitted on: it is fitted on four fifths of these "
    "records and judged on the last. The paper fits on training questions of their own."
)


class RecordedSelfKnowledge(Recorded):
    """Does it pay to know what one knows? By answers that are on record, without some rows."""

    name: ClassVar[str] = "recorded-self-knowledge"
    reproduces: ClassVar[str] = "SKR Table 1 (InstructGPT on TemporalQA)"

    embedder: str = "hashing"
    """The embedder of questions."""

    async def run(self, bench: Bench) -> Found:
        """Fit the routers on folds, and judge what they choose."""
        records = Records.read(self.recorded, skip_bad=self.skip_bad)[: self.limit]
        settings = {
            "recorded": self.told(each.question for each in records),
            "embedder": self.embedder,
        }
        bench.open_folder(command=self.name, **settings)
        with progress("Fitting the routers"):
            result, judged = recorded_table(records, open_embedder(self.embedder), settings)
        return Found(result, judged, {"n": len(records)})


def recorded_table(
    records: Sequence[Record], embedder: Embedder, settings: Mapping[str, str]
) -> tuple[Result, dict[str, list[Judged]]]:
    """The rows that records allow: both answers, what routers choose of them, and the oracle.

    Scores are the recorded ones; the other measures compare the recorded answers' texts anew.

    Args:
        records: Records with a direct answer and one from a round of retrieval each.
        embedder: The embedder of questions.
        settings: Shown above the table.

    Returns:
        The table, and the values that it is made of.

    Raises:
        InputError: A record lacks an answer.

    Example:
        >>> from skr_core.models.embedders import HashingEmbedder
        >>> records = [
        ...     Record.of(f"{word} {n}?", ["Ada"], direct=(own, own == "Ada"),
        ...                      single=(found, found == "Ada"))
        ...     for word, own, found in (("Who wrote", "Ada", "Bob"), ("When was", "Bob", "Ada"))
        ...     for n in range(10)
        ... ]
        >>> result, _ = recorded_table(records, HashingEmbedder(), {})
        >>> [(row.name, row.cells["exact_match"].mean) for row in result.rows][:2]
        [('manual_cot', 0.5), ('cot_ir', 0.5)]
    """
    training = training_of(
        records, embedder=embedder, actions=("direct", "single"), cost="retrievals"
    )
    decided, notes = _decisions(training)
    scores, n = training.table.scores, len(records)
    chosen = {
        DIRECT: np.zeros(n, dtype=bool),
        RETRIEVED: np.ones(n, dtype=bool),
        **decided,
        ORACLE: scores[:, 1] > scores[:, 0],
    }
    judged = {
        name: [
            _judged(each, bool(retrieves))
            for each, retrieves in zip(training.records, retrieve, strict=True)
        ]
        for name, retrieve in chosen.items()
    }
    rows = [row_of(name, each, MEASURES) for name, each in judged.items()]
    if {str(each.extra.get("source")) for each in records} == {TEMPORAL}:
        notes += _against_the_paper(judged)
    result = Result(
        "self-knowledge",
        TABLES["self-knowledge"].title,
        settings,
        rows=tuple(rows),
        comparisons=tuple(
            compare(name, judged[name], other, judged[other], MEASURES)
            for name in decided
            for other in (DIRECT, RETRIEVED)
        ),
        plotted=(SCORE, "exact_match", "retrieved"),
        notes=tuple(notes),
    )
    return result, judged


def _decisions(training: Training) -> tuple[dict[str, NDArray[np.bool_]], list[str]]:
    """The decisions of each router on records it was not fitted on, and why others are missing."""
    stated, baseline = statements_of(training.records), Baseline.of(training.table)
    decided: dict[str, NDArray[np.bool_]] = {}
    notes = [FOLDED, "Other rows of the table are not on record."]
    for name, known_as in ROUTERS.items():
        try:
            (candidate,) = candidates_of([known_as], training.table.actions, stated)
            found = judge(candidate, training, Aim(), baseline, anyway=True)
        except InputError as error:
            notes.append(f"{name} is left out: {error}.")
        else:
            assert found is not None  # anyway
            decided[name] = found.served.retrieved
    return decided, notes


def _judged(record: Record, retrieve: bool) -> Judged:
    direct, single = record.outcomes["direct"], record.outcomes["single"]
    outcome: Outcome = single if retrieve else direct
    values: dict[str, float | None] = {SCORE: outcome.score, "retrieved": float(retrieve)}
    if record.gold:
        values["exact_match"] = float(exact_match(outcome.answer, record.gold))
        values["token_f1"] = token_f1(outcome.answer, record.gold)
        values["contains"] = float(contains_gold(outcome.answer, record.gold))
    if direct.score != single.score:
        values[GUIDANCE] = float(retrieve == (single.score > direct.score))
    if not retrieve:
        values[WHEN_KNOWN] = direct.score
    if outcome.usage is not None:
        values["calls"] = float(outcome.usage.calls)
        values["prompt_tokens"] = float(outcome.usage.prompt_tokens)
        values["completion_tokens"] = float(outcome.usage.completion_tokens)
    return Judged(Question(record.question, record.question, record.gold), None, values)


def _against_the_paper(judged: Mapping[str, Sequence[Judged]]) -> list[str]:
    """How this recording differs from the paper's row, in figures."""
    n = len(judged[DIRECT])

    def right(name: str, measure: str) -> int:
        return round(sum(each.values.get(measure) or 0.0 for each in judged[name]))

    published = ", ".join(f"{name} {em:.2f} / {f1:.2f}" for name, (em, f1) in PUBLISHED.items())
    paper = {name: round(PUBLISHED[name][0] * n / 100) for name in (DIRECT, RETRIEVED)}
    return [
        f"The paper's row for InstructGPT (exact match / F1): {published}.",
        f"This recording is not the run of that row. The paper has {paper[DIRECT]} and "
        f"{paper[RETRIEVED]} of {n} right without and with passages; by the recorded score it is "
        f"{right(DIRECT, SCORE)} and {right(RETRIEVED, SCORE)}, by exact match of what follows "
        f'"the answer is" {right(DIRECT, "exact_match")} and {right(RETRIEVED, "exact_match")}. '
        "The recorded score takes the gold answer itself wherever any sentence of the reply names "
        "it, so it is no exact match of an answer; the model's version is not on record.",
        "The paper fits on 849 explicit and ordinal questions; they are not on record. The model's "
        "own words on what it needs (SKR prompt and icl) are not either.",
    ]
