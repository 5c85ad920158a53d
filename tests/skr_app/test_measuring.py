"""The commands that measure: evaluate, experiment, key-facts, report."""

from __future__ import annotations

from html import unescape
from pathlib import Path

import orjson
import pytest

from skr_app import described, measuring
from skr_app.commands import evaluate as evaluate_command
from skr_app.report.tables import Result as Tabled
from skr_app.report.tables import Row
from skr_core.errors import ModelError
from skr_core.questions import Question
from skr_core.testing import BrokenModel, ScriptedModel
from skr_lab.commands import key_facts as key_facts_command
from skr_learn.evaluation.measuring import Judged
from skr_learn.metrics.statistics import Interval
from skr_learn.self_knowledge import SelfKnowledge, write_self_knowledge
from tests.skr_app.conftest import Result, Skr


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


def one_line(result: Result, *words: str, code: int = 2) -> None:
    assert result.code == code, result
    lines = [line for line in result.err.splitlines() if "error:" in line]
    assert len(lines) == 1, result.err
    assert "Traceback" not in result.err
    assert all(word in lines[0] for word in words), lines


def test_contexts_are_the_corpus_where_there_is_no_other(skr: Skr, published: Path):
    found = skr("evaluate", published, "--dataset", "hotpotqa", "--limit", 2, "--json").json
    assert "18 passages" in found["result"]["settings"]["corpus"]
    assert found["loop"]["n"] == 2
    row = found["result"]["rows"][1]
    assert row["cells"]["fact_recall"]["mean"] > 0
    assert found["gain"]["rounds"]["n"] == 2


def test_a_run_folder(skr: Skr, published: Path, tmp_path: Path):
    out = tmp_path / "run"
    command = ("evaluate", published, "--dataset", "hotpotqa", "--out", out, "--json")
    first = skr(*command).json
    assert {each.name for each in out.iterdir()} >= {
        "run.json",
        "answers.jsonl",
        "result.json",
        "result.md",
        "result.png",
        "scores.jsonl",
    }
    written = (out / "result.json").read_bytes()
    answers = (out / "answers.jsonl").read_bytes()
    second = skr(*command).json
    assert second["result"] == first["result"]
    assert second["loop"]["seconds"] == first["loop"]["seconds"]
    assert (out / "result.json").read_bytes() == written
    assert (out / "answers.jsonl").read_bytes() == answers
    one_line(skr(*command, "--max-rounds", 2), "max_rounds", "--out")


def test_never_always_and_a_router(skr: Skr, published: Path, tmp_path: Path):
    from skr_core.routers import PromptRouter

    router = tmp_path / "router"
    PromptRouter(ScriptedModel(name="extractive")).save(router)
    command = ("evaluate", published, "--dataset", "hotpotqa", "--json")
    found = skr(*command, "--systems", "never,loop,always,adaptive", "--router", router).json
    assert found["never"]["rounds"] == 0
    assert {**found["always"], "seconds": 0} == {**found["loop"], "seconds": 0}
    assert "gain" not in found
    one_line(skr(*command, "--systems", "adaptive"), "--router")
    one_line(skr(*command, "--systems", "magic"), "magic", "loop", "ircot")
    one_line(skr(*command, "--systems", ","), "--systems")


def test_baselines_beside_the_loop(skr: Skr, published: Path, tmp_path: Path):
    shown = tmp_path / "shown.jsonl"
    shown.write_bytes(orjson.dumps({"question": "Who?", "answer": "So the answer is Ada."}) + b"\n")
    command = ("evaluate", published, "--dataset", "hotpotqa", "--json", "--limit", 2)
    systems = "zero_shot,few_shot,cot_ir,ircot,auto_cot_diversity"
    found = skr(*command, "--systems", systems, "--demonstrations", shown, "--pool", shown).json
    assert found["zero_shot"]["rounds"] == 0
    assert found["cot_ir"]["title_recall_at_10"] > 0
    one_line(skr(*command, "--systems", "few_shot"), "demonstrations")


def test_prices_and_entailment(skr: Skr, published: Path, tmp_path: Path):
    prices = tmp_path / "prices.json"
    prices.write_bytes(orjson.dumps({"extractive": {"prompt": 1.0, "completion": 2.0}}))
    command = ("evaluate", published, "--dataset", "hotpotqa", "--json", "--limit", 2)
    found = skr(*command, "--prices", prices, "--entailment", "lexical").json
    cells = found["result"]["rows"][0]["cells"]
    assert cells["usd"]["mean"] > 0
    assert cells["self_consistency"]["mean"] == 1.0  # it quotes what it cites
    one_line(skr(*command, "--entailment", "magic"), "nli:NAME")
    prices.write_bytes(b"{}")
    one_line(skr(*command, "--prices", prices), "extractive")


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
    skr: Skr, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    model = Moody(["He is of Town1 [1]."])
    monkeypatch.setattr(described, "make_model", lambda name, url: model)
    monkeypatch.setattr(measuring, "make_model", lambda name, url: model)
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
    result = skr(
        *("evaluate", published, "--dataset", "hotpotqa", "--systems", "single_shot", "--json"),
        *("--key-facts", frozen, "--entailment", "judge:any", "--out", tmp_path / "run"),
    )
    assert "1 questions failed" in result.err
    cells = result.json["result"]["rows"][0]["cells"]
    assert (cells["answer_accuracy"]["n"], cells["answer_accuracy"]["n_failed"]) == (5, 1)
    assert cells["answer_accuracy"]["mean"] == 0.2
    recall = cells["key_fact_recall"]
    assert (recall["n"], recall["n_failed"], recall["mean"]) == (4, 2, 1.0)
    table = (tmp_path / "run" / "result.md").read_text()
    assert "n_failed" in table


