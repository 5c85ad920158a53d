"""``--router`` takes the name of a router that needs no records; what differs a little is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from skr_core.errors import tell_once
from skr_core.routers import PromptRouter
from skr_core.testing import ScriptedModel
from tests.skr_app.conftest import Skr


def test_ask_and_evaluate_take_a_name(skr: Skr, corpus: Path, questions: Path, tmp_path: Path):
    store = tmp_path / "store"
    assert skr("ingest", corpus, "--store", store).code == 0
    asked = ("ask", "Who directed Jaws?", "--store", store, "--json")
    assert skr(*asked, "--router", "never").json["stop_reason"] == "known"
    assert skr(*asked, "--router", "confidence:explain").code == 0
    systems = ("--corpus", corpus, "--systems", "adaptive", "--router", "never", "--json")
    found = skr("evaluate", questions, *systems)
    assert found.code == 0, found.err


def test_route_takes_a_name_with_its_parameter(skr: Skr):
    decision = skr("route", "Who directed Jaws?", "--router", "prompt:can_answer", "--json").json
    assert decision["reason"].startswith("the model says")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "nevver",
            "there is no saved router or reflector at nevver, and none is registered by that name",
        ),
        ("prompt:mine", "no template 'mine'"),
        ("knn", "the router 'knn' learns from records"),
    ],
)
def test_another_name_is_one_line(skr: Skr, name: str, said: str):
    result = skr("route", "Who?", "--router", name)
    assert result.code == 2
    assert said in result.err
    assert result.err.count("\n") == 1


@pytest.mark.filterwarnings("always::skr_core.errors.StampWarning")
def test_what_differs_a_little_is_told_in_a_line(skr: Skr, tmp_path: Path):
    tell_once.cache_clear()
    PromptRouter(ScriptedModel(name="extractive-2025-04-14")).save(tmp_path / "router")
    result = skr("route", "Who?", "--router", tmp_path / "router")
    assert result.code == 0
    assert result.err.strip() == (
        "note: this prompt router was made with the model 'extractive-2025-04-14', not 'extractive'"
    )
