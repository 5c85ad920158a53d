"""``skr calibrate``, ``skr route``, ``skr replay`` and ``skr ask --router``."""

from __future__ import annotations

from dataclasses import replace
from html import unescape
from pathlib import Path

import orjson
import pytest

from skr_app.output import figure
from skr_core import load_router
from skr_core.routers import NeverRetrieve
from skr_core.types import Stamp
from skr_learn import Policy, Record, Records, calibrate
from tests.skr_app.conftest import Skr
from tests.skr_learn.routers.facts import firm, records, river

pytestmark = pytest.mark.usefixtures("few_trees")


def unstamped(some: list[Record], **extra: object) -> list[Record]:
    """Records whose router serves any model, with the kind of each question."""
    return [
        replace(each, stamp=Stamp(), extra={"kind": each.question[:3], **extra}) for each in some
    ]


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "records.jsonl.gz"
    Records(unstamped(records(30))).write(path)
    return path


@pytest.fixture
def others(tmp_path: Path) -> Path:
    """Of the same kind, about rivers and firms of other names."""
    path = tmp_path / "others.jsonl"
    some = unstamped(records(30))
    Records([replace(each, question=f"{each.question[:-1]} today?") for each in some]).write(path)
    return path


def test_calibrate_prints_the_summary_and_how_to_use_the_file(
    skr: Skr, recorded: Path, tmp_path: Path
):
    out, plot, report = (tmp_path / name for name in ("router.skr", "curve.svg", "report.html"))
    drawn = ("--plot", plot, "--report", report)
    result = skr("calibrate", recorded, "--out", out, *drawn, "--router", "question,paper")
    assert result.code == 0, result.err
    said = str(calibrate(Records.read(recorded), routers=["question", "paper"]))
    told, use = result.out.rstrip("\n").rsplit("\n", 1)
    assert told == said
    assert f"skr ask QUESTION --router {out}" in use
    assert plot.stat().st_size > 0
    written = unescape(report.read_text()).replace("\u00a0", " ")
    assert told.splitlines()[0] in written
    for judged in (f"<dd>{recorded.name}, 60 questions</dd>", "the other four", f"--plot {plot}"):
        assert judged in written


def test_a_report_that_cannot_be_is_refused_first(skr: Skr, recorded: Path, tmp_path: Path):
    out = ("--out", tmp_path / "router.skr")
    result = skr("calibrate", recorded, *out, "--report", tmp_path / "report.txt")
    assert (result.code, "its name ends in .html or .ipynb" in result.err) == (2, True)
    assert not (tmp_path / "router.skr").exists()


def test_calibrate_then_route(skr: Skr, recorded: Path, tmp_path: Path):
    out = tmp_path / "router.skr"
    found = skr("calibrate", recorded, "--out", out, "--router", "paper", "--json").json
    assert set(found) == {*("out", "verdict", "sentences", "summary", "compared", "curve", "about")}
    assert found["verdict"] == found["sentences"][0]
    assert found["verdict"].startswith("60 of 60 right instead of 30")
    assert "paper" in found["compared"]
    assert len(found["curve"]["costs"]) == len(found["curve"]["accuracy"])
    for question, retrieve in ((firm("Omega"), True), (river("Omega"), False)):
        decision = skr("route", question, "--router", out, "--json").json
        assert decision["retrieve"] is retrieve
        assert decision["neighbours"]
        shown = skr("route", question, "--router", out)
        assert ("search" if retrieve else "From memory") in shown.out.partition(":")[0]
        assert "similarity" in shown.out


def test_calibrate_learns_a_reflector_into_the_same_file(
    skr: Skr, recorded: Path, corpus: Path, tmp_path: Path
):
    out, store = tmp_path / "router.skr", tmp_path / "store"
    result = skr("calibrate", recorded, "--out", out, "--router", "question", "--reflector")
    assert f"--router {out} --reflector learned:{out}" in result.out
    assert load_router(out).reflector is not None
    assert skr("ingest", corpus, "--store", store).code == 0
    asked = ("ask", "Who directed Jaws?", "--store", store, "--reflector", f"learned:{out}")
    [first, *_] = skr(*asked, "--json").json["rounds"]
    assert "chance" in first["reflection"]["reason"]


