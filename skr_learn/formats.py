"""Rows of a file as records: our own, and recordings of others.

| row holds | what it is |
|---|---|
| ``outcomes`` | a record as it is written today |
| ``answer_direct`` | a pair of recorded answers, with or without a third of several steps |

Of a recording only what stands here by name is ever read into an outcome. Other fields stay in
``extra``; some of them were computed from the right answer, and no router may learn from those.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from skr_core.candidates import Standing
from skr_core.errors import DataError, InputError
from skr_core.files import Place, read_rows
from skr_core.plain import from_plain
from skr_core.questions import types_of
from skr_core.replies.opening import strip_thoughts
from skr_core.rivals import plain_text, standing_in
from skr_core.types import ACTIONS, Action, Stamp
from skr_learn.records import Outcome, Record, Statement

T = TypeVar("T")

REASONING_FIELDS = ("direct_chain_of_thought", "chain_of_thought_direct", "generation_direct")

LOGPROB_FIELDS = ("direct_logprob", "generation_score_direct")

UNCERTAIN_FIELD = "giveup"

TYPE_FIELD = "temporal_type"

KEPT_OF_PAIR = ("id", "source", "confidence_raw", "passages")


def read_records(
    path: Any,
    *,
    skip_bad: bool = False,
    on_skipped: Callable[[DataError], None] | None = None,
) -> Iterator[Record]:
    """The records of a file or a table, whoever wrote it.

    Args:
        path: The file, or what else `skr_core.files.read_rows` reads, such as a DataFrame.
        skip_bad: Leave out bad lines instead of raising.
        on_skipped: Told of each bad line that is left out.

    Raises:
        InputError: There is no such file.
        DataError: A line is bad.
    """
    for place, row in _latest(path, skip_bad):
        try:
            yield record_of(row, place.source, place.line)
        except DataError as error:
            if not skip_bad:
                raise
            if on_skipped is not None:
                on_skipped(error)


def latest_rows(path: str | Path, *, skip_bad: bool = False) -> list[tuple[int, dict[str, Any]]]:
    """The rows of a file with their line numbers; of two with one key the later counts.

    A collection adds what it has learnt since.

    Args:
        path: The file.
        skip_bad: Leave out lines that are not JSON objects instead of raising.

    Raises:
        InputError: There is no such file.
        DataError: A line is not a JSON object.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "rows.jsonl"
        >>> size = path.write_text('{"key": "a", "n": 1}\\n{"n": 2}\\n{"key": "a", "n": 3}')
        >>> [row["n"] for _, row in latest_rows(path)]
        [3, 2]
    """
    return [(place.number, row) for place, row in _latest(path, skip_bad)]


def _latest(source: Any, skip_bad: bool) -> Iterable[tuple[Place, dict[str, Any]]]:
    rows: dict[object, tuple[Place, dict[str, Any]]] = {}
    for place, row in read_rows(source, skip_bad=skip_bad):
        key = row.get("key")
        rows[key if isinstance(key, str) else place.number] = place, row
    return rows.values()


def record_of(row: Mapping[str, Any], path: str | Path, number: int | None) -> Record:
    """Read one row of a file.

    Args:
        row: A JSON object.
        path: The file, for errors.
        number: The line, for errors; None where the path says which row it is.

    Raises:
        DataError: The row lacks something; the message names the field.

    Example:
        >>> pair = {"question": "Who?", "answer_direct": "Bob", "correct_direct": 0,
        ...         "answer_retrieved": "Ada", "correct_retrieved": 1}
        >>> sorted(record_of(pair, "pairs.jsonl", 1).outcomes)
        ['direct', 'single']
    """
    reader = _Row(row, path, number)
    if "outcomes" in row:
        return reader.own()
    if "answer_direct" in row:
        return reader.pair()
    raise DataError(
        path, number, "this is no record of answers: skr collect makes them of questions"
    )


def number_of(value: Any) -> float | None:
    """A recorded value as a number: booleans count 0 and 1, also where they are texts.

    Example:
        >>> number_of("True"), number_of(0.5), number_of(float("nan")), number_of("Paris")
        (1.0, 0.5, None, None)
    """
    if isinstance(value, str):
        value = {"true": True, "false": False}.get(value.strip().lower(), value)
        try:
            value = float(value)
        except ValueError:
            return None
    if not isinstance(value, bool | int | float) or not math.isfinite(value):
        return None
    return float(value)


class _Row:
    """A row with the place it comes from; what is wrong is an error that names it."""

    def __init__(self, row: Mapping[str, Any], path: str | Path, number: int | None) -> None:
        self._row, self._path, self._number = row, path, number

    def own(self) -> Record:
        rows = self._row["outcomes"]
        if not isinstance(rows, Mapping) or "direct" not in rows or not {*rows} & {*ACTIONS[1:]}:
            raise self._wrong("outcomes", "an object with direct and single or loop")
        outcomes: dict[Action, Outcome] = {}
        for action in ACTIONS:
            if action in rows:
                outcomes[action] = self._outcome(rows[action], f"outcomes.{action}")
        said = self._mapping("statements")
        return self._record(
            outcomes,
            self._mapping("stamp"),
            self._mapping("extra"),
            {name: self._statement(each, f"statements.{name}") for name, each in said.items()},
        )

    def pair(self) -> Record:
        row, extra = self._row, self._mapping("extra")
        extra |= {name: row[name] for name in KEPT_OF_PAIR if name in row}
        if named := types_of(row.get("type", extra.get(TYPE_FIELD))):
            extra["type"] = ", ".join(named)
        gave_up = number_of(extra.get(UNCERTAIN_FIELD))
        reasoning = next((extra[each] for each in REASONING_FIELDS if extra.get(each)), "")
        direct, retrieved = (_said(row.get(name)) for name in ("answer_direct", "answer_retrieved"))
        outcomes: dict[Action, Outcome] = {
            "direct": Outcome(
                direct,
                self._score("correct_direct"),
                retrievals=0.0,
                reasoning=plain_text(reasoning),
                logprob=_first_number(extra, LOGPROB_FIELDS),
                certain=None if gave_up is None else not gave_up,
            ),
            "single": Outcome(
                retrieved,
                self._score("correct_retrieved"),
                retrievals=1.0,
                rounds=1,
                standing=_standing_in(row.get("passages"), direct, retrieved),
            ),
        }
        if (several := number_of(extra.get("correct_multistep"))) is not None:
            outcomes["loop"] = Outcome(
                _said(extra.get("answer_multistep")),
                several,
                retrievals=number_of(extra.get("multistep_steps")),
            )
        return self._record(outcomes, row, extra)

    def _record(
        self,
        outcomes: Mapping[Action, Outcome],
        stamp: Mapping[str, Any],
        extra: Mapping[str, Any],
        statements: Mapping[str, Statement] | None = None,
    ) -> Record:
        question = self._row.get("question")
        if not isinstance(question, str) or not question.strip():
            raise self._wrong("question", "a text that is not empty")
        gold = self._row.get("gold") or ()
        gold = (gold,) if isinstance(gold, str) else gold
        if not isinstance(gold, list | tuple) or not all(isinstance(each, str) for each in gold):
            raise self._wrong("gold", "a list of texts")
        names = {each.name: str(stamp.get(each.name) or "") for each in fields(Stamp)}
        return Record(
            question.strip(), tuple(gold), outcomes, Stamp(**names), statements or {}, extra
        )

    def _outcome(self, given: Any, name: str) -> Outcome:
        if not isinstance(given, Mapping):
            raise self._wrong(name, "an object")
        self._in_range(given.get("score"), f"{name}.score")
        if not isinstance(given.get("answer"), str):
            raise self._wrong(f"{name}.answer", "a text")
        return self._typed(Outcome, given, name)

    def _statement(self, given: Any, name: str) -> Statement:
        if not isinstance(given, Mapping) or not isinstance(given.get("retrieve"), bool):
            raise self._wrong(name, "an object with retrieve")
        return self._typed(Statement, given, name)

    def _typed(self, kind: type[T], given: Mapping[str, Any], name: str) -> T:
        try:
            return from_plain(kind, given)
        except InputError as error:
            raise DataError(self._path, self._number, f"{name}: {error}") from error

    def _mapping(self, name: str) -> dict[str, Any]:
        value = self._row.get(name)
        return dict(value) if isinstance(value, Mapping) else {}

    def _score(self, name: str) -> float:
        return self._in_range(self._row.get(name), name)

    def _in_range(self, value: Any, name: str) -> float:
        if not isinstance(value, bool | int | float) or not 0 <= value <= 1:
            raise self._wrong(name, f"a number from 0 to 1, not {value!r:.60}")
        return float(value)

    def _wrong(self, name: str, what: str) -> DataError:
        return DataError(self._path, self._number, f'the field "{name}" must be {what}')


def _said(value: Any) -> str:
    """Return a recorded answer as a served one is read: without quotes and thoughts."""
    return strip_thoughts(plain_text(value))


def _standing_in(passages: Any, direct: str, retrieved: str) -> Standing | None:
    """How both answers stand in the passages that a recording keeps; None where it keeps none."""
    if not isinstance(passages, list):
        return None
    rows = (each for each in passages if isinstance(each, Mapping))
    texts = [each["text"] for each in rows if isinstance(each.get("text"), str)]
    return standing_in(direct, retrieved, texts) if texts else None


def _first_number(extra: Mapping[str, Any], names: tuple[str, ...]) -> float | None:
    found = (number_of(extra[each]) for each in names if each in extra)
    return next((each for each in found if each is not None), None)
