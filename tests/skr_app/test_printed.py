"""What the commands print with --json is of the types that the page of all commands shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from scripts import commands
from skr_app.main import make_app
from skr_app.printed import PRINTED, SERVERS
from skr_learn import Records
from tests.skr_app.conftest import Skr, check_printed
from tests.skr_app.test_routing_commands import unstamped
from tests.skr_learn.routers.facts import firm, records

ASKED = "Where was the director of the film Jaws born?"


def names(command: Any, above: str = "") -> dict[str, Any]:
    inner = getattr(command, "commands", {})
    if not inner:
        return {above: command}
    found = (names(each, f"{above} {name}".strip()) for name, each in inner.items())
    return {name: each for some in found for name, each in some.items()}


def test_every_command_that_ends_has_json_and_a_type():
    found = names(get_command(make_app()))
    assert {*found} == {*PRINTED, *SERVERS}
    with_json = {name for name, each in found.items() if "json" in {p.name for p in each.params}}
    assert with_json == {*PRINTED}


def test_the_page_of_all_commands_is_as_it_is_kept():
    assert commands.PAGE.read_text(encoding="utf-8") == commands.page(), "run  make docs"


def test_documents_and_answers(skr: Skr, corpus: Path, tmp_path: Path):
    store = ("--store", tmp_path / "store", "--json")
    for command, *given in (
        ("ingest", corpus, *store),
        ("store ls", *store),
        ("store stats", *store),
        ("ask", ASKED, *store),
        ("doctor", *store),
        ("store rm", corpus, *store),
    ):
        result = skr(*str(command).split(), *given)
        assert result.code == 0, result.err
        check_printed(str(command), result.json)


@pytest.mark.usefixtures("few_trees")
def test_measuring(skr: Skr, questions: Path, corpus: Path, tmp_path: Path):
    recorded, out = tmp_path / "records.jsonl", tmp_path / "router.skr"
    Records(unstamped(records(30))).write(recorded)
    served = tmp_path / "served.jsonl"
    searching = ("--corpus", corpus, "--json")
    for command, *given in (
        ("collect", questions, *searching, "--out", tmp_path / "collected.jsonl"),
        ("evaluate", questions, *searching, "--systems", "never,single_shot,loop,always"),
        ("calibrate", recorded, "--out", out, "--router", "ladder", "--anyway", "--json"),
        ("replay", "--train", recorded, "--router", "always,paper", "--json"),
        ("route", firm("Omega"), "--router", out, "--json"),
        ("monitor", served, "--router", out, "--json"),
    ):
        served.write_text('{"question": "Who?", "answer": "Ada", "decision": {"retrieve": false}}')
        result = skr(command, *given)
        assert result.code == 0, result.err
        check_printed(str(command), result.json)


def test_accepted_questions(skr: Skr, tmp_path: Path):
    review = tmp_path / "review.md"
    review.write_text("## q1\nQuestion: Who keeps the light?\nAnswer: Ada\nType: one_passage\n")
    found = skr("questions", "accept", review, "--out", tmp_path / "q.jsonl", "--json")
    check_printed("questions accept", found.json)