def test_the_surest_answers_are_drawn_and_others_held_back(
    skr: Skr, recorded: Path, corpus: Path, tmp_path: Path
):
    out, drawn, store = tmp_path / "router.skr", tmp_path / "surest.svg", tmp_path / "store"
    command = ("calibrate", recorded, "--out", out, "--plot-chances", drawn, "--router")
    found = skr(*command, "ladder", "--anyway", "--json").json
    assert drawn.stat().st_size > 0
    assert len(found["summary"]["reliability"]["surest"]) == 20
    assert "needs a router that tells chances" in skr(*command, "paper", "--anyway").err
    assert skr(*command, "ladder", "--anyway").code == 0
    assert skr("ingest", corpus, "--store", store).code == 0
    asked = ("ask", "Who directed Jaws?", "--store", store, "--router", out, "--force")
    answer = skr(*asked, "--json").json
    assert 0 < answer["chance"] < 1
    assert f"{answer['chance']:.0%} likely to be right" in skr(*asked).out
    held = skr(*asked, "--abstain-below", 1, "--json").json
    assert (held["citations"], held["chance"]) == ([], answer["chance"])
    assert held["answer"] != answer["answer"]
    assert "needs the chance" in skr(*asked[:4], "--abstain-below", 0.5).err


def test_calibrate_keeps_to_an_aim_of_its_own(skr: Skr, recorded: Path, tmp_path: Path):
    out = tmp_path / "router.skr"
    options = ("--out", out, "--router", "question", "--json")
    half = skr("calibrate", recorded, *options, "--retrieval-rate", 0.25).json
    assert half["summary"]["promised"]["retrieved"]["mean"] <= 0.26
    heavy = skr("calibrate", recorded, *options, "--cost-weight", 5).json
    assert heavy["summary"]["promised"]["cost"]["mean"] == 0.0
    both = skr("calibrate", recorded, *options, "--budget", 1, "--cost-weight", 5)
    assert (both.code, "give one of" in both.err) == (2, True)


def test_calibrate_tells_groups_apart(skr: Skr, recorded: Path, tmp_path: Path):
    options = ("--out", tmp_path / "r.skr", "--router", "question", "--by", "extra.kind", "--json")
    found = skr("calibrate", recorded, *options).json
    assert set(found["summary"]["groups"]) == {"Int", "Who"}


def test_records_of_several_models_are_calibrated_on_one(skr: Skr, tmp_path: Path):
    path, out = tmp_path / "two.jsonl", tmp_path / "router.skr"
    one = [replace(each, stamp=Stamp(model="one")) for each in records(30)]
    two = [replace(each, stamp=Stamp(model="two"), extra={"tenant": 7}) for each in records(10)]
    Records([*one, *two]).write(path)
    mixed = skr("calibrate", path, "--out", out)
    assert (mixed.code, "name them: --where FIELD=VALUE" in mixed.err) == (2, True)
    options = ("--out", out, "--router", "question", "--json")
    assert skr("calibrate", path, *options, "--where", "model=one").json["summary"]["n"] == 60
    assert load_router(out).stamp.model == "one"
    assert skr("calibrate", path, *options, "--where", "extra.tenant=7").json["summary"]["n"] == 20
    for wrong, said in (("model=three", "there is"), ("model", "FIELD=VALUE")):
        result = skr("calibrate", path, *options, "--where", wrong)
        assert (result.code, said in result.err) == (2, True)


def test_where_the_measurement_is_broken_nothing_is_saved(skr: Skr, tmp_path: Path):
    path, out = tmp_path / "wrong.jsonl", tmp_path / "router.skr"
    wrong = [
        Record.of(f"Who is {n}?", ["Ada"], direct=("Bob", 0), single=("Eve", 0)) for n in range(40)
    ]
    Records(wrong).write(path)
    result = skr("calibrate", path, "--out", out)
    assert result.code == 1
    assert "Nothing can be advised on these 40 records" in result.out
    assert result.out.count("direct said 'Bob', right is 'Ada'") == 5
    lines = [line for line in result.err.splitlines() if "error:" in line]
    assert len(lines) == 1
    assert "nothing is saved" in lines[0]
    assert not out.exists()
    assert skr("calibrate", path, "--out", out, "--json").json["out"] is None


