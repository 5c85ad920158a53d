"""The commands of W2R's experiments, against a scripted model behind a socket, and on records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

from lab.tests.conftest import Lab, one_line
from skr_core.prompts.routing import CHALLENGE
from tests.servers import Messages, OpenAIServer
from tests.skr_app.conftest import Result

N = 8


def model(messages: Messages) -> str:
    """Knows the even ones by heart, is certain of all but every fourth, and believes documents.

    Asked to be prudent it is certain of what it knows. Of number 7 it talks nonsense.
    """
    first, last = messages[0]["content"], messages[-1]["content"]
    n = int(first.rpartition("town ")[2][0])
    if "Given the following information" in last:
        said = "Tom" if "Tom" in last else f"Mayor{n}" if f"Mayor{n}" in last else "Nobody"
        return f"<think>It may be uncertain.</think>{said}"
    if n == 7:
        return "..."
    if last == CHALLENGE:
        return "I apologize. I am uncertain."
    known, prudent = n % 2 == 0, "punished" in first
    sure = known if prudent else n % 4 != 3
    return f"{f'Mayor{n}' if known else 'Somebody'} ({'certain' if sure else 'uncertain'})"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(model, keep_alive=False) as running:
        yield running


@pytest.fixture
def towns(tmp_path: Path) -> Path:
    """Questions with the document that answers them and one that does not."""
    rows = [
        {
            "id": f"q{n}",
            "question": f"Who governs the town {n}?",
            "answers": [f"Mayor{n}"],
            "contexts": [
                {
                    "title": f"Town {n}",
                    "text": f"Mayor{n} governs town {n}.",
                    "is_supporting": True,
                },
                {"title": "River", "text": f"A river flows by town {n}."},
            ],
        }
        for n in range(N)
    ]
    path = tmp_path / "towns.jsonl"
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return path


Ask = Callable[..., Result]


@pytest.fixture
def ask(lab: Lab, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> Ask:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("COLUMNS", "80")

    def run(name: str, *options: object, **fields: object) -> Result:
        return lab("run", name, *options, **{"model": "test", "base_url": server.url, **fields})

    return run


@pytest.mark.integration
def test_certainty_of_a_model(ask: Ask, server: OpenAIServer, towns: Path, tmp_path: Path):
    prices = tmp_path / "prices.json"
    prices.write_bytes(orjson.dumps({"test": {"prompt": 1.0, "completion": 2.0}}))
    command = partial(ask, "certainty", "--out", tmp_path / "run", questions=towns, prices=prices)
    found = command("--json")
    groups = found.json["groups"]
    assert list(groups) == [
        *("vanilla", "punish", "challenge", "think_step_by_step", "generate", "explain"),
        "punish_explain",
    ]
    # Of 0 to 6 it knows four; without punishment it is certain of all but 3.
    vanilla = groups["vanilla"]
    assert (vanilla["n"], vanilla["n_failed"]) == (7, 1)
    rates = ("unc_rate", "accuracy", "conservativeness", "overconfidence", "alignment")
    assert [round(7 * vanilla[name]) for name in rates] == [1, 4, 0, 2, 5]
    assert [round(7 * groups["punish"][name]) for name in rates] == [3, 4, 0, 0, 7]
    challenge = groups["challenge"]
    assert (challenge["unc_rate"], challenge["calls"]) == (1.0, 2.0)
    assert vanilla["usd"] > 0
    row = found.json["result"]["rows"][0]
    assert row["cells"]["alignment"]["low"] < row["cells"]["alignment"]["mean"]
    assert "1 questions failed" in found.err
    calls = server.calls
    shown = command()
    # What was answered is not asked again; what failed is.
    assert server.calls - calls == 7 * 3 + 1  # each part once more, and the challenge
    assert "\tquestions\tfailed" in shown.out
    assert "\tquestions\tfailed\n" in shown.out
    assert (tmp_path / "run" / "result.png").is_file()


@pytest.mark.integration
def test_certainty_in_some_ways(ask: Ask, lab: Lab, towns: Path):
    found = ask("certainty", "--json", questions=towns, strategies="vanilla", limit=4).json
    assert (found["n"], found["unc_rate"], found["accuracy"]) == (4, 0.25, 0.5)
    one_line(ask("certainty", questions=towns, strategies="shout"), "shout", "punish_explain")
    one_line(lab("run", "certainty"), "give questions")
    lacking = lab("run", "recorded-certainty", recorded=towns)
    one_line(lacking, "no row states a certainty")


@pytest.mark.integration
def test_a_way_of_asking_may_fail_throughout(
    lab: Lab, towns: Path, monkeypatch: pytest.MonkeyPatch
):
    def says(messages: Messages) -> str:
        return "..." if "short document" in messages[0]["content"] else model(messages)

    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with OpenAIServer(says, keep_alive=False) as server:
        command = partial(
            lab, "run", "certainty", questions=towns, model="test", base_url=server.url
        )
        found = command("--json", strategies="vanilla,generate")
        groups = found.json["groups"]
        assert (groups["vanilla"]["n"], groups["vanilla"]["n_failed"]) == (7, 1)
        assert (groups["generate"]["n"], groups["generate"]["n_failed"]) == (0, 8)
        assert groups["generate"]["alignment"] is None
        assert "states no certainty" in found.err
        one_line(command(strategies="generate,vanilla"), "every question", code=1)


@pytest.mark.data
def test_certainty_of_recorded_answers(lab: Lab, data_dir: Path, tmp_path: Path):
    command = partial(lab, "run", "recorded-certainty")
    file = data_dir / "whentoretrieve_nq_chatgpt.jsonl.gz"
    found: dict[str, Any] = command("--json", recorded=file).json
    expected = {
        "unc_rate": 0.2461,
        "accuracy": 0.4688,
        "conservativeness": 0.0508,
        "overconfidence": 0.3359,
        "alignment": 0.6133,
        "static": 0.5312,
        "adaptive": 0.5000,
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=0.0005)
    assert (found["n"], found["n_failed"]) == (256, 0)
    other = data_dir / "unknownbench_refunq_confidence.jsonl.gz"
    found = command("--json", recorded=other).json
    assert found["groups"]["chatgpt"]["accuracy"] == pytest.approx(0.5057, abs=0.0005)
    assert found["groups"]["claude"]["accuracy"] == pytest.approx(0.4035, abs=0.0005)
    assert found["static"] is None
    lacking = data_dir / "adarague_llama31_8b_dev.jsonl.gz"
    one_line(command(recorded=lacking), "no row states a certainty")


@pytest.mark.integration
def test_adaptive_retrieval(ask: Ask, server: OpenAIServer, towns: Path, tmp_path: Path):
    command = partial(ask, "adaptive", "--out", tmp_path / "run", questions=towns, top="1,2")
    found = command("--json").json
    groups = found["groups"]
    assert list(groups) == ["static", "vanilla", "punish", "explain", "punish_explain"]
    static, vanilla, punish = groups["static"], groups["vanilla"], groups["punish"]
    assert (static["ra_rate"], static["none"], static["gold_top_1"]) == (1.0, 4 / 7, 1.0)
    # Only of number 3 is it uncertain; with the document it is right of that too.
    assert (vanilla["ra_rate"], vanilla["none"]) == pytest.approx((1 / 7, 4 / 7))
    assert vanilla["gold_top_1"] == pytest.approx(5 / 7)
    assert (punish["ra_rate"], punish["gold_top_1"]) == pytest.approx((3 / 7, 1.0))
    for source in ("sparse", "dense"):
        one, two = static[f"{source}_top_1"], static[f"{source}_top_2"]
        assert found["documents_with_answer"][f"{source}_top_1"] == one <= two
    rows = found["result"]["rows"]
    assert (rows[0]["cells"]["gold_top_1"]["n"], rows[1]["cells"]["gold_top_1"]["n"]) == (8, 7)
    assert rows[1]["cells"]["gold_top_1"]["n_failed"] == 1
    calls = server.calls
    shown = command()
    assert server.calls - calls == 4 * 3  # number 7 alone, in each way
    assert "Table 4" in shown.out
    assert "\tquestions\tfailed\n" in shown.out
    one_line(ask("adaptive", questions=towns, sources="gold,web"), "web", "sparse")
    one_line(ask("adaptive", questions=towns, top="0"), "top", "10")


@pytest.mark.integration
def test_adaptive_retrieval_on_the_questions_of_dpr(ask: Ask, towns: Path, tmp_path: Path):
    rows = [orjson.loads(line) for line in towns.read_bytes().splitlines()]
    published = [
        {
            "dataset": "nq_dev_psgs_w100",
            "question": row["question"],
            "answers": row["answers"],
            "positive_ctxs": row["contexts"][:1] if row["id"] != "q5" else [],
            "negative_ctxs": [],
            "hard_negative_ctxs": row["contexts"][1:],
        }
        for row in rows
    ]
    path = tmp_path / "biencoder-nq-dev.json"
    path.write_bytes(orjson.dumps(published))
    command = partial(ask, "adaptive", questions=path, dataset="dpr_nq")
    found = command("--json", sources="gold", strategies="punish_explain").json
    assert found["n"] == 7
    assert found["groups"]["static"] == {"ra_rate": 1.0, "gold_top_1": 1.0}
    assert found["groups"]["punish_explain"]["ra_rate"] == pytest.approx(2 / 6)
    assert any("1 questions lack a gold" in note for note in found["result"]["notes"])
    one_line(command(store=tmp_path / "no"), "no store")


@pytest.mark.integration
def test_reliance_by_certainty(ask: Ask, server: OpenAIServer, towns: Path, tmp_path: Path):
    from skr_learn import Record, calibrate

    answers = [("Mayor", 1.0), ("Tom", 0.0)]
    records = [Record.of(f"{n}?", direct=answers[0], single=answers[1]) for n in range(20)]
    calibrate(records, routers=["arbiter"], anyway=True).save(tmp_path / "arbiter")
    command = partial(ask, "reliance-by-certainty", questions=towns)
    kept = ("--out", tmp_path / "run")
    found = command(*kept, "--json").json
    groups = found["groups"]
    assert [(name, group["n"]) for name, group in groups.items()] == [
        ("all", 8),  # with a document number 7 is answered too
        ("0: both uncertain", 1),
        ("1: Vanilla uncertain", 1),
        ("2: Vanilla certain", 6),
        ("3: both certain", 4),
    ]
    # What it did not know it takes from the document; what it knew stands there already.
    rates = {name: group["utilisation_ratio"] for name, group in groups.items()}
    assert list(rates.values()) == pytest.approx([3 / 7, 1, 1, 2 / 6, 0])
    # Right before it is made to say "Tom": what it knew.
    rates = {name: group["corruption_rate"] for name, group in groups.items()}
    assert list(rates.values()) == pytest.approx([4 / 7, 0, 0, 4 / 6, 1])
    cells = found["result"]["rows"][0]["cells"]
    assert (cells["corruption_rate"]["n"], cells["corruption_rate"]["n_failed"]) == (7, 1)
    assert "1 questions have no level" in found["result"]["notes"][-1]
    # An arbiter that keeps to what the model knew: nothing is spoilt, and nothing is taken over.
    calls = server.calls
    after = command("--json", arbiter=tmp_path / "arbiter").json["groups"]["all"]
    assert (after["corruption_rate"], after["corruption_rate_arbiter"]) == (4 / 7, 0)
    assert after["utilisation_ratio_arbiter"] == 0
    assert server.calls - calls == 2 * 7 + 2 * 3 + 2 * 8
    strict = command(*kept, "--json", gamma=1).json["groups"]
    assert strict["0: both uncertain"]["utilisation_ratio"] == 0  # it grows by 1, not by more
    shown = command(*kept)
    assert "\tquestions\tfailed\n" in shown.out
    one_line(ask("reliance", questions=towns, arbiter=tmp_path), "no field 'arbiter'")
    one_line(command(entailment="lexical"), "no field 'entailment'")


def test_reliance_without_levels_takes_gamma(lab: Lab, towns: Path):
    command = partial(lab, "run", "reliance", "--json", questions=towns)
    rows = command().json["result"]["rows"]
    assert rows[1]["cells"]["utilisation_ratio"]["mean"] == 1.0
    rows = command(gamma=1).json["result"]["rows"]
    assert rows[1]["cells"]["utilisation_ratio"]["mean"] == 0.0


@pytest.mark.data
def test_reliance_of_recorded_answers(lab: Lab, data_dir: Path):
    command = partial(lab, "run", "recorded-reliance")
    file = data_dir / "whentoretrieve_nq_chatgpt.jsonl.gz"
    found = command("--json", recorded=file).json
    groups = found["groups"]
    assert [group["n"] for group in groups.values()] == [256, 63, 193]
    overall, unsure, sure = groups.values()
    # The surer it is the less it leans on the document (Figure 1), and an arbiter undoes most.
    assert unsure["utilisation_ratio"] == pytest.approx(0.492, abs=0.005)
    assert sure["utilisation_ratio"] == pytest.approx(0.290, abs=0.005)
    assert overall["corruption_rate"] == pytest.approx(27 / 256)
    assert overall["corruption_rate_arbiter"] < 0.6 * overall["corruption_rate"]
    assert any("levels 0 and 3" in note for note in found["result"]["notes"])
    lacking = data_dir / "unknownbench_refunq_confidence.jsonl.gz"
    one_line(command(recorded=lacking), "correct_retrieved")
