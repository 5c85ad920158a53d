"""The experiments of RaLLM, over a real socket: key-facts, knowledge curves, reflection."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from skr_core.prompts.words import REFUSAL
from tests.servers import Messages, OpenAIServer
from tests.skr_app.conftest import Result, Skr

pytestmark = pytest.mark.integration

COUNT = 8


def reply(messages: Messages) -> str:
    """A model that reads: it answers where both passages are there, and refuses film 0."""
    prompt = str(messages[-1]["content"])
    film = re.findall(r"the film Jaws (\d+) born", prompt)[-1:]
    number = film[0] if film else ""
    references = dict(re.findall(r'^\[(\d+)\][^\n]*\n"""\n(.*?)\n"""$', prompt, re.DOTALL | re.M))
    town = next((at for at, text in references.items() if "was born in" in text), "")
    maker = next((at for at, text in references.items() if "directed by" in text), "")
    if "Hypothesis:" in prompt:
        premise, hypothesis = re.findall(r"(?:Premise|Hypothesis): (.*)", prompt)
        said = set(re.findall(r"\w+", hypothesis.lower()))
        return "entailment" if said <= set(re.findall(r"\w+", premise.lower())) else "neutral"
    if "Draft answer:" in prompt:
        return "sufficient" if town and maker else "insufficient: where the director was born"
    if "reasoning process" in prompt:
        return REFUSAL if number == "0" else f"Person {number} directed it."
    if "key-facts" in prompt:
        return (
            f"- Person {number} directed Jaws {number}.\n- Person {number} was born in Town{number}"
        )
    if not (town and maker):
        # It bluffs about every other film where it should refuse.
        lacks = int(number) % 2
        return REFUSAL if lacks else f"Person {number} was born in Paris [1]."
    return (
        f"Person {number} directed Jaws {number} [{maker}]. "
        f"Person {number} was born in Town{number} [{town}]."
    )


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    # A command leaves its connections to the end of its process, which here goes on.
    with OpenAIServer(reply, keep_alive=False) as server:
        yield server


@pytest.fixture
def films(tmp_path: Path) -> Path:
    rows = [
        {
            "_id": f"q{n}",
            "question": f"Where was the director of the film Jaws {n} born?",
            "answer": f"Town{n}",
            "supporting_facts": [[f"Jaws {n}", 0], [f"Person {n}", 0]],
            "context": [
                [f"Jaws {n}", [f"Jaws {n} is a film directed by Person {n}."]],
                [f"Person {n}", [f"Person {n} was born in Town{n}."]],
                *([f"Noise {n} {m}", [f"Noise {n} is thing {m}."]] for m in range(8)),
            ],
        }
        for n in range(COUNT)
    ]
    path = tmp_path / "hotpot.json"
    path.write_bytes(orjson.dumps(rows))
    return path


def checked(result: Result) -> dict:
    assert result.code == 0, result.err
    return result.json


def test_key_facts_and_the_curve_of_noise(
    skr: Skr, server: OpenAIServer, films: Path, tmp_path: Path
):
    model = ("--model", "any", "--base-url", server.url)
    review, frozen, out = tmp_path / "review.md", tmp_path / "frozen.jsonl", tmp_path / "run"
    asked = ("--dataset", "hotpotqa")
    made = skr("key-facts", "make", films, *asked, "--out", review, *model, "--json")
    # A refusal is no key-fact.
    assert (checked(made)["made"], checked(made)["failed"]) == (COUNT - 1, 1)
    assert "refuses" in made.err
    assert "sorry" not in review.read_text()
    assert "> Look:" not in review.read_text()
    checked(skr("key-facts", "accept", review, "--out", frozen, "--json"))

    command = ("experiment", "knowledge-precision", films, *asked, *model)
    judge = ("--key-facts", frozen, "--entailment", "judge:any")
    found = checked(skr(*command, *judge, "--out", out, "--json"))["result"]
    assert found["over"] == "references given"
    assert [row["at"] for row in found["rows"]] == [2.0, 5.0, 10.0]
    for row in found["rows"]:
        recall, precision = (row["cells"][f"key_fact_{each}"] for each in ("recall", "precision"))
        assert (recall["mean"], recall["n"], precision["mean"]) == (1.0, COUNT - 1, 1.0)
        assert row["cells"]["self_consistency"]["mean"] > 0
    assert (out / "result.png").read_bytes().startswith(b"\x89PNG")
    shown = skr(*command, *judge, "--out", out)
    assert "key_fact_recall" in shown.out
    assert "1.000 (1.000 to 1.000)" in shown.out


def test_the_curve_of_gaps(skr: Skr, server: OpenAIServer, films: Path):
    model = ("--dataset", "hotpotqa", "--model", "any", "--base-url", server.url)
    found = checked(skr("experiment", "knowledge-recall", films, *model, "--json"))["result"]
    assert [row["at"] for row in found["rows"]] == [0.0, 0.5, 1.0]
    accuracy = [row["cells"]["answer_accuracy"]["mean"] for row in found["rows"]]
    assert accuracy == [0.0, 0.0, 1.0]


def test_what_key_facts_cannot_be_made_with(skr: Skr, films: Path, tmp_path: Path):
    review = tmp_path / "review.md"
    result = skr("key-facts", "make", films, "--dataset", "hotpotqa", "--out", review)
    assert result.code == 2
    assert "the extractive model only quotes: give --model" in " ".join(result.err.split())
    assert not review.exists()
    command = ("experiment", "knowledge-recall", films, "--dataset", "hotpotqa")
    refused = skr(*command, "--entailment", f"true:{tmp_path / 'none'}")
    assert refused.code == 2
    assert "the T5 model" in refused.err
