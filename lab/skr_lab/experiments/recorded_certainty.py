"""W2R's measures of recorded answers whose certainty is on record; no model is asked.

| row holds | the certainty is |
|---|---|
| ``extra.giveup`` | uncertain where true |
| ``extra.confidence_1_to_5`` | certain from a grade on |
| ``confidence_raw`` | read as a reply is |
| ``outcomes`` | the statement to each router ``confidence:...``, or that of the direct answer |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from skr_core.errors import DataError, InputError
from skr_core.match import contains_gold
from skr_core.questions import Question
from skr_core.replies.certainty import parse_certainty
from skr_core.replies.opening import strip_thoughts
from skr_core.rivals import plain_text
from skr_core.types import Usage
from skr_lab.experiment import Bench, Found, Recorded
from skr_lab.experiments.certainty import ALL, MEASURES, RETRIEVAL, TITLE, figures
from skr_lab.metrics import CERTAINTY_MEASURES, certainty_values
from skr_lab.opening import Result, row_of
from skr_learn.evaluate import Judged
from skr_learn.formats import (
    UNCERTAIN_FIELD,
    latest_rows,
    number_of,
    record_of,
)

GRADE_FIELD, REPLY_FIELD = "confidence_1_to_5", "confidence_raw"
CERTAIN_FROM = 4
"""The grade from which a confidence is certain: of five, more than the middle one."""
RIGHT = 0.5
"""The score from which an answer counts as right."""
CONFIDENCE = "confidence:"
"""How the statements of `ConfidenceRouter` are named on record."""


class RecordedCertainty(Recorded):
    """Does the model know what it knows? By certainties that are on record."""

    name: ClassVar[str] = "recorded-certainty"
    reproduces: ClassVar[str] = "W2R Tables 2, 3, 6 and 7"

    certain_from: int = Field(default=CERTAIN_FROM, ge=1, le=5)
    """The grade from which a confidence of 1 to 5 counts as certain."""

    async def run(self, bench: Bench) -> Found:
        """Measure the file."""
        read = read_certainty(
            self.recorded, certain_from=self.certain_from, limit=self.limit, skip_bad=self.skip_bad
        )
        groups = [group for name, group in read.groups.items() if name != ALL]
        settings = {
            "recorded": self.told(each.question.question for some in groups for each in some)
        }
        bench.open_folder(command=self.name, recorded=self.recorded.name)
        result = read.result(settings)
        return Found(result, read.groups, figures(result))


@dataclass(frozen=True, slots=True)
class Stated:
    """One recorded answer with its certainty.

    Attributes:
        group: The model, and the way of asking where the records tell it.
        question: The question that was asked.
        source: Where the certainty is on record; empty where none is.
        certain: Whether the model was certain; None where that cannot be read.
        right: Whether the answer is right; None where no right answer is on record.
        retrieved_right: The same of the answer with retrieval; None where there is none.
        usage: The cost of asking, where that is on record.
    """

    group: str
    question: Question
    source: str
    certain: bool | None
    right: bool | None
    retrieved_right: bool | None = None
    usage: Usage | None = None

    @property
    def values(self) -> dict[str, float | None]:
        """W2R's measures, 0 or 1, with the accuracy of static and adaptive retrieval (§7)."""
        values: dict[str, float | None] = dict.fromkeys(CERTAINTY_MEASURES)
        if self.certain is not None and self.right is not None:
            values |= certainty_values(self.certain, self.right)
        if self.retrieved_right is not None and self.right is not None:
            adaptive = self.right if self.certain else self.retrieved_right
            values["static"] = float(self.retrieved_right)
            values["adaptive"] = None if self.certain is None else float(adaptive)
        if self.usage is not None:
            for name in ("calls", "prompt_tokens", "completion_tokens"):
                values[name] = float(getattr(self.usage, name))
        return values


@dataclass(frozen=True)
class Certainties:
    """The rows of a file by group, and what the file lacks, in words.

    Attributes:
        groups: Judged answers by group; of all under ``all`` where there are several models.
        notes: Notes for the reader.
    """

    groups: Mapping[str, list[Judged]]
    notes: tuple[str, ...]

    def result(self, settings: Mapping[str, str]) -> Result:
        """The table: a row for each group."""
        measures = (*CERTAINTY_MEASURES, *RETRIEVAL, *MEASURES[len(CERTAINTY_MEASURES) :])
        return Result(
            "certainty",
            TITLE,
            settings,
            rows=tuple(row_of(name, each, measures) for name, each in self.groups.items()),
            plotted=("alignment", "accuracy", "overconfidence", "static", "adaptive"),
            notes=self.notes,
        )


