"""The folder of a run: what it was made with, its journals, and what it found.

| file | what |
|---|---|
| run.json | what the run was made with; a run with other things needs another folder |
| answers.jsonl | the journal of answers |
| judgements.jsonl | the journal of a judge's verdicts |
| result.json, result.md, result.png | the table, for programs and people, and its plot |
| scores.jsonl | every answer with the values of its measures |
| curve.json | what ``skr calibrate --json`` printed, where it was put there |
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from skr_core.errors import DataError, InputError, StampMismatch
from skr_core.evaluation.report.plots import plot
from skr_core.evaluation.report.tables import Result, to_markdown
from skr_core.evaluation.running.log import Journal
from skr_core.evaluation.running.measuring import Judged
from skr_core.files import read_jsonl
from skr_core.plain import from_plain, to_plain


class RunFolder:
    """A run's folder, or a run that is kept in memory alone.

    Args:
        path: The folder; made if missing. None keeps nothing.
        stamp: What the run is made with, by name.

    Attributes:
        answers: The journal of answers.
        judgements: The journal of verdicts.

    Raises:
        StampMismatch: The folder holds a run that was made with something else.
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
        self.stamp = dict(stamp)
        if self._path is not None:
            _check_or_write(self._path, self.stamp)
        self.answers = Journal(self._path and self._path / "answers.jsonl")
        try:
            self.judgements = Journal(self._path and self._path / "judgements.jsonl")
        except BaseException:
            self.answers.close()
            raise

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the journals back."""
        self.answers.close()
        self.judgements.close()

    def write(self, result: Result, judged: Mapping[str, Sequence[Judged]]) -> None:
        """Write what was found; nothing for a run that keeps nothing."""
        if self._path is None:
            return
        pretty = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        _replace(self._path / "result.json", orjson.dumps(to_plain(result), option=pretty))
        _replace(self._path / "result.md", to_markdown(result).encode())
        _replace(self._path / "result.png", plot(result))
        lines = (
            orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
            for system, answers in judged.items()
            for row in (_score_row(system, each) for each in answers)
        )
        _replace(self._path / "scores.jsonl", b"".join(lines))


def read_result(folder: str | Path) -> Result:
    """The result in a run's folder.

    Raises:
        InputError: The folder holds none.
        DataError: It is broken.
    """
    path = Path(folder) / "result.json"
    if not path.is_file():
        raise InputError(f"{folder} holds no result of an evaluation or experiment")
    try:
        return from_plain(Result, orjson.loads(path.read_bytes()))
    except (orjson.JSONDecodeError, InputError, TypeError, AttributeError) as error:
        raise DataError(path, None, f"this is not a result ({error})") from error


def read_scores(folder: str | Path) -> list[dict[str, Any]]:
    """The rows of ``scores.jsonl``; none where there is no such file."""
    path = Path(folder) / "scores.jsonl"
    return [row for _, row in read_jsonl(path)] if path.is_file() else []


def read_plot(folder: str | Path) -> bytes:
    """The plot in a run's folder; empty where there is none."""
    path = Path(folder) / "result.png"
    return path.read_bytes() if path.is_file() else b""


def read_curve(folder: str | Path) -> list[tuple[float, float]]:
    """The routing curve in a run's folder: share retrieved and accuracy; empty where there is none.

    It is read from ``curve.json``: what ``skr calibrate --json`` prints, with its ``rates`` and
    ``accuracy``.

    Raises:
        DataError: The file is something else.
    """
    path = Path(folder) / "curve.json"
    if not path.is_file():
        return []
    try:
        loaded = orjson.loads(path.read_bytes())
        pairs = zip(loaded["rates"], loaded["accuracy"], strict=True)
        return [(float(rate), float(accuracy)) for rate, accuracy in pairs]
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise DataError(path, None, f"this is not a routing curve ({error})") from error


def _check_or_write(path: Path, stamp: Mapping[str, str]) -> None:
    file = path / "run.json"
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            _replace(file, orjson.dumps(dict(stamp), option=orjson.OPT_INDENT_2))
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


def _score_row(system: str, judged: Judged) -> dict[str, Any]:
    answer = judged.answer
    rounds: Iterator[dict[str, Any]] = (
        {
            "queries": list(each.queries),
            "found": len(each.found),
            "errors": list(each.errors),
            "verdict": each.reflection.reason if each.reflection else "",
        }
        for each in (answer.rounds if answer else ())
    )
    row = {
        "system": system,
        "id": judged.question.id,
        "question": judged.question.question,
        "gold": list(judged.question.gold),
        "answer": answer.text if answer else None,
        "stop_reason": answer.stop_reason if answer else "failed",
        "rounds": list(rounds),
        "references": [each.title or each.text[:60] for each in answer.references]
        if answer
        else [],
        "values": dict(judged.values),
    }
    encodable: dict[str, Any] = _encodable(row)
    return encodable


def _encodable(value: Any) -> Any:
    """Lone surrogates of a model's output cannot be written; each becomes a question mark."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {key: _encodable(each) for key, each in value.items()}
    return [_encodable(each) for each in value] if isinstance(value, list) else value


def _replace(path: Path, content: bytes) -> None:
    draft = path.with_name(f".{path.name}.draft")
    draft.write_bytes(content)
    os.replace(draft, path)
