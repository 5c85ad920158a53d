"""``skr evaluate``: the run's folder, its systems, and what it says."""

from __future__ import annotations

from html import unescape
from pathlib import Path

import orjson
import pytest

from skr_app import models
from skr_app.commands import evaluate as evaluate_command
from skr_app.report import Result as Tabled
from skr_app.report import Row, findings_of_result, show_result
from skr_core import Question
from skr_core.errors import ModelError
from skr_core.routers import AlwaysRetrieve
from skr_core.testing import BrokenModel, ScriptedModel
from skr_core.types import Decision, Stamp
from skr_learn import Record, Records
from skr_learn.evaluate import Judged
from skr_learn.metrics import Interval
from skr_learn.routers import KNNRouter
from skr_learn.routers.base import hash_of_question
from tests.skr_app.conftest import Result, Skr


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """Questions with their contexts, sentences and supporting facts, as data sets have them."""
    rows = [
        {
            "id": f"q{n}",
            "question": f"Where was the director of the film Jaws {n} born?",
            "answer": f"Town{n}",
            "supporting_titles": [f"Jaws {n}", f"Person {n}"],
            "supporting_facts": [[f"Jaws {n}", 0], [f"Person {n}", 0]],
            "contexts": [
                {"title": title, "text": "".join(sentences), "sentences": sentences}
                for title, sentences in (
                    (f"Jaws {n}", [f"Jaws {n} is a film directed by Person {n}."]),
                    (f"Person {n}", [f"Person {n} was born in Town{n}.", " So it is said."]),
                    (f"Noise {n}", [f"Noise {n} is another thing."]),
                )
            ],
        }
        for n in range(6)
    ]
    path = tmp_path / "published.jsonl"
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return path


def one_line(result: Result, *words: str, code: int = 2) -> None:
    assert result.code == code, result
    lines = [line for line in result.err.splitlines() if "error:" in line]
    assert len(lines) == 1, result.err
    assert "Traceback" not in result.err
    assert all(word in lines[0] for word in words), lines


def test_contexts_are_the_corpus_where_there_is_no_other(skr: Skr, published: Path):
    found = skr("evaluate", published, "--limit", 2, "--json").json
    assert "18 passages" in found["result"]["settings"]["corpus"]
    assert found["loop"]["n"] == 2
    row = found["result"]["rows"][1]
    assert row["cells"]["fact_recall"]["mean"] > 0
    assert found["gain"]["rounds"]["n"] == 2


def test_a_run_folder(skr: Skr, published: Path, tmp_path: Path):
    out = tmp_path / "run"
    command = ("evaluate", published, "--out", out, "--json")
    report = tmp_path / "report.ipynb"
    first = skr(*command, "--report", report).json
    assert "read_scores('run')" in report.read_text()
    page = unescape((out / "report.html").read_text()).replace("\u00a0", " ")
    assert "6 questions are too few to tell." in page
    assert "<dd>published.jsonl, 6 asked</dd>" in page
    assert f"--report {report}" in page
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
    one_line(skr("evaluate", published, "--report", report), "notebook", "--out")


def test_never_always_and_a_router(skr: Skr, published: Path, tmp_path: Path):
    from skr_core.routers import PromptRouter

    router = tmp_path / "router"
    PromptRouter(ScriptedModel(name="extractive")).save(router)
    command = ("evaluate", published, "--json")
    found = skr(*command, "--systems", "never,loop,always,adaptive", "--router", router).json
    assert found["never"]["rounds"] == 0
    assert {**found["always"], "seconds": 0} == {**found["loop"], "seconds": 0}
    assert "gain" not in found
    one_line(skr(*command, "--systems", "adaptive"), "--router")
    one_line(skr(*command, "--systems", "magic"), "magic", "loop", "adaptive")
    one_line(skr(*command, "--systems", ","), "--systems")


def known(rows: int, **stamp: str) -> list[Record]:
    """Records of questions like those above, half of them known."""
    return [
        Record.of(
            f"Where was the director of the film Jaws {n} born?",
            [f"Town{n}"],
            direct=("I do not know.", 0) if n % 2 else (f"In Town{n}.", 1),
            loop=(f"Town{n} [1].", 1) if n % 2 else ("Elsewhere.", 0),
            stamp=Stamp(**stamp),
        )
        for n in range(rows)
    ]


def test_questions_that_the_router_has_learnt_from_are_left_out(
    skr: Skr, published: Path, tmp_path: Path
):
    some, all_of_them = tmp_path / "some.skr", tmp_path / "all.skr"
    KNNRouter.fit(known(60)[2:]).save(some)
    KNNRouter.fit(known(60)).save(all_of_them)
    command = ("evaluate", published, "--systems", "never,adaptive")
    found = skr(*command, "--router", some, "--json").json
    assert (found["left_out"], found["adaptive"]["n"], found["never"]["n"]) == (4, 2, 2)
    assert skr(*command, "--router", some, "--limit", 1, "--json").json["adaptive"]["n"] == 1
    assert (
        "Left out: 4 questions that the router has learnt from."
        in skr(*command, "--router", some).out
    )
    one_line(skr(*command, "--router", all_of_them), "all 6 questions", "--cross-fit RECORDS")