def read_certainty(
    path: str | Path,
    *,
    certain_from: int = CERTAIN_FROM,
    limit: int | None = None,
    skip_bad: bool = False,
) -> Certainties:
    """Measure a file of recorded answers, plain or gzip-compressed.

    Args:
        path: The file.
        certain_from: The grade from which a confidence of one to five is certain.
        limit: Lines at most.
        skip_bad: Leave out bad lines instead of raising.

    Raises:
        InputError: There is no such file, or none of its rows states a certainty.
        DataError: A line is bad.

    Example:
        >>> import json, tempfile
        >>> path = Path(tempfile.mkdtemp()) / "pairs.jsonl"
        >>> row = {"question": "Who?", "gold": ["Ada"], "answer_direct": "Bob", "model": "m",
        ...        "correct_direct": False, "correct_retrieved": True, "extra": {"giveup": True}}
        >>> size = path.write_text(json.dumps(row))
        >>> values = read_certainty(path).groups["m"][0].values
        >>> values["unc_rate"], values["alignment"], values["adaptive"]
        (1.0, 1.0, 1.0)
    """
    path = Path(path)
    read = list(_read(path, certain_from, limit, skip_bad))
    if not any(each.source for each in read):
        raise InputError(
            f"{path}: no row states a certainty: it takes extra.{UNCERTAIN_FIELD}, "
            f"extra.{GRADE_FIELD}, {REPLY_FIELD}, or records of  skr collect --ask confidence"
        )
    judgeable = [each for each in read if each.right is not None]
    if not judgeable:
        raise InputError(f"{path}: no row says which answer is right")
    groups: dict[str, list[Judged]] = {}
    # Ways of asking are compared, not averaged: each asks the same questions.
    models = {each.group for each in judgeable if each.source != CONFIDENCE}
    for each in judgeable:
        judged = Judged(each.question, None, each.values)
        if len(models) > 1:
            groups.setdefault(ALL, []).append(judged)
        groups.setdefault(each.group, []).append(judged)
    return Certainties(groups, tuple(_notes(read, judgeable, certain_from)))


def _read(path: Path, certain_from: int, limit: int | None, skip_bad: bool) -> Iterator[Stated]:
    for number, row in islice(latest_rows(path, skip_bad=skip_bad), limit):
        try:
            if "outcomes" in row:
                yield from _of_record(row, path, number)
            else:
                yield _of_pair(row, path, number, certain_from)
        except DataError:
            if not skip_bad:
                raise


def _of_pair(row: Mapping[str, Any], path: Path, number: int, certain_from: int) -> Stated:
    asked, gold, extra = row.get("question"), row.get("gold") or [], row.get("extra")
    if not isinstance(asked, str) or not asked.strip():
        raise DataError(path, number, 'the field "question" must be a text that is not empty')
    if not isinstance(gold, list) or not all(isinstance(each, str) for each in gold):
        raise DataError(path, number, 'the field "gold" must be a list of texts')
    extra = extra if isinstance(extra, Mapping) else {}
    source, certain = _certainty(row, extra, certain_from)
    return Stated(
        str(row.get("model") or "recorded"),
        Question(str(row.get("id", number)), asked.strip(), tuple(gold)),
        source,
        certain,
        _right(row, "direct", gold),
        _right(row, "retrieved", gold),
    )


def _certainty(
    row: Mapping[str, Any], extra: Mapping[str, Any], certain_from: int
) -> tuple[str, bool | None]:
    """Where a certainty is on record, and what it is where it can be read."""
    if (gave_up := number_of(extra.get(UNCERTAIN_FIELD))) is not None:
        return UNCERTAIN_FIELD, not gave_up
    if (grade := number_of(extra.get(GRADE_FIELD))) is not None:
        return GRADE_FIELD, grade >= certain_from
    said = row.get(REPLY_FIELD)
    if isinstance(said, str) and said.strip():
        return REPLY_FIELD, parse_certainty(strip_thoughts(said)).certain
    return "", None


def _right(row: Mapping[str, Any], which: str, gold: list[str]) -> bool | None:
    if (score := number_of(row.get(f"correct_{which}"))) is not None:
        return score >= RIGHT
    said = row.get(f"answer_{which}")
    return contains_gold(plain_text(said), gold) if gold and isinstance(said, str) else None


def _of_record(row: Mapping[str, Any], path: Path, number: int) -> Iterator[Stated]:
    record = record_of(row, path, number)
    question = Question(str(record.extra.get("id", number)), record.question, record.gold)
    model, direct = record.stamp.model or "recorded", record.direct
    plain = Stated(
        model,
        question,
        "" if direct.certain is None else "direct",
        direct.certain,
        direct.score >= RIGHT,
        record.retrieved.score >= RIGHT,
    )
    said = {
        name.removeprefix(CONFIDENCE): each
        for name, each in record.statements.items()
        if name.startswith(CONFIDENCE)
    }
    if not said:
        yield plain
    for strategy, each in said.items():
        score = direct.score if each.draft_score is None else each.draft_score
        yield replace(
            plain,
            group=f"{model}, {strategy}",
            source=CONFIDENCE,
            certain=not each.retrieve,
            right=score >= RIGHT,
            usage=each.usage,
        )


def _notes(read: list[Stated], judged: list[Stated], certain_from: int) -> Iterator[str]:
    if any(each.source == GRADE_FIELD for each in judged):
        yield f"A confidence of 1 to 5 is certain from {certain_from} on."
    silent = sum(not each.source for each in judged)
    if silent:
        yield f"{silent} of {len(judged)} rows state no certainty and count as failed."
    if unread := sum(bool(each.source) and each.certain is None for each in judged):
        yield f"{unread} of {len(judged)} rows state a certainty that cannot be read; they failed."
    if left_out := [each for each in read if each.right is None]:
        known = [each.certain for each in left_out if each.certain is not None]
        yield (
            f"{len(left_out)} of {len(read)} rows hold no right answer, as of questions that have "
            f"none: left out. The model is uncertain of {known.count(False)} of them."
        )
    lacking = sum(each.retrieved_right is None for each in judged)
    if lacking == len(judged):
        yield "The file holds no answers with retrieval: static and adaptive are not known."
    elif lacking:
        yield f"{lacking} rows hold no answer with retrieval: not in static and adaptive."
    if any(each.usage is None for each in judged):
        yield "The file does not say what asking cost."
