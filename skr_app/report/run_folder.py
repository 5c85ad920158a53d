"""A run: its folder, and asking and judging that goes on where an earlier run stopped.

| file | what |
|---|---|
| run.json | what the run was made with; a run with other things needs another folder |
| answers.jsonl | the log of answers |
| judgements.jsonl | the log of a judge's verdicts |
| result.json, result.md | the table, for programs and people |
| result.png | its plot, where the extra ``plots`` is installed |
| scores.jsonl | every answer with the values of its measures |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from skr_app.models import NO_LIMITS, Limits
from skr_app.output import escape, messages, progress
from skr_app.report.drawings import plot
from skr_app.report.tables import Result, to_markdown
from skr_core.budget import Price
from skr_core.cleaning import cleaned
from skr_core.errors import (
    DataError,
    InputError,
    MissingDependency,
    ModelError,
    StampMismatch,
    StoreError,
)
from skr_core.files import KeyedLog, encodable_json, json_line, read_jsonl, replace_file
from skr_core.files.foreign import check_parts
from skr_core.flow import arun
from skr_core.plain import from_plain, to_plain
from skr_core.texts import encodable
from skr_learn.evaluate import Answers, Judged, Measure, System, ask_all, judge_all

if TYPE_CHECKING:
    from skr_core.questions import Question

FILES = ("run.", "answers.", "judgements.", "result.", "scores.", "report.")
"""How the names of a run's files begin."""

_PRETTY = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE


@dataclass(frozen=True)
class ScoredRound:
    """A round of a scored answer.

    Attributes:
        queries: The queries that were searched.
        found: The number of new references.
        errors: The failures.
        verdict: The reason of the judgement; may be empty.
    """

    queries: tuple[str, ...] = ()
    found: int = 0
    errors: tuple[str, ...] = ()
    verdict: str = ""


@dataclass(frozen=True)
class ScoredAnswer:
    """A row of ``scores.jsonl``.

    Attributes:
        system: The system that answered.
        values: The values of its measures; None where one says nothing of it.
        id: The question's id.
        question: The question.
        gold: The right answers.
        answer: The answer; None where the system failed, or it was not kept.
        stop_reason: The reason why the loop ended.
        rounds: The rounds of the loop.
        references: The titles of the references, or how they begin.
        chance: The chance that the answer is right; None where it has none.
    """

    system: str
    values: Mapping[str, float | None]
    id: Any = ""
    question: str = ""
    gold: tuple[str, ...] = ()
    answer: str | None = None
    stop_reason: str = ""
    rounds: tuple[ScoredRound, ...] = ()
    references: tuple[str, ...] = ()
    chance: float | None = None


