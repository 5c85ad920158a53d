"""--deadline and --max-spend: what a command asks ends in time, and within its money."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from skr_app.main import app
from skr_core.errors import BudgetError, DeadlineError, InputError, ModelError
from tests.servers import OpenAIServer

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # clients that nobody closes
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

PASSAGE = "Paris is the capital of France."
REPLY = "SUFFICIENT\nParis [1]."


@pytest.fixture
def questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    path = tmp_path / "questions.jsonl"
    rows = [
        {
            "id": str(number),
            "question": f"What is the capital of France, asked for the {number}. time?",
            "answers": ["Paris"],
            "contexts": [{"title": "France", "text": PASSAGE}],
        }
        for number in range(6)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "corpus.jsonl").write_text(
        json.dumps({"id": "1", "title": "France", "text": PASSAGE}) + "\n"
    )
    # A dollar a token sent.
    (tmp_path / "prices.json").write_text('{"test": {"prompt": 1000000, "completion": 0}}')
    yield path
    gc.collect()  # while such warnings are ignored


def skr(*arguments: object, server: OpenAIServer) -> Any:
    given = [*map(str, arguments), "--model", "openai:test", "--base-url", server.url]
    return CliRunner().invoke(app, given)


def verbs(questions: Path) -> dict[str, list[object]]:
    folder = questions.parent
    corpus = ["--corpus", folder / "corpus.jsonl"]
    return {
        "evaluate": ["evaluate", questions, "--systems", "loop,never", "--concurrency", 2],
        "collect": ["collect", questions, *corpus, "--out", folder / "r.jsonl", "--concurrency", 2],
    }


VERBS = ["evaluate", "collect"]
DEADLINES = (0.5, 5.0, 50.0)
"""Each is tried where a busy machine let the one before pass before anything was asked: the answer
is then that nothing is known."""


@pytest.mark.parametrize("verb", VERBS)
def test_a_command_ends_in_time(verb: str, questions: Path) -> None:
    for seconds in DEADLINES:
        (questions.parent / "r.jsonl").unlink(missing_ok=True)
        with OpenAIServer(fault="hang") as server:
            limits = ["--deadline", seconds, "--limit", 2]
            started = time.monotonic()
            done = skr(*verbs(questions)[verb], *limits, server=server)
            # What it loads included; a hang has no end.
            assert time.monotonic() - started < seconds + 100
        if done.exception:
            break
    assert isinstance(done.exception, ModelError)
    assert "every question failed" in str(done.exception)
    assert "deadline" in str(done.exception)


def test_ask_ends_in_time(questions: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    assert (
        CliRunner()
        .invoke(app, ["ingest", str(tmp_path / "corpus.jsonl"), "--store", str(store)])
        .exit_code
        == 0
    )
    for seconds in DEADLINES:
        with OpenAIServer(fault="hang") as server:
            limits = ["--deadline", seconds]
            done = skr("ask", "Capital of France?", "--store", store, *limits, server=server)
        if server.calls:
            break
    assert isinstance(done.exception, DeadlineError)


@pytest.mark.parametrize("verb", VERBS)
def test_a_command_ends_within_its_money(verb: str, questions: Path) -> None:
    limits = ["--max-spend", 100, "--prices", questions.parent / "prices.json"]
    with OpenAIServer(lambda messages: REPLY) as server:
        done = skr(*verbs(questions)[verb], *limits, server=server)
        spent = server.calls
    assert isinstance(done.exception, BudgetError)
    assert "of 100.0000 US dollars are spent" in str(done.exception)
    # The call that crosses the line, and one beside it.
    assert 1 <= spent <= 4


def hangs_for_the_judge(server: OpenAIServer) -> None:
    """Answers come at once, what is asked of the model named judge never."""
    server.fault = lambda number: (
        "hang" if server.requests[number - 1]["model"] == "judge" else None
    )


def until_the_judge_is_asked(*arguments: object, folder: Path) -> tuple[Any, Path]:
    """Run a command, again with more time where a busy machine came to the judge too late."""
    for seconds in DEADLINES:
        out = folder / f"{seconds:g}"
        with OpenAIServer(lambda messages: REPLY) as server:
            hangs_for_the_judge(server)
            limits = ["--deadline", seconds, "--limit", 1, "--out", out]
            done = skr(*arguments, *limits, server=server)
            if "judge" in [request["model"] for request in server.requests]:
                return done, out
    return pytest.fail("the judge was never asked")


def test_a_judge_has_the_seconds_of_a_question(questions: Path, tmp_path: Path) -> None:
    collect = ["collect", questions, "--corpus", tmp_path / "corpus.jsonl"]
    (tmp_path / "collected").mkdir()
    done, _ = until_the_judge_is_asked(
        *collect, "--judge", "openai:judge", folder=tmp_path / "collected"
    )
    assert isinstance(done.exception, ModelError)
    assert "deadline" in str(done.exception)


def test_what_was_answered_is_kept(questions: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = ["evaluate", questions, "--systems", "loop", "--out", out, "--concurrency", 1]
    limits = ["--prices", questions.parent / "prices.json", "--max-spend"]
    with OpenAIServer(lambda messages: REPLY) as server:
        assert isinstance(skr(*command, *limits, 300, server=server).exception, BudgetError)
        first = server.calls
        assert skr(*command, *limits, 100_000, server=server).exit_code == 0
    assert 1 < first < 6
    assert server.calls == 6


def test_money_wants_prices(questions: Path) -> None:
    with OpenAIServer() as server:
        done = skr("evaluate", questions, "--max-spend", 1, server=server)
    assert isinstance(done.exception, InputError)
    assert "--prices" in str(done.exception)