@pytest.mark.parametrize(
    ("option", "name", "said"),
    [("--out", "folder", "is a folder"), ("--plot", "curve.xyz", ".png")],
)
def test_calibrate_says_first_what_it_cannot_write(
    skr: Skr, recorded: Path, tmp_path: Path, option: str, name: str, said: str
):
    (tmp_path / "folder").mkdir()
    result = skr("calibrate", recorded, "--out", tmp_path / "router", option, tmp_path / name)
    assert (result.code, said in result.err) == (2, True)
    assert "Calibrating" not in result.err


def test_monitor_tells_what_was_served_from_what_was_expected(
    skr: Skr, recorded: Path, corpus: Path, tmp_path: Path
):
    out, store, log = (tmp_path / name for name in ("router.skr", "store", "log.jsonl"))
    assert skr("calibrate", recorded, "--out", out, "--router", "ladder", "--anyway").code == 0
    assert skr("ingest", corpus, "--store", store).code == 0
    asked = (
        "ask",
        "Who directed Jaws, that thriller about sharks?",
        "--store",
        store,
        "--router",
        out,
        "--force",
        "--json",
    )
    one = skr(*asked)
    log.write_text(one.out)  # on several lines, as it is printed
    assert (one.json["decision"]["novel"], one.json["decision"]["novelty"]) == (True, 6 / 7)
    few = skr("monitor", log, "--router", out)
    assert (few.code, few.out.splitlines()[0]) == (
        0,
        "Too few answers to tell: 1 so far, and it takes 30.",
    )
    rows = [orjson.dumps({**one.json, "right": n % 2 == 0}) for n in range(40)]
    log.write_bytes(b"\n".join(rows))
    told = skr("monitor", log, "--router", out)
    assert told.code == 1
    assert told.out.startswith("The questions are unlike the records: collect records of such")
    found = skr("monitor", log, "--router", out, "--json")
    assert (found.code, found.json["alarm"], found.json["n"]) == (1, True, 40)
    assert found.json["verdict"] == found.json["sentences"][0]
    by_name = {each["name"]: each for each in found.json["changes"]}
    assert (by_name["right"]["n"], by_name["right"]["seen"]) == (40, 0.5)
    log.write_text('{"question": ')
    broken = skr("monitor", log, "--router", out)
    assert (broken.code, "line 1" in broken.err) == (2, True)


def test_monitor_reads_the_history_of_the_page(skr: Skr, recorded: Path, tmp_path: Path):
    out, log = tmp_path / "router.skr", tmp_path / "runs.jsonl"
    assert skr("calibrate", recorded, "--out", out, "--router", "ladder", "--anyway").code == 0
    output = {"question": "Who?", "answer": "Ada", "decision": {"retrieve": False}, "chance": 0.5}
    rows = [
        {"key": str(n), "action": "direct" if n > 35 else None, "output": output} for n in range(40)
    ]
    log.write_bytes(b"\n".join(map(orjson.dumps, rows)))
    votes = [{"key": "1", "right": True}, {"key": "2", "right": True}, {"key": "2", "right": None}]
    (tmp_path / "votes.jsonl").write_bytes(b"\n".join(map(orjson.dumps, votes)))
    found = skr("monitor", log, "--router", out, "--json").json
    assert found["n"] == 36  # what a person wanted answered in one way was not routed
    assert {each["name"]: each["n"] for each in found["changes"]}["right"] == 1


def test_replay(skr: Skr, recorded: Path):
    options = ("--router", "always,paper,question", "--by", "extra.kind")
    report = recorded.parent / "report.ipynb"
    found = skr("replay", "--train", recorded, *options, "--json", "--report", report).json
    first, *cells = orjson.loads(report.read_bytes())["cells"]
    assert "## Better: 60 of 60 right with the router" in first["source"]
    [code] = [each["source"] for each in cells if each["cell_type"] == "code"]
    assert f"read_records(Path('{recorded.name}'))" in code
    assert found["about"]["judged"].startswith("in five parts")
    assert set(found["groups"]) == {"Int", "Who"}
    assert set(found["overall"]["routers"]) == {"always", "paper", "question"}
    paper = found["overall"]["routers"]["paper"]
    assert paper["over_best"]["low"] > 0
    shown = skr("replay", "--train", recorded, *options)
    assert shown.code == 0, shown.err
    row, *_ = (line.split("\t") for line in shown.out.splitlines() if line.startswith("paper"))
    assert row[1] == figure(*(paper["accuracy"][each] for each in ("mean", "low", "high")))
    assert "Who: 30 records" in shown.out


