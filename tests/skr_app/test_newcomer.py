"""What a newcomer meets: odd folders, odd terminals, servers that fail, and what to do is said."""

from __future__ import annotations

import io
from importlib.metadata import version
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.main import get_command

from skr_app import output
from skr_app.main import VARIABLES, main, make_app
from skr_core.errors import ModelError, translated
from tests.skr_app.conftest import Skr


def test_a_variable_that_is_misspelt_is_told(skr: Skr, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SKR_MODLE", "openai:gpt-4.1-mini")
    monkeypatch.setenv("SKR_DATA", "of somebody else")
    assert skr("--version").err == "SKR_MODLE is not read: did you mean SKR_MODEL?\n"


def test_every_variable_of_an_option_is_known():
    def read(command: Any) -> set[str]:
        mine = {each.envvar for each in command.params if each.envvar}
        return mine.union(*map(read, getattr(command, "commands", {}).values()))

    assert read(get_command(make_app())) | {"SKR_TEMPERATURE"} == set(VARIABLES)


def test_it_tells_its_version(skr: Skr):
    assert skr("--version").out == f"skr {version('skr-rag')}\n"


def test_a_folder_of_documents_becomes_no_store(skr: Skr, corpus: Path):
    for command in (("ingest", corpus, "--store"), ("store", "serve"), ("serve", "--store")):
        result = skr(*command, corpus.parent)
        assert result.code == 2
        assert f"such as {corpus.parent / 'store'}" in result.err
    assert [each.name for each in corpus.parent.iterdir()] == [corpus.name]


def test_a_store_goes_into_an_empty_folder_and_into_one_of_hidden_files(
    skr: Skr, corpus: Path, tmp_path: Path
):
    folder = tmp_path / "kept"
    folder.mkdir()
    (folder / ".gitignore").write_text("*")
    assert skr("ingest", corpus, "--store", folder).code == 0


def test_files_of_other_kinds_are_told(skr: Skr, tmp_path: Path):
    folder, store = tmp_path / "documents", tmp_path / "store"
    folder.mkdir()
    for name in ("a.odt", "b.odt", "c.csv"):
        (folder / name).write_text("x")
    result = skr("ingest", folder, "--store", store)
    assert result.code == 2
    assert "of .odt, .csv none can be read, but .txt" in result.err
    (folder / "note.txt").write_text("Paris is in France.")
    assert "3 files left out, of kinds that cannot be read: .odt, .csv" in (
        skr("ingest", folder, "--store", store).out
    )
    found = skr("ingest", folder, "--store", store, "--json").json
    assert found["other_kinds"] == {".odt": 2, ".csv": 1}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"question,answer\nWho?,Ada\n", "line 1: this line is not a JSON object: JSON Lines"),
        ("{'question': 'Zürich'}".encode("latin-1"), "not UTF-8: convert the file"),
        (b'{"frage": "Wer?"}\n', '{"question": "Who?", "answers": ["Ada"]}'),
    ],
)
def test_questions_of_another_form_are_told_the_right_one(
    skr: Skr, tmp_path: Path, content: bytes, said: str
):
    file = tmp_path / "questions.jsonl"
    file.write_bytes(content)
    result = skr("collect", file)
    assert result.code == 2
    assert said in result.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--model", "extractive:"), "give extractive:FILE, or extractive alone"),
        (("--model", "m", "--base-url", "localhost:11434/v1"), "begin it with http:// or https://"),
        (("--router", "nowhere"), "give the file that skr calibrate RECORDS --out FILE wrote"),
    ],
)
def test_what_cannot_be_used_is_told_what_can(
    skr: Skr, corpus: Path, tmp_path: Path, options: tuple[str, ...], said: str
):
    store = tmp_path / "store"
    assert skr("ingest", corpus, "--store", store).code == 0
    result = skr("ask", "Who?", "--store", store, *options)
    assert result.code == 2
    assert said in result.err


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"answer_first": "{question}"}, "templates.json: PromptTemplates has no answer_first"),
        ({"answer_directly": "Ask."}, "templates.json: PromptTemplates: the template answer_dir"),
    ],
)
def test_templates_that_cannot_be_used_name_their_file(
    skr: Skr, corpus: Path, tmp_path: Path, written: object, said: str
):
    store, file = tmp_path / "store", tmp_path / "templates.json"
    assert skr("ingest", corpus, "--store", store).code == 0
    file.write_bytes(orjson.dumps(written))
    result = skr("ask", "Who?", "--store", store, "--templates", file)
    assert result.code == 2
    assert said in result.err


