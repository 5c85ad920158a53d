"""The command: fields from texts and files, every experiment end to end, key-facts, the report."""

from __future__ import annotations

import re
from functools import partial
from html import unescape
from pathlib import Path

import orjson
import pytest

from lab.tests.conftest import Lab, one_line
from skr_core.errors import ModelError
from skr_core.testing import ScriptedModel
from skr_lab import experiment
from skr_lab.experiments import EXPERIMENTS
from skr_learn import Record, Records
from tests.skr_app.conftest import Skr


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """Questions with their contexts, sentences and supporting facts, as HotpotQA has them."""
    rows = [
        {
            "_id": f"q{n}",
            "question": f"Where was the director of the film Jaws {n} born?",
            "answer": f"Town{n}",
            "supporting_facts": [[f"Jaws {n}", 0], [f"Person {n}", 0]],
            "context": [
                [f"Jaws {n}", [f"Jaws {n} is a film directed by Person {n}."]],
                [f"Person {n}", [f"Person {n} was born in Town{n}.", " So it is said."]],
                [f"Noise {n}", [f"Noise {n} is another thing."]],
            ],
        }
        for n in range(6)
    ]
    path = tmp_path / "hotpot.json"
    path.write_bytes(orjson.dumps(rows))
    return path


@pytest.fixture
def asked(published: Path) -> dict[str, object]:
    """The fields of an experiment on them."""
    return {"questions": published, "dataset": "hotpotqa"}


def test_every_experiment_is_listed_with_what_it_reproduces(lab: Lab):
    shown = lab("list")
    assert [line.split()[0] for line in shown.out.splitlines()[:-1]] == list(EXPERIMENTS)
    told = lab("list", "--json").json
    for name, kind in EXPERIMENTS.items():
        assert told[name]["reproduces"] == kind.reproduces
        assert told[name]["fields"].keys() == kind.model_fields.keys()
        assert all(each["help"].endswith(".") for each in told[name]["fields"].values())
    assert "gamma (0.0): The γ" in lab("list", "reliance").out
    one_line(lab("list", "magic"), "no experiment 'magic'", "certainty")


def test_a_file_of_fields(lab: Lab, published: Path, tmp_path: Path):
    file = tmp_path / "mine.toml"
    file.write_text(
        f'''
experiment = "adaptive"
questions = "{published}"
dataset = "hotpotqa"
sources = ["gold"]
top = [1, 2]
limit = 4
'''
    )
    found = lab("run", file, "--json", strategies="vanilla", limit=2).json
    assert found["n"] == 2  # what is set wins over the file
    assert list(found["groups"]) == ["static", "vanilla"]
    assert found["groups"]["static"].keys() >= {"gold_top_1", "gold_top_2"}
    file.write_text(f'questions = "{published}"')
    one_line(lab("run", file), 'experiment = "NAME"')
    file.write_text("questions =")
    one_line(lab("run", file), "not TOML")
    one_line(lab("run", tmp_path / "none.toml"), "cannot be read")


def test_a_wrong_field_is_one_line(lab: Lab, asked: dict[str, object]):
    run = partial(lab, "run", "knowledge-recall", **asked)
    one_line(lab("run", "magic"), "no experiment 'magic'", "knowledge-recall")
    one_line(run(shout=1), "knowledge-recall", "no field 'shout'", "key_facts")
    one_line(run(limit="many"), "limit", "'many'")
    one_line(run(limit=0, concurrency=0), "limit", "concurrency")
    one_line(lab("run", "knowledge-recall", "--set", "limit"), "field=value")
    one_line(run(max_spend=1), "max_spend needs prices")


@pytest.mark.parametrize(
    "name", ["knowledge-precision", "knowledge-recall", "reflection", "reliance"]
)
def test_experiments(lab: Lab, asked: dict[str, object], tmp_path: Path, name: str):
    found = lab("run", name, "--json", "--out", tmp_path / name, **asked).json
    assert found["result"]["experiment"] == name
    assert (tmp_path / name / "result.png").read_bytes().startswith(b"\x89PNG")
    shown = lab("run", name, **asked)
    assert shown.code == 0
    assert "\tquestions\tfailed\n" in shown.out