def test_replay_judges_the_file_that_is_served(
    skr: Skr, recorded: Path, others: Path, tmp_path: Path
):
    out, both = tmp_path / "router.skr", tmp_path / "both.jsonl"
    assert skr("calibrate", recorded, "--out", out).code == 0
    Records([*Records.read(recorded), *Records.read(others)]).write(both)
    found = skr("replay", "--saved", out, "--test", both, "--json").json
    assert (found["left_out"], found["overall"]["n"]) == (60, 60)
    assert set(found["overall"]["routers"]) == {"never", "always", "router.skr"}
    shown = skr("replay", "--saved", out, "--test", both)
    assert "Left out: 60 records that the router has learnt from." in shown.out
    seen = skr("replay", "--saved", out, "--test", recorded)
    assert (seen.code, "all 60 questions were learnt from" in seen.err) == (2, True)
    named = skr("replay", "--saved", "never", "--test", both, "--json").json
    assert named["overall"]["routers"]["never"]["retrieval_rate"]["mean"] == 0.0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "give --train RECORDS, or --saved ROUTER with --test RECORDS"),
        (("--saved", "never"), "give --test RECORDS"),
    ],
)
def test_replay_says_what_it_needs(skr: Skr, options: tuple[str, ...], said: str):
    result = skr("replay", *options)
    assert (result.code, said in result.err) == (2, True)


def test_replay_leaves_out_what_it_was_fitted_on(skr: Skr, recorded: Path, others: Path):
    options = ("--train", recorded, "--router", "question")
    assert skr("replay", *options, "--test", others, "--json").json["left_out"] == 0
    result = skr("replay", *options, "--test", recorded)
    assert (result.code, "learnt from" in result.err) == (2, True)


@pytest.mark.parametrize("names", ["nosuch", "", ","])
def test_replay_says_which_routers_it_knows(skr: Skr, recorded: Path, names: str):
    result = skr("replay", "--train", recorded, "--router", names)
    assert result.code == 2
    assert all(name in result.err for name in ("ladder", "paper", "confidence:STRATEGY"))


def test_actions_that_are_not_on_record_are_refused(skr: Skr, recorded: Path):
    options = ("--actions", "direct,loop", "--router", "question")
    result = skr("replay", "--train", recorded, *options)
    assert result.code == 2
    assert "loop" in result.err


def test_ask_with_a_router(skr: Skr, corpus: Path, tmp_path: Path):
    store, router = tmp_path / "store", tmp_path / "router"
    assert skr("ingest", corpus, "--store", store).code == 0
    NeverRetrieve().save(router)
    found = skr("ask", "Who directed Jaws?", "--store", store, "--router", router, "--json").json
    assert found["stop_reason"] == "known"
    assert not found["references"]


def test_ask_with_a_policy_that_weighs_answers(skr: Skr, corpus: Path, tmp_path: Path):
    store, router = tmp_path / "store", tmp_path / "router.skr"
    path = tmp_path / "stamped.jsonl"
    assert skr("ingest", corpus, "--store", store).code == 0
    Records(records(30)).write(path)
    options = ("--router", "arbiter", "--anyway", "--out", router)
    assert skr("calibrate", path, *options).code == 0
    assert isinstance(load_router(router), Policy)
    asked = ("ask", "Who directed Jaws?", "--store", store, "--router", router)
    other = skr(*asked)
    assert (other.code, "made with the model 'm'" in other.err) == (2, True)
    found = skr(*asked, "--force", "--json").json
    served = found["verdict"]["served"]
    assert found["verdict"]["answers"][served] == found["answer"]
    assert "Served:" in skr(*asked, "--force").out


def test_a_missing_router_is_one_line(skr: Skr, tmp_path: Path):
    result = skr("route", "Who?", "--router", tmp_path / "none")
    assert result.code == 2
    assert "no saved router" in result.err
