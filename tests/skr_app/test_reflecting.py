"""``--reflector``, and the learned one from records to what is asked."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from skr_app.reflecting import open_reflector
from skr_core.errors import InputError
from skr_core.testing import ScriptedModel
from skr_core.types import Stamp
from skr_learn import LearnedReflector
from skr_learn.self_knowledge import read_self_knowledge, write_self_knowledge
from tests.skr_app.conftest import Skr
from tests.skr_learn.reflectors.test_learned import record

pytestmark = pytest.mark.usefixtures("few_trees")


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("refusal", "refusal"),
        ("judge", "judge:mine"),
        ("judge:extractive", "judge:extractive"),
        ("entailment:lexical", "entailment:lexical"),
        ("entailment:judge:extractive", "entailment:judge:extractive"),
    ],
)
def test_an_option_names_a_reflector(spec: str, name: str):
    assert str(open_reflector(spec, ScriptedModel(name="mine")).name).startswith(name)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("magic", "--reflector magic: give refusal, judge, judge:MODEL"),
        ("entailment", "--reflector entailment: give"),
        ("learned", "or learned:FOLDER"),
        ("entailment:magic", "no entailment model is 'magic': give lexical"),
        ("learned:no/such/folder", "no saved reflector at no/such/folder"),
    ],
)
def test_what_names_none_is_told(spec: str, message: str):
    with pytest.raises(InputError, match=message):
        open_reflector(spec, ScriptedModel())


@pytest.fixture
def learned(skr: Skr, tmp_path: Path) -> Callable[[Stamp], Path]:
    def learned(stamp: Stamp = Stamp()) -> Path:
        path, out = tmp_path / "records.jsonl.gz", tmp_path / "router"
        write_self_knowledge(path, [replace(record(n), stamp=stamp) for n in range(60)])
        result = skr("calibrate", path, "--out", out, "--router", "paper", "--reflector", "--json")
        assert result.code == 0, result.err
        found = result.json["reflector"]
        assert found["pays"]
        assert found["sentence"].startswith("A learned reflector pays on these 60 records")
        return out

    return learned


def test_what_calibrate_saves_judges_what_is_asked(
    skr: Skr, corpus: Path, tmp_path: Path, learned: Callable[..., Path]
):
    store = tmp_path / "store"
    assert skr("ingest", corpus, "--store", store, "--json").code == 0
    question = "Who directed Jaws?"
    option = ("--reflector", f"learned:{learned()}")
    output = skr("ask", question, "--store", store, *option, "--json").json
    reasons = [each["reflection"]["reason"] for each in output["rounds"] if each["reflection"]]
    assert any("the draft is right with an estimated chance of" in reason for reason in reasons)
    plain = skr("ask", question, "--store", store, "--json").json
    assert "chance" not in str([each["reflection"] for each in plain["rounds"]])


def test_one_of_another_model_is_refused_unless_forced(
    skr: Skr, corpus: Path, tmp_path: Path, learned: Callable[..., Path]
):
    store, folder = tmp_path / "store", learned(Stamp(model="another"))
    assert skr("ingest", corpus, "--store", store, "--json").code == 0
    asked = ("ask", "Who directed Jaws?", "--store", store, "--reflector", f"learned:{folder}")
    refused = skr(*asked, "--json")
    assert refused.code == 2
    assert "this reflector was made with the model 'another', not 'extractive'" in refused.err
    assert skr(*asked, "--force", "--json").code == 0


def test_records_and_runs_of_another_reflector_are_told_apart(
    skr: Skr, corpus: Path, questions: Path, tmp_path: Path, learned: Callable[..., Path]
):
    stamps = set()
    for option in ("refusal", "entailment:lexical", f"learned:{learned()}"):
        out = tmp_path / f"{len(stamps)}.jsonl"
        asked = ("--corpus", corpus, "--reflector", option, "--json")
        assert skr("collect", questions, *asked, "--out", out).code == 0
        stamps |= {each.stamp for each in read_self_knowledge(out)}
        found = skr("evaluate", questions, *asked, "--systems", "loop")
        assert found.code == 0, found.err
    assert len(stamps) == 3


def test_for_people_calibrate_says_where_it_is(skr: Skr, tmp_path: Path):
    path, out = tmp_path / "records.jsonl.gz", tmp_path / "my router"
    write_self_knowledge(path, [record(n) for n in range(60)])
    options = ("--out", out, "--router", "paper", "--no-arbiter")
    assert "reflector" not in skr("calibrate", path, *options).out
    with pytest.raises(InputError):
        LearnedReflector.load(out)
    said = skr("calibrate", path, *options, "--reflector").out
    assert "A learned reflector pays" in said
    hints = [shlex.split(line)[-2:] for line in said.splitlines() if "skr ask QUESTION" in line]
    assert hints == [["--reflector", f"learned:{out}"], ["--router", str(out)]]
