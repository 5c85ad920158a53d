"""``skr doctor``: what it looks at, what it says to do, and what it keeps to itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from skr_app.commands import doctor
from skr_core.errors import InputError, ModelError, install_line
from skr_core.testing import ScriptedModel
from tests.skr_app.conftest import Skr


@pytest.fixture
def store(skr: Skr, corpus: Path, tmp_path: Path) -> Path:
    path = tmp_path / "store"
    assert skr("ingest", corpus, "--store", path).code == 0
    return path


def test_all_is_there(skr: Skr, store: Path):
    result = skr("doctor", "--store", store, "--embedder", "hashing", "--router", "never")
    assert result.code == 0, result.out
    lines = result.out.splitlines()
    assert lines[0].startswith("versions skr-rag ")
    assert [line.split(":")[0].split() for line in lines[1:6]] == [
        ["ok", name] for name in ("model", "embedder", "store", "router", "extras")
    ]
    assert "32 passages of 1 document" in result.out


def test_each_problem_says_what_to_do(skr: Skr, tmp_path: Path):
    result = skr(
        *("doctor", "--model", "extractive:", "--store", tmp_path / "none"),
        *("--router", tmp_path / "router.skr"),
    )
    assert result.code == 1
    problems = [line for line in result.out.splitlines() if line.startswith("problem")]
    assert [each.split()[1] for each in problems] == ["model:", "store:", "router:"]
    assert "give extractive:FILE, or extractive alone" in problems[0]
    assert "make one with skr ingest FILES" in problems[1]


def test_the_model_is_called_where_that_is_asked_for(
    skr: Skr, store: Path, monkeypatch: pytest.MonkeyPatch
):
    model = ScriptedModel(["Yes."])
    monkeypatch.setattr("skr_app.models.make_model", lambda *_: model)
    asked = ("doctor", "--model", "any", "--store", store)
    assert "--call asks whether it answers" in skr(*asked).out
    assert not model.prompts
    assert "any answers, in " in skr(*asked, "--call").out
    assert len(model.prompts) == 1


def test_no_secret_is_shown(skr: Skr, store: Path, monkeypatch: pytest.MonkeyPatch):
    class Refusing(ScriptedModel):
        def generate(self, prompt, *, on_token=None):
            raise ModelError("http://me:hidden@host/v1?key=hidden refuses sk-hidden-0123456789")

    monkeypatch.setenv("OPENAI_API_KEY", "sk-hidden-0123456789")
    monkeypatch.setattr("skr_app.models.make_model", lambda *_: Refusing())
    url = ("--base-url", "http://me:hidden@host/v1?key=hidden")
    for more in ((), ("--call",), ("--json",), ("--call", "--json")):
        result = skr("doctor", "--model", "any", *url, "--store", store, *more)
        assert "http://host/v1" in result.out
        assert "hidden" not in result.out + result.err


def test_a_retriever_of_ones_own_is_imported(skr: Skr):
    result = skr("doctor", "--retriever", "nowhere:retriever")
    assert (result.code, "store:" in result.out) == (1, False)
    assert "problem  retriever: --retriever nowhere:retriever: there is no such" in result.out


def test_what_lacks_is_told_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch):
    lines = ["numpy>=1", "typer>=0.19; extra == 'cli'", 'nothing-of-it>=1 ; extra == "web"']
    monkeypatch.setattr(doctor, "requires", lambda _: [*lines, "nothing-of-it; extra == 'dev'"])
    assert list(doctor.extras()) == [
        doctor.Check("extras", "ok", "cli"),
        doctor.Check("web", "missing", install_line("web")),
    ]


def test_an_error_of_a_file_is_a_problem_too():
    def look() -> str:
        raise PermissionError(13, "Permission denied", "some/file")

    assert doctor._check("store", look).state == "problem"

    def refuse() -> str:
        raise InputError("give another  base_url= of a server")

    assert doctor._check("model", refuse).says == "give another base_url= of a server"