def test_a_run_folder_is_of_one_run(lab: Lab, asked: dict[str, object], tmp_path: Path):
    kept = ("--out", tmp_path / "run")
    assert lab("run", "knowledge-recall", *kept, **asked).code == 0
    one_line(lab("run", "knowledge-recall", *kept, templates="rallm", **asked), "prompts", "--out")
    one_line(lab("run", "knowledge-precision", *kept, **asked), "command", "--out")


def test_an_experiment_that_the_questions_cannot_serve(lab: Lab, tmp_path: Path):
    questions = tmp_path / "questions.jsonl"
    questions.write_bytes(orjson.dumps({"id": "q1", "question": "Where?", "answer": "Here"}))
    one_line(lab("run", "knowledge-recall", questions=questions), "supporting")
    one_line(lab("run", "retrieval-quality", questions=questions), "give corpus")


def test_retrieval_quality(lab: Lab, asked: dict[str, object]):
    found = lab("run", "retrieval-quality", "--json", **asked).json
    rows = {row["name"]: row["cells"] for row in found["result"]["rows"]}
    assert len(rows) == 9
    for search in ("dense", "bm25", "hybrid"):
        best = rows[f"{search}, rank 1-3"]["title_recall"]["mean"]
        assert best >= rows[f"{search}, rank 8-10"]["title_recall"]["mean"]


def test_baselines_beside_the_loop(lab: Lab, asked: dict[str, object], tmp_path: Path):
    shown = tmp_path / "shown.jsonl"
    shown.write_bytes(orjson.dumps({"question": "Who?", "answer": "So the answer is Ada."}) + b"\n")
    systems = "zero_shot,few_shot,cot_ir,ircot,auto_cot_diversity,single_shot,loop"
    run = partial(lab, "run", "baselines", "--json", limit=2, **asked)
    found = run(systems=systems, demonstrations=shown, pool=shown, entailment="lexical").json
    rows = found["systems"]
    assert list(rows) == systems.split(",")
    assert rows["zero_shot"]["rounds"] == 0
    assert rows["cot_ir"]["title_recall"] > 0
    assert rows["loop"]["rounds"] >= rows["single_shot"]["rounds"] == 1
    assert rows["single_shot"]["self_consistency"] == 1.0  # it quotes what it cites
    assert "18 passages" in found["result"]["settings"]["corpus"]
    one_line(run(systems="few_shot"), "demonstrations")
    one_line(run(systems="magic"), "magic", "loop", "ircot")
    one_line(run(entailment="magic"), "nli:NAME")


def test_training_size(lab: Lab, tmp_path: Path):
    path = tmp_path / "records.jsonl"
    Records(recorded(60)).write(path)
    for kind in ("knn", "benefit", "classifier"):
        found = lab("run", "training-size", "--json", recorded=path, kind=kind).json
        names = [row["name"] for row in found["result"]["rows"]]
        assert names[:2] == ["never", "always"]
        assert names[-1] == "100% (30 records)"


class Moody(ScriptedModel):
    """Fails on one question; as a judge, talks nonsense about one fact in five."""

    def generate(self, prompt, *, on_token=None):
        if prompt.task == "judge":
            said = "it depends" if "Town3" in prompt.text else "entailment"
            return ScriptedModel([said]).generate(prompt)
        if "Jaws 0" in prompt.question:
            raise ModelError("overloaded")
        return super().generate(prompt)