def test_a_model_that_never_answers(skr: Skr, published: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(described, "make_model", lambda name, url: BrokenModel())
    one_line(skr("evaluate", published, "--dataset", "hotpotqa"), "every question failed", code=1)


@pytest.mark.parametrize(
    "name", ["knowledge-precision", "knowledge-recall", "reflection", "reliance"]
)
def test_experiments(skr: Skr, published: Path, tmp_path: Path, name: str):
    command = ("experiment", name, published, "--dataset", "hotpotqa")
    found = skr(*command, "--json", "--out", tmp_path / name).json
    assert found["result"]["experiment"] == name
    assert (tmp_path / name / "result.png").read_bytes().startswith(b"\x89PNG")
    shown = skr(*command)
    assert shown.code == 0
    assert "n_failed" in shown.out


def test_an_experiment_that_the_questions_cannot_serve(skr: Skr, questions: Path):
    one_line(skr("experiment", "knowledge-recall", questions), "supporting")
    one_line(skr("evaluate", questions), "--corpus")
    one_line(skr("experiment", "retrieval-quality", questions), "--corpus")


def test_retrieval_quality(skr: Skr, published: Path):
    command = ("experiment", "retrieval-quality", published, "--dataset", "hotpotqa", "--json")
    rows = {row["name"]: row["cells"] for row in skr(*command).json["result"]["rows"]}
    assert len(rows) == 9
    for search in ("dense", "bm25", "hybrid"):
        best = rows[f"{search}, rank 1-3"]["title_recall"]["mean"]
        assert best >= rows[f"{search}, rank 8-10"]["title_recall"]["mean"]


def test_training_size(skr: Skr, tmp_path: Path):
    path = tmp_path / "records.jsonl"
    write_self_knowledge(path, recorded(60))
    for kind in ("knn", "benefit", "classifier"):
        found = skr("experiment", "training-size", path, "--kind", kind, "--json").json
        names = [row["name"] for row in found["result"]["rows"]]
        assert names[:2] == ["never", "always"]
        assert names[-1] == "100% (30 records)"


def test_key_facts_from_model_to_evaluation(
    skr: Skr, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    monkeypatch.setattr(key_facts_command, "make_model", lambda name, url: writer)
    review, frozen = tmp_path / "review.md", tmp_path / "frozen.jsonl"
    command = ("key-facts", "make", published, "--dataset", "hotpotqa", "--out", review, "--json")
    first = skr(*command)
    assert (first.json["made"], first.json["failed"]) == (5, 1)
    edited = review.read_text().replace("- Jaws 1 is by Person 1.", "- Person 1 made Jaws 1.")
    review.write_text(edited)
    writer.prompts.append(None)  # now it answers
    second = skr(*command).json
    assert (second["made"], second["kept"]) == (1, 5)
    assert "Person 1 made Jaws 1." in review.read_text()
    accepted = skr("key-facts", "accept", review, "--out", frozen, "--json").json
    assert accepted == {"out": str(frozen), "questions": 6, "key_facts": 12}
    found = skr(
        *("evaluate", published, "--dataset", "hotpotqa", "--json"),
        *("--key-facts", frozen, "--entailment", "lexical"),
    ).json
    cells = found["result"]["rows"][1]["cells"]
    assert cells["key_fact_recall"]["n"] == 6
    review.write_text(review.read_text() + "- a third\n- a fourth\n- a fifth\n")
    one_line(skr("key-facts", "accept", review, "--out", tmp_path / "other.jsonl"), "2 to 4")


def test_report(skr: Skr, published: Path, tmp_path: Path):
    for name in ("one", "two"):
        skr("evaluate", published, "--dataset", "hotpotqa", "--out", tmp_path / name)
    known = tmp_path / "records.jsonl"
    write_self_knowledge(known, recorded(60))
    printed = {
        "calibrated": skr(
            "calibrate", known, "--router", "paper", "--out", tmp_path / "r", "--json"
        ),
        "replayed": skr("replay", "--train", known, "--router", "always,never,paper", "--json"),
        "evaluated": skr("evaluate", published, "--dataset", "hotpotqa", "--json"),
        "sized": skr("experiment", "training-size", known, "--json"),
    }
    for name, result in printed.items():
        (tmp_path / f"{name}.json").write_text(result.out)
    (tmp_path / "two" / "curve.json").write_text(printed["calibrated"].out)
    page = tmp_path / "page.html"
    files = [tmp_path / f"{name}.json" for name in printed]
    result = skr(
        *("report", tmp_path / "one", tmp_path / "two", *files),
        *("--out", page, "--title", "What pays <here>?"),
    )
    assert result.code == 0, result.err
    text = page.read_text()
    assert "<h1>What pays &lt;here&gt;?</h1>" in text
    assert "://" not in text
    said = unescape(text).replace("\u00a0", " ")
    assert printed["calibrated"].json["sentence"] in said
    gain = printed["evaluated"].json["gain"]["answer_accuracy"]
    assert f"{100 * gain['mean']:+.1f} points" in text
    assert "Answer accuracy of loop" in text
    assert "The router paper answers" in text
    assert "Answer accuracy goes from" in text
    assert text.count("<h3>The router&#39;s calibration") == 1
    one_line(skr("report", tmp_path, "--out", page), "no result")
    (tmp_path / "two" / "curve.json").write_text("{}")
    one_line(skr("report", tmp_path / "two", "--out", page), "routing curve")


def test_a_report_says_what_was_found_as_json(skr: Skr, tmp_path: Path):
    run, page = tmp_path / "mine.json", tmp_path / "page.html"
    half = {"mean": 0.5, "low": 0.4, "high": 0.6, "n": 90}
    run.write_bytes(orjson.dumps({"title": "Mine", "rows": [{"name": "a", "cells": {"f1": half}}]}))
    result = skr("report", run, "--out", page, "--json")
    found = "Measured f1: a, 0.500 (0.400 to 0.600), n 90."
    assert result.json == {
        "out": str(page),
        "title": "skr report",
        "runs": [{"run": str(run), "title": "Mine", "findings": [found]}],
    }
    assert found in unescape(page.read_text()).replace("\u00a0", " ")


def test_a_table_says_n_where_it_differs_and_what_a_number_is(capsys: pytest.CaptureFixture[str]):
    cells = {
        "answer_accuracy": Interval(0.5, 0.4, 0.6, 90),
        "guidance": Interval(0.7, 0.5, 0.9, 12),
    }
    result = Tabled("demo", "does it pay?", {"model": "m", "max_rounds": "3"}, (Row("a", cells),))
    measuring.show_result(result, None, json=False, more={})
    out = capsys.readouterr().out
    assert "Does it pay? m, max rounds 3" in out
    assert "0.700 (0.500 to 0.900), n 12" in out
    assert "0.500 (0.400 to 0.600), n" not in out


def recorded(n: int) -> list[SelfKnowledge]:
    return [
        SelfKnowledge.of(f"What is {n} of it?", ["x"], direct=("", n % 2), single=("", n % 3 == 0))
        for n in range(n)
    ]


@pytest.mark.data
def test_recorded_strategyqa(skr: Skr, data_dir: Path):
    path = data_dir / "multihop_strategyqa_evidence.jsonl.gz"
    found = skr("evaluate", path, "--limit", 10, "--json").json
    assert found["loop"]["n"] == 10
    assert found["loop"]["title_recall_at_10"] > 0.5


@pytest.mark.data
def test_recorded_hotpotqa_with_sentences(skr: Skr, data_dir: Path):
    path = data_dir / "multihop_hotpotqa_sentences.jsonl.gz"
    found = skr("evaluate", path, "--limit", 5, "--systems", "single_shot", "--json").json
    [row] = found["result"]["rows"]
    assert row["cells"]["fact_recall"]["mean"] > 0.3


@pytest.mark.parametrize(
    ("loop", "words"),
    [
        ([1.0] * 8, "The loop pays with this model: answer_accuracy +0.750"),
        ([0.0] * 8, "The loop does not pay with this model, answer with --max-rounds 1:"),
        ([1.0, 0.0] * 4, "these questions do not tell"),
    ],
)
def test_whether_the_loop_pays(loop: list[float], words: str):
    def judged(values: list[float]) -> list[Judged]:
        who = Question("1", "Who?", ("Ada",))
        return [Judged(who, None, {"answer_accuracy": each}) for each in values]

    single = [0.0] * 6 + [1.0, 1.0] if max(loop) else [1.0] * 6 + [0.0, 0.0]
    both = {"single_shot": judged(single), "loop": judged(loop)}
    said = evaluate_command.whether_the_loop_pays(both)
    assert words in said
    assert said.endswith("n 8.")
    assert evaluate_command.result_of(both, {}).notes == (said,)
    assert evaluate_command.whether_the_loop_pays({"loop": judged(loop)}) == ""