def test_records_are_not_added_to_a_file_of_something_else(skr: Skr, corpus: Path, questions: Path):
    before = questions.read_bytes()
    result = skr("collect", questions, "--corpus", corpus, "--out", questions)
    assert result.code == 2
    assert "this is not a file that rows are added to: name a new one" in result.err
    assert questions.read_bytes() == before


def test_money_needs_prices(skr: Skr, tmp_path: Path):
    result = skr("calibrate", tmp_path / "no-records.jsonl", "--cost", "usd")
    assert "--cost usd needs --prices" in result.err


def test_what_cannot_be_written_is_told_before_it_is_computed(
    skr: Skr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("os.access", lambda *_: False)
    result = skr("calibrate", tmp_path / "no-records.jsonl", "--out", tmp_path / "router")
    assert result.code == 2
    assert f"router cannot be written: {tmp_path} is read-only" in result.err


def test_an_error_of_the_system_names_the_file_and_no_number(
    skr: Skr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "corpus.jsonl")

    monkeypatch.setattr("skr_app.commands.demo.write_country", refuse)
    result = skr("demo", "--out", tmp_path / "demo")
    assert (result.code, result.err) == (2, "error: corpus.jsonl: Permission denied\n")


def test_a_terminal_without_a_letter_shows_another(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, skr: Skr
):
    store = tmp_path / "store"
    assert skr("ingest", corpus, "--store", store).code == 0
    printed = io.BytesIO()
    terminal = io.TextIOWrapper(printed, encoding="ascii", write_through=True)
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setattr("sys.argv", ["skr", "ask", "Who directed Jaws “?”", "--store", str(store)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 0
    assert b"search 1 Who directed Jaws ???" in printed.getvalue()


def test_json_is_utf8_on_any_terminal(monkeypatch: pytest.MonkeyPatch):
    printed = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(printed, encoding="latin-1"))
    output.print_json({"said": "→ Zürich"})
    assert orjson.loads(printed.getvalue()) == {"said": "→ Zürich"}


class Failed(Exception):
    """What a client raises."""

    def __init__(self, status_code: int | None = None) -> None:
        super().__init__("no")
        if status_code is not None:
            self.status_code = status_code


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (401, "m: Failed: no; check its key"),
        (404, "m: Failed: no; check its name and its address"),
        (429, "m: Failed: no; it takes no more for now: ask again later, or less at a time"),
        (502, "m: Failed: no; its server failed: ask again later"),
        (400, "m: Failed: no"),
        (None, "m: Failed: no"),
    ],
)
def test_a_failed_service_is_told_with_what_to_do(status: int | None, said: str):
    with pytest.raises(ModelError) as raised, translated(ModelError, "m"):
        raise Failed(status)
    assert str(raised.value) == said


def test_a_server_that_is_not_there_is_named():
    httpx = pytest.importorskip("httpx")
    failed = Failed()
    failed.request = httpx.Request("POST", "http://name:secret@127.0.0.1:9/v1/chat")  # type: ignore[attr-defined]
    with pytest.raises(ModelError) as raised, translated(ModelError, "m"):
        raise failed from httpx.ConnectError("refused")
    assert str(raised.value).endswith("; is its server running at http://127.0.0.1:9?")