def test_cross_fitting_asks_each_question_by_a_router_that_has_not_seen_it(
    skr: Skr, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    records, out = tmp_path / "records.jsonl", tmp_path / "run"
    Records(known(60, model="extractive")).write(records)
    asked: list[tuple[str, frozenset[str]]] = []
    opened = evaluate_command.open_router

    class Watched(AlwaysRetrieve):
        """Remembers what it was asked, and what the router in its place has learnt from."""

        def __init__(self, learnt: frozenset[str]) -> None:
            super().__init__()
            self.learnt = learnt

        async def adecide(self, question: str) -> Decision:
            asked.append((hash_of_question(question), self.learnt))
            return await super().adecide(question)

    def watching(*given, **more):
        return Watched(frozenset(opened(*given, **more).questions))

    monkeypatch.setattr(evaluate_command, "open_router", watching)
    command = ("evaluate", published, "--systems", "adaptive", "--cross-fit", records)
    found = skr(*command, "--out", out, "--json").json
    assert (found["adaptive"]["n"], found["left_out"]) == (6, 0)
    assert len(asked) == 6
    assert all(len(learnt) == 48 and question not in learnt for question, learnt in asked)
    assert len({learnt for _, learnt in asked}) > 1
    assert "records.jsonl" in orjson.loads((out / "run.json").read_bytes())["router"]
    one_line(skr(*command, "--router", "never"), "either --router or --cross-fit")
    monkeypatch.setattr(evaluate_command, "open_router", opened)
    Records(known(60, model="other")).write(records)
    one_line(skr(*command), "made with the model 'other'", "--force")


def test_prices(skr: Skr, published: Path, tmp_path: Path):
    prices = tmp_path / "prices.json"
    prices.write_bytes(orjson.dumps({"extractive": {"prompt": 1.0, "completion": 2.0}}))
    command = ("evaluate", published, "--json", "--limit", 2)
    found = skr(*command, "--prices", prices).json
    cells = found["result"]["rows"][0]["cells"]
    assert cells["usd"]["mean"] > 0
    prices.write_bytes(b"{}")
    one_line(skr(*command, "--prices", prices), "extractive")


class Moody(ScriptedModel):
    """Fails on one question."""

    def generate(self, prompt, *, on_token=None):
        if "Jaws 0" in prompt.question:
            raise ModelError("overloaded")
        return super().generate(prompt)


def test_failures_are_counted_in_the_table(
    skr: Skr, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    model = Moody(["He is of Town1 [1]."])
    monkeypatch.setattr(models, "make_model", lambda *_: model)
    result = skr(
        *("evaluate", published, "--systems", "single_shot", "--json"),
        *("--out", tmp_path / "run"),
    )
    assert "1 questions failed" in result.err
    cells = result.json["result"]["rows"][0]["cells"]
    assert (cells["answer_accuracy"]["n"], cells["answer_accuracy"]["n_failed"]) == (5, 1)
    assert cells["answer_accuracy"]["mean"] == 0.2
    table = (tmp_path / "run" / "result.md").read_text()
    assert "n_failed" in table


def test_a_model_that_never_answers(skr: Skr, published: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(models, "make_model", lambda *_: BrokenModel())
    one_line(skr("evaluate", published), "every question failed", code=1)


def test_a_table_says_n_where_it_differs_and_what_a_number_is(capsys: pytest.CaptureFixture[str]):
    cells = {
        "answer_accuracy": Interval(0.5, 0.4, 0.6, 90),
        "guidance": Interval(0.7, 0.5, 0.9, 12),
    }
    result = Tabled("demo", "does it pay?", {"model": "m", "max_rounds": "3"}, (Row("a", cells),))
    show_result(result, None, json=False, more={})
    out = capsys.readouterr().out
    assert "Does it pay? m, max rounds 3" in out
    assert "0.700 (0.500 to 0.900), n 12" in out
    assert "0.500 (0.400 to 0.600), n" not in out


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
        ([1.0] * 16, "Better: 16 of 16 right with the loop instead of 4 with one search"),
        ([0.0] * 16, "Worse: 0 of 16 right with the loop instead of 12 with one search"),
        ([1.0, 0.0] * 8, "16 questions are too few to tell."),
        ([1.0] * 4, "4 questions are too few to tell."),
    ],
)
def test_whether_the_loop_pays(loop: list[float], words: str):
    def judged(values: list[float]) -> list[Judged]:
        return [
            Judged(Question(f"{n}", f"Who is {n}?", ("Ada",)), None, {"answer_accuracy": each})
            for n, each in enumerate(values)
        ]

    quarter = len(loop) // 4
    single = [1 - max(loop)] * 3 * quarter + [max(loop)] * quarter
    both = {"single_shot": judged(single), "loop": judged(loop)}
    [said] = findings_of_result(evaluate_command.result_of(both, {}))
    assert words in said


def test_a_table_of_others_is_asked_and_its_answers_are_written(
    skr: Skr, corpus: Path, tmp_path: Path
):
    table, export = tmp_path / "table.csv", tmp_path / "new" / "answers.jsonl"
    table.write_text("Frage,Antwort\nWho directed the film Jaws?,Steven Spielberg\n")
    command = ("evaluate", table, "--corpus", corpus, "--json")
    one_line(skr(*command), "Frage, Antwort", "--question-field")
    named = (*command, "--question-field", "Frage", "--answer-field", "Antwort")
    one_line(skr(*named, "--export", tmp_path / "answers.xlsx"), ".jsonl, .csv, .parquet")
    result = skr(*named, "--systems", "loop", "--export", export)
    assert "question: Frage, right answer: Antwort" in result.err
    row = orjson.loads(export.read_bytes())
    assert row["reference"] == "Steven Spielberg"
    assert row["retrieved_contexts"]
    assert row["answer_accuracy"] == result.json["loop"]["answer_accuracy"]
    told = skr("evaluate", export, "--corpus", corpus).err
    assert "question: user_input, right answer: answers" in told
    one_line(skr(*named, "--dataset", "quiz"), "--question-field", "--dataset quiz")
