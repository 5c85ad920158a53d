"""A stranger's records, logs and run folders: read or refused in one line, and nothing outside."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from skr_app.report import Result, Row, RunFolder, read_section, report_page
from skr_core import Question
from skr_core.errors import SKRError
from skr_core.files import KeyedLog
from skr_core.plain import to_plain
from skr_learn import Record, Records
from skr_learn.evaluate import Judged
from skr_learn.metrics import Interval
from skr_learn.records import Outcome
from tests.skr_app.conftest import Skr
from tests.skr_learn.made import STAMP

SCRIPT = "<script>alert(1)</script>"
VALUES = (
    *("null", "true", "-1", "1e999", "NaN", "9" * 400, "[]", "{}", '""', "[[1]]"),
    *('"\\ud800"', '{"a": 1, "a": 2}', "[" * 3_000 + "]" * 3_000, "[" * 2_000),
    *(json.dumps(SCRIPT), json.dumps("x" * 100_000), json.dumps(dict.fromkeys("abc", 1))),
)
MARK = "@@planted@@"


def places(value: Any, *above: Any) -> Iterator[tuple[Any, ...]]:
    """The ways to each value within a value, and to itself."""
    yield above
    inner = enumerate(value) if isinstance(value, list) else ()
    for key, each in value.items() if isinstance(value, dict) else inner:
        yield from places(each, *above, key)


def planted(row: Any, place: tuple[Any, ...], text: str) -> str:
    """The row as JSON, with a text in the place of one of its values."""
    whole = {"row": json.loads(json.dumps(row))}
    holder: Any = whole
    *above, last = ("row", *place)
    for key in above:
        holder = holder[key]
    holder[last] = MARK
    return json.dumps(whole["row"]).replace(json.dumps(MARK), text)


def changes(row: Any, seed: int, count: int) -> list[str]:
    draw = random.Random(seed)
    ways = [*places(row)]
    return [planted(row, draw.choice(ways), draw.choice(VALUES)) for _ in range(count)]


def refused(read: Callable[[], object]) -> str:
    """What is said of what cannot be read; empty where it can."""
    try:
        read()
    except SKRError as error:
        return str(error)
    return ""


def written(folder: Path) -> Path:
    """A run's folder with one answer."""
    judged = [Judged(Question("1", "Who?", ("Ada",)), None, {"answer_accuracy": 1.0})]
    cell = Interval(0.5, 0.4, 0.6, 10, 2)
    result = Result("demo", "Does it pay?", {"model": "m"}, (Row("loop", {"score": cell}),))
    with RunFolder(folder, {"model": "m"}) as run:
        run.write(result, {"loop": judged})
        run.answers.append([{"key": "loop/1", "row": {"text": "Ada."}}])
    return folder


@pytest.mark.parametrize("name", ["result.json", "scores.jsonl"])
def test_whatever_a_run_holds_its_report_is_escaped_or_refused(name: str, tmp_path: Path):
    path = written(tmp_path / "run") / name
    shown = 0
    for changed in changes(json.loads(path.read_bytes()), 7, 40):
        path.write_text(changed)
        pages: list[str] = []
        said = refused(lambda: pages.append(report_page([read_section(path.parent)])))  # noqa: B023
        assert str(path.parent) in said or SCRIPT not in pages[0]
        shown += len(pages)
    assert shown > 2


def test_whatever_records_hold_they_are_read_or_refused(tmp_path: Path):
    outcome = Outcome("Ada.", 1.0)
    record = Record("Who?", ("Ada",), {"direct": outcome, "single": outcome}, STAMP)
    path, read = tmp_path / "records.jsonl", 0
    for changed in changes(to_plain(record), 3, 150):
        path.write_text(changed)
        said = refused(lambda: Records.read(path))
        read += not said
        assert not said or str(path) in said
        assert "\n" not in said
    assert 5 < read < 145


def test_whatever_a_log_holds_it_is_read_or_refused(tmp_path: Path):
    path, read = tmp_path / "log.jsonl", 0
    for changed in changes({"key": "a", "value": [1, {"b": 2}]}, 5, 60):
        path.write_text(changed)
        said = refused(lambda: KeyedLog(path).close())
        read += not said
        assert not said or str(path) in said
    assert 5 < read < 55


@pytest.mark.parametrize("name", ["run.json", "answers.jsonl", "answers.jsonl.lock", "result.json"])
def test_no_file_of_a_run_is_one_elsewhere(skr: Skr, name: str, tmp_path: Path):
    folder, mine = written(tmp_path / "run"), tmp_path / "mine"
    mine.write_text("precious\n")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(mine)
    questions = tmp_path / "questions.jsonl"
    questions.write_text('{"id": "1", "question": "Who?", "gold": ["Ada"]}\n')
    done = skr("evaluate", questions, "--store", tmp_path, "--model", "extractive", "--out", folder)
    assert done.code == 2
    with pytest.raises(SKRError, match=f"{name} is a link out of"):
        RunFolder(folder, {"model": "m"})
    with pytest.raises(SKRError, match=f"{name} is a link out of"):
        read_section(folder)
    assert mine.read_text() == "precious\n"


def test_a_pipe_in_the_place_of_a_log_is_not_waited_for(tmp_path: Path):
    folder = written(tmp_path / "run")
    (folder / "answers.jsonl").unlink()
    os.mkfifo(folder / "answers.jsonl")
    with pytest.raises(SKRError, match="is a pipe"):
        RunFolder(folder, {"model": "m"})


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "\0", "[]"])
def test_a_log_that_is_monitored_is_refused_in_one_line(skr: Skr, text: str, tmp_path: Path):
    (tmp_path / "log.jsonl").write_text(text)
    told = skr("monitor", tmp_path / "log.jsonl", "--router", tmp_path / "none")
    assert told.code == 2
    assert told.err.startswith("error: ")
    assert "log.jsonl" in told.err
    assert told.err.count("\n") == 1


def test_what_a_file_says_makes_no_endless_error(skr: Skr, tmp_path: Path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text(json.dumps({"model": "x" * 300_000}))
    questions = tmp_path / "questions.jsonl"
    questions.write_text('{"id": "1", "question": "Who?", "gold": ["Ada"]}\n')
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"text": "Ada."}\n')
    told = skr(
        *("evaluate", questions, "--corpus", corpus, "--model", "extractive"),
        *("--out", tmp_path / "run"),
    )
    assert told.code == 2
    assert "error: " in told.err
    assert len(told.err) < 1_500
