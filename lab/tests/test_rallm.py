"""The experiments of RaLLM, over a real socket: key-facts, knowledge curves, reflection."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import orjson
import pytest

from lab.tests.conftest import Lab, one_line
from skr_core.prompts import REFUSAL
from tests.servers import Messages, OpenAIServer
from tests.skr_app.conftest import Result, Skr

pytestmark = pytest.mark.integration

COUNT = 24


def reply(messages: Messages) -> str:
    """A model that reads: it answers where both passages are there, and refuses film 0."""
    prompt = str(messages[-1]["content"])
    film = re.findall(r"the film Jaws (\d+) born", prompt)[-1:]
    number = film[0] if film else ""
    references = dict(re.findall(r'^\[(\d+)\][^\n]*\n"""\n(.*?)\n"""$', prompt, re.DOTALL | re.M))
    birth, making = f"Person {number} was born in", f"directed by Person {number}."
    town = next((at for at, text in references.items() if birth in text), "")
    maker = next((at for at, text in references.items() if making in text), "")
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


@pytest.fixture
def asked(server: OpenAIServer, films: Path) -> dict[str, object]:
    """The fields of an experiment on the films."""
    named = {"dataset": "hotpotqa", "model": "any", "base_url": server.url}
    return {"questions": films, **named}


def checked(result: Result) -> dict:
    assert result.code == 0, result.err
    return result.json


def test_key_facts_and_the_curve_of_noise(
    lab: Lab, server: OpenAIServer, asked: dict[str, object], tmp_path: Path
):
    review, frozen, out = tmp_path / "review.md", tmp_path / "frozen.jsonl", tmp_path / "run"
    shown = tmp_path / "worked.jsonl"
    shown.write_text('{"question": "Who wrote Emma?", "answer": "Austen", "reasoning": "First."}')
    before = server.calls
    options = ("--out", review, "--json")
    made = lab("key-facts", "make", *options, demonstrations=shown, **asked)
    sent = [request["messages"][-1]["content"] for request in server.requests[before:]]
    assert sum("Reasoning: First." in each for each in sent) == COUNT
    # A refusal is no key-fact.
    assert (checked(made)["made"], checked(made)["failed"]) == (COUNT - 1, 1)
    assert "refuses" in made.err
    assert "sorry" not in review.read_text()
    assert "> Look:" not in review.read_text()
    checked(lab("key-facts", "accept", review, "--out", frozen, "--json"))

    command = partial(lab, "run", "knowledge-precision", "--out", out)
    fields = {**asked, "key_facts": frozen, "entailment": "judge:any"}
    found = checked(command("--json", **fields))["result"]
    assert found["over"] == "references given"
    assert [row["at"] for row in found["rows"]] == [2.0, 5.0, 10.0]
    for row in found["rows"]:
        recall, precision = (row["cells"][f"key_fact_{each}"] for each in ("recall", "precision"))
        assert (recall["mean"], recall["n"], precision["mean"]) == (1.0, COUNT - 1, 1.0)
        assert row["cells"]["key_fact_f1_of_means"]["mean"] == 1.0
        assert row["cells"]["self_consistency"]["mean"] > 0
    assert (out / "result.png").read_bytes().startswith(b"\x89PNG")
    before = server.calls
    shown = command(**fields)
    assert server.calls == before  # neither an answer nor a verdict is asked for again
    assert "key fact recall" in shown.out
    assert "\t1.000\t" in shown.out


def test_the_curve_of_gaps(lab: Lab, server: OpenAIServer, asked: dict[str, object]):
    command = partial(lab, "run", "knowledge-recall", "--json", **asked)
    found = checked(command())["result"]
    assert [row["at"] for row in found["rows"]] == [0.0, 0.5, 1.0]
    accuracy = [row["cells"]["answer_accuracy"]["mean"] for row in found["rows"]]
    assert accuracy == [0.0, 0.0, 1.0]
    before = server.calls
    checked(command(limit=2, templates="rallm"))
    sent = [request["messages"][-1]["content"] for request in server.requests[before:]]
    assert len(sent) == 6
    assert all("Please write a high-quality answer" in each for each in sent)
    assert not any(REFUSAL in each for each in sent)  # here it has to answer


def test_whether_self_completion_pays_is_said(skr: Skr, server: OpenAIServer, films: Path):
    """RaLLM Table 4: one search beside the loop, at the same cap."""
    options = ("--dataset", "hotpotqa", "--model", "any", "--base-url", server.url)
    found = checked(skr("evaluate", films, *options, "--search", "bm25", "--limit", 6, "--json"))
    assert found["findings"][0].startswith("No clear difference: the loop scored as one search did")


def test_what_key_facts_cannot_be_made_with(lab: Lab, films: Path, tmp_path: Path):
    review = tmp_path / "review.md"
    fields = {"questions": films, "dataset": "hotpotqa"}
    result = lab("key-facts", "make", "--out", review, **fields)
    one_line(result, "the extractive model only quotes: give --set model")
    assert not review.exists()
    refused = lab("run", "knowledge-recall", entailment=f"true:{tmp_path / 'none'}", **fields)
    one_line(refused, "the T5 model")


def figures(found: dict) -> dict[str, tuple[float, float, int]]:
    """Accuracy, F1 and n of each reflector."""
    return {
        name: (round(each["reflection_accuracy"], 3), round(each["reflection_f1"], 3), each["n"])
        for name, each in found["reflectors"].items()
    }


def test_reflectors_over_complete_and_partial_references(
    lab: Lab, server: OpenAIServer, asked: dict[str, object], tmp_path: Path
):
    """The model refuses half of what it should; a judge and entailment see through the bluffs."""
    named = {**asked, "reflectors": "refusal,judge,entailment:judge:any,learned"}
    kept = ("--out", tmp_path / "run")
    command = partial(lab, "run", "reflection", **named)
    found = checked(command(*kept, "--json"))
    n = COUNT  # each with complete and with partial references
    assert figures(found) | {"learned": None} == {
        "always sufficient": (0.5, 0.0, n),
        "always insufficient": (0.5, 0.667, n),
        "refusal": (0.75, 0.667, n),
        "judge": (1.0, 1.0, n),
        "entailment:judge:any": (1.0, 1.0, n),
        "learned": None,
    }
    assert found["reflectors"]["learned"]["reflection_accuracy"] > 0.9
    assert found["reflectors"]["judge"]["calls"] == 0.75  # a refusal is not judged
    [gain] = [each for each in found["result"]["comparisons"] if each["name"] == "judge"]
    assert gain["cells"]["reflection_accuracy"]["low"] > 0
    before = server.calls
    shown = command(*kept)
    assert server.calls == before  # the run goes on where it was
    assert "always insufficient" in shown.out
    assert "\tquestions\tfailed" in shown.out
    paper = checked(command("--json", templates="rallm"))
    assert figures(paper)["refusal"] == (0.75, 0.667, n)


def test_reflectors_over_a_store(
    lab: Lab, skr: Skr, asked: dict[str, object], films: Path, tmp_path: Path
):
    lines = [
        orjson.dumps({"title": title, "text": sentences[0]})
        for n, row in enumerate(orjson.loads(films.read_bytes()))
        for title, sentences in row["context"]
        if not (title.startswith("Person") and n % 4 < 2)
    ]
    corpus, store = tmp_path / "corpus.jsonl", tmp_path / "store"
    corpus.write_bytes(b"\n".join(lines))
    checked(skr("ingest", corpus, "--store", store, "--json"))
    fields = {**asked, "reflectors": "refusal,judge,learned", "store": store}
    found = checked(lab("run", "reflection", "--json", **fields))
    assert figures(found)["always sufficient"] == (0.5, 0.0, COUNT)
    assert figures(found)["refusal"] == (0.75, 0.667, COUNT)
    assert figures(found)["judge"] == (1.0, 1.0, COUNT)
    assert "learned" not in found["reflectors"]
    assert any("40 drafts, not 24" in note for note in found["result"]["notes"])


def test_reflectors_over_recorded_answers(lab: Lab, server: OpenAIServer, tmp_path: Path):
    def pair(n: int, *, passages: bool = True) -> bytes:
        known = [{"text": f"Jaws {n} is a film directed by Person {n}."}]
        if n % 2:
            known.append({"text": f"Person {n} was born in Town{n}."})
        return orjson.dumps(
            {
                "question": f"Where was the director of the film Jaws {n} born?",
                "gold": [f"Town{n}"],
                "answer_direct": "Paris",
                "correct_direct": False,
                "answer_retrieved": f"Town{n}" if n % 2 else "Paris",
                "correct_retrieved": bool(n % 2),
                "passages": known if passages else [],
            }
        )

    path, bare = tmp_path / "pairs.jsonl", tmp_path / "bare.jsonl"
    path.write_bytes(b"\n".join(pair(n) for n in range(48)))
    bare.write_bytes(b"\n".join(pair(n, passages=n > 3) for n in range(48)))
    command = partial(
        *(lab, "run", "recorded-reflection", "--json"), model="any", base_url=server.url
    )
    judged = "refusal,judge,learned"
    found = checked(command(recorded=path, reflectors=judged))
    assert figures(found)["refusal"] == (0.5, 0.0, 48)
    assert figures(found)["judge"] == (1.0, 1.0, 48)
    assert found["reflectors"]["learned"]["reflection_accuracy"] > 0.9
    entailed = command(recorded=path, reflectors="entailment:lexical")
    notes = checked(entailed)["result"]["notes"]
    assert any("48 of 48 answers cite nothing" in note for note in notes)
    refused = command(recorded=bare, reflectors=judged)
    one_line(refused, "4 of 48 recorded answers keep no references")
    one_line(lab("run", "reflection"), "give questions")
    one_line(lab("run", "reflection", questions=path), "no question has")


@pytest.mark.data
def test_reflectors_over_answers_of_real_models(lab: Lab, data_dir: Path):
    recorded = data_dir / "adarague_llama31_8b_dev.jsonl.gz"
    command = partial(lab, "run", "recorded-reflection", "--json")
    found = checked(command(recorded=recorded))
    assert figures(found)["always insufficient"] == (0.577, 0.732, 3000)
    assert figures(found)["refusal"] == (0.464, 0.137, 3000)
    learned = found["reflectors"]["learned"]
    assert learned["reflection_accuracy"] > 0.64
    assert learned["reflection_f1"] > 0.69
    labelled = data_dir / "replies_financebench_gpt4.jsonl.gz"
    accuracy, f1, n = figures(checked(command(recorded=labelled, reflectors="refusal")))["refusal"]
    assert (n, accuracy > 0.9, f1 > 0.9) == (77, True, True)  # questions of 462 answers
