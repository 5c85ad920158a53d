"""What a command says before it asks: its metric and why, a judge's agreement, and the cost."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from rich.console import Console

from skr_app import beforehand, models
from skr_core.testing import ScriptedModel
from skr_learn import Records
from tests.skr_app.conftest import Skr

GOLD = "They are let out at night when the tide turns and the harbour board has said so"
REPLIES = {"answer_directly": ["At noon."], "judge": ["right", "wrong", "right", "right"]}


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """Questions whose right answers are sentences, with the passages that answer them."""
    path = tmp_path / "asked.jsonl"
    text = "The boats are let out when the tide turns at night."
    rows = [
        {
            "question": f"When are the boats of island {n} let out?",
            "answers": [GOLD],
            "contexts": [{"title": f"Boats {n}", "text": text}],
        }
        for n in range(3)
    ]
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return path


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> ScriptedModel:
    made = ScriptedModel(
        REPLIES, otherwise="The boats are let out when the tide turns at night [1].", name="small"
    )
    monkeypatch.setattr(models, "make_model", lambda *_: made)
    return made


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    path = tmp_path / "prices.json"
    path.write_text(json.dumps({"small": {"prompt": 100, "completion": 400}}))
    return path


def test_the_cost_is_said_and_is_what_is_used(
    skr: Skr, asked: Path, model: ScriptedModel, prices: Path, tmp_path: Path
):
    out = ("--out", tmp_path / "r.jsonl")
    result = skr("collect", asked, "--model", "small", *out, "--prices", prices, "--json")
    assert result.code == 0, result.err
    [line] = [each for each in result.err.splitlines() if "questions:" in each]
    used = result.json["usage"]
    said = re.fullmatch(
        r"3 questions: (\d+) to (\d+) calls, ([\d,]+) to ([\d,]+) tokens, "
        r"([\d.]+) to ([\d.]+) USD \(estimated\)",
        line,
    )
    assert said is not None, line
    least, most = int(said[1]), int(said[2])
    assert least <= used["calls"] <= most
    tokens = used["prompt_tokens"] + used["completion_tokens"]
    low, high = (int(each.replace(",", "")) for each in (said[3], said[4]))
    assert low / 1.5 <= tokens <= high * 1.5
    # What is on record is not asked again, so it costs nothing.
    again = skr("collect", asked, "--model", "small", *out, "--json")
    assert (again.code, "questions:" in again.err) == (0, False)


@pytest.mark.parametrize("command", ["collect", "evaluate"])
def test_a_terminal_is_asked_whether_to_go_on_and_nothing_else_is(
    command: str,
    skr: Skr,
    asked: Path,
    model: ScriptedModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    told: list[str] = []

    def no(text: str, **options: Any) -> None:
        told.append(text)
        raise SystemExit(1)

    monkeypatch.setattr(beforehand.typer, "confirm", no)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(beforehand, "messages", Console(stderr=True, force_terminal=True))
    given = (command, asked, "--model", "small")
    given += ("--out", tmp_path / "r.jsonl") if command == "collect" else ()
    assert (skr(*given).code, told, model.prompts) == (1, ["Go on?"], [])
    assert skr(*given, "--yes").code == 0
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    assert skr(*given, "--limit", 1).code == 0
    assert told == ["Go on?"]


def test_sentences_are_scored_by_their_words_and_it_is_said_why_once(
    skr: Skr, asked: Path, model: ScriptedModel, tmp_path: Path
):
    out = tmp_path / "r.jsonl"
    result = skr("collect", asked, "--model", "small", "--out", out)
    assert result.err.count("17 words in the median") == 1
    assert {record.stamp.metric for record in Records.read(out)} == {"f1"}
    found = skr("evaluate", asked, "--model", "small", "--json")
    assert found.err.count("--judge MODEL") == 1
    assert found.json["loop"]["answer_accuracy"] == 0.0
    assert 0.3 < found.json["loop"]["token_f1"] < 1.0
    assert found.json["result"]["plotted"][0] == "token_f1"
    named = skr("evaluate", asked, "--model", "small", "--metric", "accuracy", "--json")
    assert ("median" in named.err, named.json["result"]["plotted"][0]) == (False, "answer_accuracy")


def test_a_judge_has_a_rubric_and_is_compared_with_a_person(
    skr: Skr, asked: Path, model: ScriptedModel, tmp_path: Path
):
    rubric, marked = tmp_path / "rubric.txt", tmp_path / "marked.jsonl"
    rubric.write_text("Does it name {the tide}?")
    row = {"question": "When?", "answers": [GOLD]}
    marked.write_text(
        "".join(json.dumps(row | {"reply": f"At {n}.", "right": n != 1}) + "\n" for n in range(4))
    )
    judging = ("--judge", "small", "--rubric", rubric, "--marked", marked)
    cache = ("--cache", tmp_path / "cache")
    given = ("evaluate", asked, "--model", "small", *judging, *cache, "--concurrency", 1, "--json")
    result = skr(*given)
    assert result.code == 0, result.err
    assert re.search(r"judge:small@\w+\+\w+ agrees with the person on [34] of 4", result.err)
    assert "median" not in result.err
    assert result.json["result"]["plotted"][0] == "judged_right"
    judgements = [each for each in model.prompts if each.task == "judge"]
    assert all("Does it name {the tide}?" in each.text for each in judgements)
    assert skr(*given).json["loop"]["judged_right"] == result.json["loop"]["judged_right"]
    assert len([each for each in model.prompts if each.task == "judge"]) == len(judgements)
    alone = skr("collect", asked, "--rubric", rubric)
    assert (alone.code, "--rubric is for a judge" in alone.err) == (2, True)
