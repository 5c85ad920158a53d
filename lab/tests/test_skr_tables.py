"""The experiments of SKR over a real socket: a model that knows rivers, a corpus that has firms.

What the corpus says of rivers is wrong, so retrieval helps one half and hurts the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

from lab.tests.conftest import Lab, one_line
from tests.servers import Messages, OpenAIServer

pytestmark = pytest.mark.integration

RIVER, FIRM = "Which sea is reached by the river Ri{}?", "Who is the head of the firm Fi{}?"
ASKED, LEARNT = range(4), range(10, 20)


def reply(messages: Messages) -> str:
    text = str(messages[-1]["content"])
    kind, number = re.findall(r"\b(Ri|Fi)(\d+)\?", text)[-1]
    if number == "66":
        raise RuntimeError("the model is out of order")
    if "Would you like" in text or "additional information to answer" in text:
        return "No, I don't." if kind == "Ri" else "Yes, I need additional information."
    if text.endswith("A:"):
        return "Yes, I can." if kind == "Ri" else "No, I cannot."
    if text.startswith("Write a search query"):
        asked = (RIVER if kind == "Ri" else FIRM).format(number)
        return f"It is about {kind}{number}.\nSearch query: {asked}"
    if text.startswith("Recite"):
        return f"{kind}{number} is well known."
    if kind == "Ri":
        said = "Wrong" if f"The river Ri{number} reaches Wrong" in text else f"Sea{number}"
    else:
        said = f"Boss{number}" if f"firm Fi{number} is Boss{number}" in text else "Nobody"
    if text.endswith("Are follow up questions needed here:"):
        asked = (RIVER if kind == "Ri" else FIRM).format(number)
        return f"Yes.\nFollow up: {asked}"
    if "Intermediate answer:" in text.rpartition("Question:")[2]:
        return f"So the final answer is: {said}"
    return f"It is about {kind}{number}. So the answer is {said}."


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    # A command leaves its connections to the end of its process, which here goes on.
    with OpenAIServer(reply, keep_alive=False) as server:
        yield server


@pytest.fixture
def model(server: OpenAIServer) -> dict[str, str]:
    return {"model": "openai:test", "base_url": server.url}


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return path


def rows_of(numbers: range, **more: str) -> list[dict[str, Any]]:
    rivers = [{"question": RIVER.format(n), "answer": f"Sea{n}"} for n in numbers]
    firms = [{"question": FIRM.format(n), "answer": f"Boss{n}"} for n in numbers]
    return [each | more for each in (*rivers, *firms)]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    wrong = [f"The river Ri{n} reaches Wrong." for n in (*ASKED, *LEARNT, 99)]
    right = [f"The head of the firm Fi{n} is Boss{n}." for n in (*ASKED, *LEARNT, 99)]
    shown = [
        {"question": RIVER.format(99), "answer": "It is long. So the answer is Sea99."},
        {"question": FIRM.format(99), "answer": "It is old. So the answer is Boss99."},
    ]
    texts = {"corpus": [*wrong, *right], "rivers": wrong, "firms": right}
    return {
        "asked": write(tmp_path / "asked.jsonl", rows_of(ASKED)),
        "learnt": write(tmp_path / "learnt.jsonl", rows_of(LEARNT)),
        "typed": write(
            tmp_path / "typed.jsonl",
            [*rows_of(ASKED, type="Implicit"), *rows_of(LEARNT, type="Ordinal")],
        ),
        "shown": write(tmp_path / "shown.jsonl", shown),
        **{
            name: write(
                tmp_path / f"{name}.jsonl",
                [{"id": each, "title": "", "text": each} for each in held],
            )
            for name, held in texts.items()
        },
    }


def table(result: Any) -> dict[str, dict[str, Any]]:
    assert result.code == 0, result.err
    return {row["name"]: row["cells"] for row in result.json["result"]["rows"]}


def accuracies(rows: dict[str, dict[str, Any]]) -> dict[str, float]:
    return {name: cells["answer_accuracy"]["mean"] for name, cells in rows.items()}


def test_table_1(
    lab: Lab, server: OpenAIServer, model: dict[str, str], files: dict[str, Path], tmp_path: Path
):
    command = partial(
        *(lab, "run", "self-knowledge", "--out", tmp_path / "run"),
        questions=files["asked"],
        training=files["learnt"],
        demonstrations=files["shown"],
        corpus=files["corpus"],
        search="bm25",
        **model,
    )
    before = server.calls
    found = command("--json")
    rows = table(found)
    assert list(rows) == [
        *("zero_shot", "zero_shot_cot", "few_shot", "manual_cot", "auto_cot_similarity"),
        *("auto_cot_diversity", "cot_ir", "ircot", "skr_prompt", "skr_icl", "skr_cls", "skr_knn"),
        "cot_rr",
    ]
    direct = dict.fromkeys(list(rows)[:6], 0.5)
    assert accuracies(rows) == {
        **direct,
        **{"cot_ir": 0.5, "ircot": 0.5},
        **dict.fromkeys(["skr_prompt", "skr_icl", "skr_cls", "skr_knn"], 1.0),
        "cot_rr": 0.5,
    }
    knn = rows["skr_knn"]
    assert knn["exact_match"]["mean"] == 1.0  # what leads to the answer is cut off
    assert knn["retrieved"]["mean"] == 0.5
    assert (knn["beneficial_guidance"]["mean"], knn["beneficial_guidance"]["n"]) == (1.0, 8)
    assert (knn["accuracy_when_known"]["mean"], knn["accuracy_when_known"]["n"]) == (1.0, 4)
    assert knn["answer_accuracy"] == {"mean": 1.0, "low": 1.0, "high": 1.0, "n": 8, "n_failed": 0}
    calls = {name: cells["calls"]["mean"] for name, cells in rows.items()}
    assert (calls["zero_shot"], calls["zero_shot_cot"], calls["cot_rr"]) == (1.0, 2.0, 10.0)
    assert (calls["skr_knn"], calls["skr_prompt"]) == (1.0, 2.0)
    assert all(cells["prompt_tokens"]["mean"] > 0 for cells in rows.values())
    ahead = {
        (each["name"], each["against"]): each["cells"]["answer_accuracy"]["mean"]
        for each in found.json["result"]["comparisons"]
    }
    assert len(ahead) == 8
    assert ahead["skr_knn", "manual_cot"] == ahead["skr_knn", "cot_ir"] == 0.5
    notes = " ".join(found.json["result"]["notes"])
    assert "20 training questions: 10 known, 10 unknown, 0 dropped" in notes

    sent = [str(each["messages"][-1]["content"]) for each in server.requests[before:]]
    with_passages = [each for each in sent if "[1]" in each and "It is old." in each]
    assert with_passages
    # Equation 3: the examples have passages where the question has some, and else none.
    assert all(each.count("Here are some passages:") == 3 for each in with_passages)
    without = [each for each in sent if "[1]" not in each and "It is old." in each]
    assert without
    assert not any("Here are some passages:" in each for each in without)

    asked = server.calls
    again = command()  # for people, from what is on the disk
    assert (again.code, server.calls) == (0, asked)
    assert "\tquestions\tfailed\n" in again.out
    assert "skr_knn − cot_ir: answer accuracy +0.500" in again.out
    assert (tmp_path / "run" / "result.md").read_text().count("| skr_knn |") == 1


def test_table_5_by_the_type_of_the_questions(
    lab: Lab, model: dict[str, str], files: dict[str, Path]
):
    found = lab(
        *("run", "retrieval-methods", "--json"),
        questions=files["typed"],
        kind="Implicit",
        demonstrations=files["shown"],
        corpus=files["corpus"],
        search="bm25",
        metric="exact_match",
        **model,
    )
    rows = table(found)
    assert (found.json["n"], found.json["training"]) == (8, 20)
    assert accuracies(rows) == {
        "manual_cot": 0.5,
        "cot_ir": 0.5,
        "self_ask": 0.5,
        "recite_and_answer": 0.5,
        "dsp": 0.5,
        "skr_knn": 1.0,
    }
    assert rows["dsp"]["calls"]["mean"] == 3.0 + 4 / 8  # and four for the examples, once
    against = [each["against"] for each in found.json["result"]["comparisons"]]
    assert against == ["manual_cot", "cot_ir", "self_ask", "recite_and_answer", "dsp"]


@pytest.mark.usefixtures("quick_retries")
def test_table_2_counts_what_failed(lab: Lab, model: dict[str, str], files: dict[str, Path]):
    broken = {"question": RIVER.format(66), "answer": "Sea66"}
    asked = write(files["asked"].with_name("broken.jsonl"), [*rows_of(ASKED), broken])
    rows = table(lab("run", "need-templates", "--json", questions=asked, **model))
    assert [each.removeprefix("prompt:") for each in rows] == [
        "every question",
        *("additional_information", "extra_prompts", "additional_clues"),
        *("can_answer", "can_solve"),
    ]
    everything = rows.pop("every question")
    assert everything["accuracy_when_known"]["mean"] == 0.5
    assert everything["accuracy_when_known"]["n_failed"] == 1
    for cells in rows.values():
        claimed, right = cells["claimed_known"], cells["accuracy_when_known"]
        assert (claimed["mean"], claimed["n"], claimed["n_failed"]) == (0.5, 8, 1)
        assert (right["mean"], right["n"]) == (1.0, 4)
        assert cells["calls"]["mean"] == 2.0


def test_figure_6(lab: Lab, model: dict[str, str], files: dict[str, Path]):
    found = lab(
        *("run", "corpora", "--json"),
        questions=files["asked"],
        search="bm25",
        corpora=f"{files['firms']},{files['rivers']}",
        demonstrations=files["shown"],
        **model,
    )
    rows = table(found)
    assert accuracies(rows) == {"none": 0.5, "firms": 1.0, "rivers": 0.0}
    assert rows["firms"]["calls"]["mean"] == 1.0
    compared = [(each["name"], each["against"]) for each in found.json["result"]["comparisons"]]
    assert compared == [("firms", "none"), ("rivers", "none"), ("rivers", "firms")]


def test_without_training_questions_the_rows_that_need_them_are_said_to_be_missing(
    lab: Lab, files: dict[str, Path]
):
    found = lab(
        *("run", "self-knowledge", "--json"),
        questions=files["asked"],
        demonstrations=files["shown"],
        corpus=files["corpus"],
        limit=2,
    )
    rows = table(found)
    assert "skr_prompt" in rows
    missing = {"auto_cot_similarity", "auto_cot_diversity", "skr_icl", "skr_cls", "skr_knn"}
    assert not missing & rows.keys()
    notes = " ".join(found.json["result"]["notes"])
    assert all(f"{name} is left out" in notes for name in missing)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "give demonstrations"),
        ({"demonstrations": "{shown}", "kind": "Implicit"}, "no type"),
        ({"recorded": "{asked}"}, "no field 'recorded'"),
    ],
)
def test_what_is_missing_is_one_line(
    lab: Lab, files: dict[str, Path], fields: dict[str, str], words: str
):
    given = {name: each.format(**files) for name, each in fields.items()}
    one_line(lab("run", "self-knowledge", questions=files["asked"], **given), words)


@pytest.mark.data
def test_the_recording_of_the_papers_own_run(lab: Lab, data_dir: Path):
    recorded = data_dir / "skr_temporalqa_instructgpt.jsonl.gz"
    found = lab("run", "recorded-self-knowledge", "--json", recorded=recorded)
    rows = table(found)
    score = {name: cells["recorded_score"]["mean"] for name, cells in rows.items()}
    assert score["manual_cot"] == pytest.approx(95 / 175)
    assert score["cot_ir"] == pytest.approx(100 / 175)
    assert score["oracle"] == pytest.approx(117 / 175)
    exact = {name: cells["exact_match"]["mean"] for name, cells in rows.items()}
    assert exact["manual_cot"] == pytest.approx(69 / 175)
    assert exact["cot_ir"] == pytest.approx(66 / 175)
    assert rows["skr_knn"]["beneficial_guidance"]["n"] == 39
    notes = " ".join(found.json["result"]["notes"])
    assert "78 and 83 of 175" in notes
    assert "95 and 100" in notes
    assert "is not the run of that row" in notes
    assert "skr_icl is left out" in notes