def test_failures_are_counted_in_the_table(
    lab: Lab, asked: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    model = Moody(["He is of Town1 [1]."])
    monkeypatch.setattr(experiment, "make_model", lambda name, url: model)
    monkeypatch.setattr("skr_app.models.make_model", lambda *_: model)
    frozen = tmp_path / "frozen.jsonl"
    rows = [
        {
            "id": f"q{n}",
            "question": f"Where was the director of the film Jaws {n} born?",
            "key_facts": [f"Person {n} was born in Town{n}.", f"Jaws {n} is by Person {n}."],
        }
        for n in range(6)
    ]
    frozen.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    result = lab(
        *("run", "baselines", "--json", "--out", tmp_path / "run"),
        systems="single_shot",
        key_facts=frozen,
        entailment="judge:any",
        **asked,
    )
    assert "1 questions failed" in result.err
    cells = result.json["result"]["rows"][0]["cells"]
    assert (cells["answer_accuracy"]["n"], cells["answer_accuracy"]["n_failed"]) == (5, 1)
    assert cells["answer_accuracy"]["mean"] == 0.2
    recall = cells["key_fact_recall"]
    assert (recall["n"], recall["n_failed"], recall["mean"]) == (4, 2, 1.0)
    table = (tmp_path / "run" / "result.md").read_text()
    assert "n_failed" in table


ALOUD = (
    r"Both name the town. \boxed{entailment}",
    "Let us see whether it follows.\n1. The town is named.\n\nThe hypothesis follows.",
    "Entailment\n\nThe premise says so in its first sentence, so nothing is missing.",
    "Die Hypothese folgt aus der Prämisse.",
    r"It is said of another. The hypothesis does not follow. \boxed{\text{neutral}}",
    "It may well be so.",
)
"""What a judge says of each question; the last but one denies, and the last does not tell."""


class ThinkingAloud(ScriptedModel):
    """Says both facts and cites what they stand in; as a judge it thinks aloud."""

    def generate(self, prompt, *, on_token=None):
        n = int(re.findall(r"Jaws (\d)", prompt.text)[-1])
        if prompt.task == "judge":
            return ScriptedModel([ALOUD[n]]).generate(prompt)
        return ScriptedModel([f"Jaws {n} is by Person {n} [1]."]).generate(prompt)


def test_both_measures_of_claims_by_a_judge_that_thinks_aloud(
    lab: Lab, asked: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    model = ThinkingAloud()
    monkeypatch.setattr(experiment, "make_model", lambda name, url: model)
    monkeypatch.setattr("skr_app.models.make_model", lambda *_: model)
    frozen = tmp_path / "frozen.jsonl"
    rows = [
        {
            "id": f"q{n}",
            "question": f"Where was the director of the film Jaws {n} born?",
            "key_facts": [f"Jaws {n} is a film.", f"Jaws {n} has a director."],
        }
        for n in range(6)
    ]
    frozen.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    judged = {"key_facts": frozen, "entailment": "judge:any"}
    found = lab("run", "knowledge-recall", "--json", **judged, **asked).json
    [complete] = [row for row in found["result"]["rows"] if row["name"] == "complete"]
    for name in ("key_fact_recall", "key_fact_precision", "self_consistency"):
        cell = complete["cells"][name]
        assert (cell["mean"], cell["n"], cell["n_failed"]) == (0.8, 5, 1), name


def test_what_is_judged_is_the_conclusion(
    lab: Lab, asked: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    model = ScriptedModel(["He is Person 1, of Town1 [1]. So the answer is Town1."])
    monkeypatch.setattr(experiment, "make_model", lambda name, url: model)
    shown = tmp_path / "shown.jsonl"
    shown.write_bytes(orjson.dumps({"question": "Who?", "answer": "So the answer is Ada."}) + b"\n")
    systems = "zero_shot,manual_cot,cot_ir,single_shot,loop"
    fields = {"systems": systems, "templates": "skr", "demonstrations": shown, **asked}
    rows = lab("run", "baselines", "--json", **fields).json["result"]["rows"]
    means = {row["name"]: row["cells"]["exact_match"]["mean"] for row in rows}
    assert means == dict.fromkeys(systems.split(","), pytest.approx(1 / 6))


def test_key_facts_from_model_to_evaluation(
    lab: Lab, asked: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    class Writer(ScriptedModel):
        def generate(self, prompt, *, on_token=None):
            n = prompt.question.split("Jaws ")[1][0]
            if n == "5" and not self.prompts:
                raise ModelError("overloaded")
            steps = "reasoning process" in prompt.text
            fact = f"- Jaws {n} is by Person {n}.\n- Person {n} was born in Town{n}."
            return ScriptedModel(["First this." if steps else fact]).generate(prompt)

    writer = Writer()
    review, frozen = tmp_path / "review.md", tmp_path / "frozen.jsonl"
    make = partial(lab, "key-facts", "make", "--out", review, "--json", **asked)
    with monkeypatch.context() as patch:
        patch.setattr(experiment, "make_model", lambda name, url: writer)
        first = make()
        assert (first.json["made"], first.json["failed"]) == (5, 1)
        edited = review.read_text().replace("- Jaws 1 is by Person 1.", "- Person 1 made Jaws 1.")
        review.write_text(edited)
        writer.prompts.append(None)  # now it answers
        second = make().json
    assert (second["made"], second["kept"]) == (1, 5)
    assert "Person 1 made Jaws 1." in review.read_text()
    accepted = lab("key-facts", "accept", review, "--out", frozen, "--json").json
    assert accepted == {"out": str(frozen), "questions": 6, "key_facts": 12}
    judged = {"key_facts": frozen, "entailment": "lexical", "systems": "loop", **asked}
    found = lab("run", "baselines", "--json", **judged).json
    [row] = found["result"]["rows"]
    assert row["cells"]["key_fact_recall"]["n"] == 6
    assert row["cells"]["key_fact_f1_of_means"]["n"] == 6
    review.write_text(review.read_text() + "- a third\n- a fourth\n- a fifth\n")
    one_line(lab("key-facts", "accept", review, "--out", tmp_path / "other.jsonl"), "2 to 4")


def test_a_report_of_runs(lab: Lab, skr: Skr, asked: dict[str, object], tmp_path: Path):
    for name in ("one", "two"):
        lab("run", "baselines", "--out", tmp_path / name, systems="single_shot,loop", **asked)
    known = tmp_path / "records.jsonl"
    Records(recorded(60)).write(known)
    out = ("--out", tmp_path / "r", "--json")
    printed = {
        "calibrated": skr("calibrate", known, "--router", "paper", *out),
        "replayed": skr("replay", "--train", known, "--router", "always,never,paper", "--json"),
        "sized": lab("run", "training-size", "--json", recorded=known),
    }
    for name, result in printed.items():
        (tmp_path / f"{name}.json").write_text(result.out)
    page = tmp_path / "page.html"
    files = [tmp_path / f"{name}.json" for name in printed]
    result = lab(
        *("report", tmp_path / "one", tmp_path / "two", *files),
        *("--out", page, "--title", "What pays <here>?"),
    )
    assert result.code == 0, result.err
    text = page.read_text()
    assert "<h1>What pays &lt;here&gt;?</h1>" in text
    assert "://" not in text
    said = unescape(text).replace("\u00a0", " ")
    assert printed["calibrated"].json["verdict"] in said
    assert "questions are too few to tell." in said
    assert "the router paper" in text
    assert "Answer accuracy goes from" in text
    one_line(lab("report", tmp_path, "--out", page), "no result")


def test_a_report_says_what_was_found_as_json(lab: Lab, tmp_path: Path):
    run, page = tmp_path / "mine.json", tmp_path / "page.html"
    half = {"mean": 0.5, "low": 0.4, "high": 0.6, "n": 90}
    run.write_bytes(orjson.dumps({"title": "Mine", "rows": [{"name": "a", "cells": {"f1": half}}]}))
    result = lab("report", run, "--out", page, "--json")
    found = "Measured f1: a, 0.500 (0.400 to 0.600), n 90."
    assert result.json == {
        "out": str(page),
        "title": "skr report",
        "runs": [{"run": str(run), "title": "Mine", "findings": [found]}],
    }
    assert found in unescape(page.read_text()).replace("\u00a0", " ")


def recorded(n: int) -> list[Record]:
    return [
        Record.of(f"What is {n} of it?", ["x"], direct=("", n % 2), single=("", n % 3 == 0))
        for n in range(n)
    ]


@pytest.mark.data
def test_a_ladder_and_routers_on_recorded_answers(lab: Lab, data_dir: Path):
    recorded = data_dir / "adarague_llama31_8b_dev.jsonl.gz"
    found = lab("run", "replayed-ladder", "--json", recorded=recorded, limit=400).json
    rows = {row["name"]: row["cells"] for row in found["result"]["rows"]}
    assert rows["never"]["retrievals"]["mean"] == 0.0
    for budget in ("0.5", "1", "1.85"):
        assert rows[f"ladder within {budget}"]["retrievals"]["mean"] < float(budget) + 0.3
    assert rows["loop"]["accuracy"]["mean"] > rows["never"]["accuracy"]["mean"]
    one_line(lab("run", "replayed-routing", data=data_dir / "none"), "there is no")
