"""Running the command inside the test's process, as the shell would."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest
from pydantic import TypeAdapter

from skr_app.main import main
from skr_app.printed import PRINTED


@dataclass
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict:
        return orjson.loads(self.out)


Skr = Callable[..., Result]


@pytest.fixture
def skr(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Skr:
    ours = ("STORE", "MODEL", "BASE_URL", "EMBEDDER", "SEARCH")
    for name in (*(f"SKR_{each}" for each in ours), "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SKR_MODEL", "extractive")  # no model is taken that nobody named

    def invoke(*arguments: object) -> Result:
        monkeypatch.setattr("sys.argv", ["skr", *map(str, arguments)])
        code: object = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
        written = capsys.readouterr()
        return Result(int(code or 0), written.out, written.err)

    return invoke


def in_order(records: Path) -> None:
    """Sort a file that was written as the answers came, so that its folds are always the same."""
    records.write_bytes(b"".join(sorted(records.read_bytes().splitlines(keepends=True))))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Two documents that answer a two-hop question, and distractors."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    passages = {
        "Jaws": "Jaws is a 1975 American thriller film directed by Steven Spielberg.",
        "Steven Spielberg": "Steven Spielberg was born in Cincinnati, Ohio.",
        **{f"Film {n}": f"Film {n} is a film of the director Number {n}." for n in range(30)},
    }
    lines = [
        orjson.dumps({"id": str(n), "title": title, "text": text})
        for n, (title, text) in enumerate(passages.items())
    ]
    (folder / "corpus.jsonl").write_bytes(b"\n".join(lines))
    return folder / "corpus.jsonl"


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "questions.jsonl"
    row = {
        "id": "q1",
        "question": "Where was the director of the film Jaws born?",
        "answer": "Cincinnati",
        "supporting_titles": ["Jaws", "Steven Spielberg"],
    }
    path.write_bytes(orjson.dumps(row) + b"\n")
    return path


def check_printed(command: str, printed: object) -> None:
    """Compare what a command printed as JSON with its type: no key more, and none less."""
    adapter = TypeAdapter(PRINTED[command])
    read = adapter.validate_json(orjson.dumps(printed))
    assert adapter.dump_python(read, mode="json") == printed