class RunFolder:
    """A run's folder, or a run that is kept in memory alone.

    Args:
        path: The folder; made if missing. None keeps nothing.
        stamp: The parts and settings that the run is made with, by name.

    Attributes:
        answers: The log of answers.
        judgements: The log of verdicts.

    Raises:
        StampMismatch: The folder holds a run that was made with something else.
        StoreError: A file of it would be one elsewhere.
        InputError: It cannot be written, or another process writes to it.

    Example:
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> RunFolder(folder, {"model": "small"}).close()
        >>> RunFolder(folder, {"model": "large"})  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        skr_core.errors.StampMismatch: ... was made with the model 'small', not 'large': ...
    """

    def __init__(self, path: str | Path | None, stamp: Mapping[str, str]) -> None:
        self._path = None if path is None else Path(path)
        self.stamp = {name: encodable(value) for name, value in stamp.items()}
        if self._path is not None:
            check_parts(self._path, FILES)
        # First, because its lock keeps others from making the folder theirs meanwhile.
        self.answers = KeyedLog(self._path and self._path / "answers.jsonl")
        try:
            if self._path is not None:
                _check_or_write(self._path, self.stamp)
            self.judgements = KeyedLog(self._path and self._path / "judgements.jsonl")
        except BaseException:
            self.answers.close()
            raise

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the logs back."""
        self.answers.close()
        self.judgements.close()

    def write(self, result: Result, judged: Mapping[str, Sequence[Judged]]) -> None:
        """Write what was found; nothing for a run that keeps nothing.

        Raises:
            StoreError: The disk does not take it.
        """
        if self._path is None:
            return
        files: dict[str, Iterable[bytes]] = {
            "result.json": [orjson.dumps(encodable_json(to_plain(result)), option=_PRETTY)],
            "result.md": [cleaned(to_markdown(result)).encode()],
            "scores.jsonl": map(json_line, score_rows(judged)),
        }
        with suppress(MissingDependency):  # what was measured is worth keeping without its plot
            files["result.png"] = [plot(result)]
        try:
            for name, content in files.items():
                replace_file(self._path / name, content)
        except OSError as error:
            raise StoreError(f"{self._path} cannot be written: {error}") from error


def read_result(folder: str | Path) -> Result:
    """The result in a run's folder.

    Raises:
        InputError: The folder holds none.
        DataError: It is broken.

    Example:
        >>> import tempfile
        >>> path = tempfile.mkdtemp()
        >>> with RunFolder(path, {"model": "small"}) as folder:
        ...     folder.write(Result("demo", "Does it pay?", {}, ()), {})
        >>> read_result(path).title, read_scores(path)
        ('Does it pay?', [])
    """
    path = Path(folder) / "result.json"
    if not path.is_file():
        raise InputError(f"{folder} holds no result of an evaluation or experiment")
    try:
        return from_plain(Result, orjson.loads(path.read_bytes()))
    except (orjson.JSONDecodeError, InputError, TypeError, AttributeError) as error:
        raise DataError(path, None, f"this is not a result ({error})") from error


def read_scores(folder: str | Path) -> list[dict[str, Any]]:
    """The rows of ``scores.jsonl``; none where there is no such file.

    Raises:
        DataError: A line is no answer with its scores.
    """
    path = Path(folder) / "scores.jsonl"
    rows = []
    for number, row in read_jsonl(path) if path.is_file() else ():
        try:
            rows.append(to_plain(from_plain(ScoredAnswer, row)))
        except InputError as error:
            raise DataError(path, number, f"this is no scored answer ({error})") from error
    return rows


def _check_or_write(path: Path, stamp: Mapping[str, str]) -> None:
    file = path / "run.json"
    try:
        if not file.exists():
            replace_file(file, orjson.dumps(dict(stamp), option=orjson.OPT_INDENT_2))
            return
        made: Any = orjson.loads(file.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error}") from error
    except orjson.JSONDecodeError as error:
        raise DataError(file, None, f"this is not JSON ({error})") from error
    if not isinstance(made, Mapping):
        raise DataError(file, None, "this is not what a run was made with")
    for name in sorted({*made, *stamp}):
        if (before := made.get(name)) != (now := stamp.get(name)):
            raise StampMismatch(
                f"the run in {path} was made with the {name} {before!r}, not {now!r}: "
                "give another folder to --out"
            )


def score_rows(judged: Mapping[str, Sequence[Judged]]) -> list[dict[str, Any]]:
    """The rows of ``scores.jsonl``, by the names of the systems."""
    return [_score_row(system, each) for system, answers in judged.items() for each in answers]


def _score_row(system: str, judged: Judged) -> dict[str, Any]:
    answer, question = judged.answer, judged.question
    rounds = [
        ScoredRound(
            each.queries,
            len(each.found),
            each.errors,
            each.reflection.reason if each.reflection else "",
        )
        for each in (answer.rounds if answer else ())
    ]
    references = [each.title or each.text[:60] for each in (answer.references if answer else ())]
    row: dict[str, Any] = to_plain(
        ScoredAnswer(
            system,
            dict(judged.values),
            question.id,
            question.question,
            question.gold,
            answer.text if answer else None,
            answer.stop_reason if answer else "failed",
            tuple(rounds),
            tuple(references),
            answer.chance if answer else None,
        )
    )
    return row


async def ask_and_judge(
    systems: Sequence[System],
    questions: Sequence[Question],
    folder: RunFolder,
    *,
    price: Price | None = None,
    measure: Measure | None = None,
    concurrency: int = 8,
    limits: Limits = NO_LIMITS,
    may_fail: bool = False,
) -> tuple[dict[str, Answers], dict[str, list[Judged]]]:
    """Ask every system every question, going on where an earlier run stopped; judge the answers.

    Args:
        systems: The systems, asked one after the other.
        questions: The questions that each is asked.
        folder: The folder of the run, with what was answered before.
        price: The price of the model's tokens; None counts no money.
        measure: The further measures by which the answers are judged.
        concurrency: The number of questions under way at a time.
        limits: The limits that a question keeps to.
        may_fail: Go on where a system after the first answers nothing at all, as a model may in
            one way of asking.

    Returns:
        The answers and the judged answers, by the names of the systems.

    Raises:
        ModelError: A system answered nothing at all.
    """
    answers: dict[str, Answers] = {}
    judged: dict[str, list[Judged]] = {}
    for system in systems:
        label = system.name.replace("_", " ")
        with progress(f"Asking ({label})") as advance:
            asked = await arun(
                ask_all(
                    limits.system(system),
                    questions,
                    folder.answers,
                    concurrency=concurrency,
                    on_progress=advance,
                )
            )
        if asked.n_failed == len(questions) and not (may_fail and answers):
            raise ModelError(f"every question failed ({label}); the last: {asked.last_failure}")
        if asked.n_failed:
            messages.print(
                f"[yellow]{asked.n_failed} questions failed ({escape(label)})[/yellow]; run it "
                f"again to ask them again. The last: {escape(asked.last_failure)}"
            )
        answers[system.name] = asked
        with progress(f"Judging ({label})") if measure else nullcontext():
            judged[system.name] = await arun(judge_all(asked, price=price, measure=measure))
    return answers, judged
