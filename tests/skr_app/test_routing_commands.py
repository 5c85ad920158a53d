"""``skr calibrate``, ``skr route``, ``skr replay`` and ``skr ask --router``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from skr_core.routers import AlwaysRetrieve, NeverRetrieve
from skr_core.routers.saving import holds_arbiter
from skr_learn import Arbiter, write_self_knowledge
from tests.skr_app.conftest import Skr
from tests.skr_learn.calibration.test_arbitration import mixed
from tests.skr_learn.routers.facts import UNKNOWN, firm, records, river, unknown


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "records.jsonl.gz"
    # Unstamped, so that the router serves any model.
    some = [
        replace(each, stamp=type(each.stamp)(), extra={"kind": each.question[:3], "unsure": "True"})
        for each in records(20)
    ]
    write_self_knowledge(path, some)
    return path


def test_calibrate_then_route(skr: Skr, recorded: Path, tmp_path: Path):
    out, plot = tmp_path / "router", tmp_path / "curve.svg"
    options = ("--out", out, "--plot", plot, "--router", "benefit,combined-question")
    result = skr("calibrate", recorded, *options, "--json")
    assert result.code == 0, result.err
    assert result.json["recommended"] == "router"
    assert result.json["sentence"].startswith("Routing pays")
    assert len(result.json["accuracy"]) == len(result.json["random_line"])
    assert plot.stat().st_size > 0
    for question, retrieve in ((firm("Omega"), True), (river("Omega"), False)):
        decision = skr("route", question, "--router", out, "--json").json
        assert decision["retrieve"] is retrieve
        assert decision["neighbours"]
        shown = skr("route", question, "--router", out)
        assert ("Retrieve" if retrieve else "Known") in shown.out
        assert "similarity" in shown.out


def test_for_people_calibrate_prints_a_table_and_a_sentence(
    skr: Skr, recorded: Path, tmp_path: Path
):
    result = skr("calibrate", recorded, "--out", tmp_path / "r", "--router", "paper")
    assert result.code == 0, result.err
    assert "at random" in result.out
    assert "Routing pays" in result.out


def test_calibrate_says_whether_an_arbiter_pays_and_saves_it(skr: Skr, tmp_path: Path):
    path, out = tmp_path / "records.jsonl.gz", tmp_path / "router"
    write_self_knowledge(path, mixed())
    options = ("--out", out, "--router", "combined-question")
    found = skr("calibrate", path, *options, "--json").json["arbiter"]
    assert found["pays"]
    assert found["sentence"].startswith("An arbiter pays on these 120 records")
    assert Arbiter.load(out).actions == ("direct", "single")
    without = skr("calibrate", path, *options, "--no-arbiter")
    assert "rbiter" not in without.out
    assert not holds_arbiter(out)


@pytest.mark.parametrize(
    ("option", "name", "said"), [("--out", "file", "is a file"), ("--plot", "curve.xyz", ".png")]
)
def test_calibrate_says_first_what_it_cannot_write(
    skr: Skr, recorded: Path, tmp_path: Path, option: str, name: str, said: str
):
    (tmp_path / "file").write_text("mine")
    result = skr("calibrate", recorded, "--out", tmp_path / "router", option, tmp_path / name)
    assert (result.code, said in result.err) == (2, True)
    assert "Calibrating" not in result.err


def test_replay_of_an_arbiter_says_what_it_gains_and_costs(skr: Skr, recorded: Path):
    found = skr("replay", "--train", recorded, "--router", "arbiter", "--json").json
    arbiter = found["overall"]["routers"]["arbiter"]
    assert arbiter["gain_over_always"] == pytest.approx(0.5, abs=0.05)
    assert (arbiter["retrievals"], arbiter["model_calls"]) == (1.0, 2.0)


def test_replay(skr: Skr, recorded: Path):
    options = ("--router", "always,paper", "--signal", "extra.unsure", "--by", "extra.kind")
    found = skr("replay", "--train", recorded, *options, "--json").json
    assert set(found) == {"overall", "groups"}
    assert set(found["groups"]) == {"Int", "Who"}
    assert set(found["overall"]["routers"]) == {"always", "paper", "signal:extra.unsure"}
    shown = skr("replay", "--train", recorded, "--test", recorded, *options)
    assert shown.code == 0, shown.err
    assert "parity" in shown.out
    paper = found["overall"]["routers"]["paper"]
    low, high = paper["area_gain_ci"]
    assert low <= paper["area_gain"] <= high
    low, high = paper["accuracy_ci"]
    assert f"{paper['accuracy']:.3f} ({low:.3f} to {high:.3f})" in shown.out


def test_route_says_what_deciding_cost(skr: Skr, recorded: Path, tmp_path: Path):
    options = ("--router", "combined", "--out", tmp_path / "router", "--retrieval-rate", 0.5)
    assert skr("calibrate", recorded, *options, "--no-arbiter").code == 0
    shown = skr("route", "What is 3 plus 1?", "--router", tmp_path / "router", "--force")
    assert shown.code == 0, shown.err
    assert "1 call · " in shown.out
    assert "tokens (estimated)" in shown.out


@pytest.mark.parametrize("names", ["nosuch", "", ","])
def test_replay_says_which_routers_it_knows(skr: Skr, recorded: Path, names: str):
    result = skr("replay", "--train", recorded, "--router", names)
    assert result.code == 2
    assert all(name in result.err for name in ("always", "recommended", "ladder", "signal:FIELD"))


def test_replay_looks_for_the_groups_before_it_fits(skr: Skr, recorded: Path, monkeypatch):
    monkeypatch.setattr(
        "skr_learn.calibration.replaying.split", lambda *_: pytest.fail("it fitted")
    )
    result = skr("replay", "--train", recorded, "--router", "paper", "--by", "extra.nosuch")
    assert (result.code, "extra.nosuch" in result.err) == (2, True)


def test_replay_of_three_actions_needs_their_answers(skr: Skr, recorded: Path):
    result = skr("replay", "--train", recorded, "--actions", 3, "--router", "combined")
    assert result.code == 2
    assert "loop" in result.err


def test_ask_with_a_router(skr: Skr, corpus: Path, tmp_path: Path):
    store, router = tmp_path / "store", tmp_path / "router"
    assert skr("ingest", corpus, "--store", store).code == 0
    NeverRetrieve().save(router)
    found = skr("ask", "Who directed Jaws?", "--store", store, "--router", router, "--json").json
    assert found["stop_reason"] == "known"
    assert not found["references"]


def test_ask_with_an_arbiter_beside_the_router(skr: Skr, corpus: Path, tmp_path: Path):
    store, router = tmp_path / "store", tmp_path / "router"
    assert skr("ingest", corpus, "--store", store).code == 0
    AlwaysRetrieve().save(router)
    asked = ("ask", "Who directed Jaws?", "--store", store, "--router", router)
    assert "verdict" not in skr(*asked, "--json").json
    assert "Served:" not in skr(*asked).out
    # Whose records say that the references always help.
    Arbiter.fit([unknown(name) for name in UNKNOWN]).save(router)
    other = skr(*asked)
    assert (other.code, "made with the model 'm'" in other.err) == (2, True)
    found = skr(*asked, "--force", "--json").json
    assert found["verdict"]["served"] == "single"
    assert found["verdict"]["answers"]["single"] == found["answer"]
    assert found["usage"]["arbitrate"]["calls"] == 1
    shown = skr(*asked, "--force").out
    assert "Served: the answer after one round of retrieval is the likeliest" in shown


def test_a_missing_router_is_one_line(skr: Skr, tmp_path: Path):
    result = skr("route", "Who?", "--router", tmp_path / "none")
    assert result.code == 2
    assert "no saved router" in result.err
