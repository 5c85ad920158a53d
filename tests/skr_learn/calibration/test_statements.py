"""Routers that ask the model, chosen from what they said while records were collected."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from skr_core import Usage, load_router
from skr_core.errors import InputError
from skr_core.routers import ModelRouter
from skr_core.testing import ScriptedModel
from skr_learn import SelfKnowledge, calibrate, replay
from skr_learn.self_knowledge.records import Outcome, Statement
from tests.skr_learn.routers.facts import records

NAMES = ("prompt:can_solve", "in_context", "confidence:punish", "certainty_level", "uncertainty")


def asked(name: str, n: int = 30, **fields: object) -> list[SelfKnowledge]:
    """Records whose statement is right on every question, each answer with its usage."""
    tokens = {"direct": 100, "single": 1100}
    return [
        replace(
            each,
            outcomes={
                action: Outcome(found.answer, found.score, Usage(tokens[action], 0, 1))
                for action, found in each.outcomes.items()
            },
            statements={name: Statement(each.direct.score == 0, usage=Usage(50, 0, 1), **fields)},
        )
        for each in records(n)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_the_chosen_one_is_saved_and_loaded(name: str, tmp_path: Path):
    calibration = calibrate(asked(name), routers=[name])
    assert calibration.curve.recommended == "router"
    assert calibration.curve.chosen.mean == 1.0
    calibration.save(tmp_path)
    with pytest.raises(InputError, match="give model="):
        load_router(tmp_path)
    model = ScriptedModel(["I don't know. (uncertain)"], name="m")
    router = load_router(tmp_path, model=model)
    assert isinstance(router, ModelRouter)
    assert type(router).kind == name.partition(":")[0]
    decision = router.decide("Who keeps the books?")
    assert decision.max_rounds == (1 if decision.retrieve else None)


def test_without_its_model_it_can_be_saved_but_not_asked():
    router = calibrate(asked("certainty_level"), routers=["certainty_level"]).router
    with pytest.raises(InputError, match="'m'"):
        router.decide("Who?")


def test_with_its_model_it_decides_at_once():
    model = ScriptedModel(["No."], name="m")
    router = calibrate(asked("prompt:can_answer"), routers=["prompt:can_answer"], model=model)
    assert router.router.decide("Who?").retrieve


def test_asking_costs_and_is_in_the_curve():
    curve = calibrate(asked("uncertainty"), routers=["uncertainty"]).curve
    assert curve.unit == "tokens"
    # 50 for asking, then 100 or 1,100: half of the questions each.
    assert curve.chosen_cost == pytest.approx(0.05 + (0.1 + 1.1) / 2)
    assert "its own calls included" in curve.sentence


def test_a_draft_is_what_is_served_and_costs_nothing_more():
    served = asked("confidence:explain", draft="It is Ada.", draft_score=0.25)
    curve = calibrate(served, routers=["confidence:explain"], price=0.0).curve
    table = curve.constants
    assert table["direct"].mean == 0.5  # the constant policy serves the direct answer
    found = replay(served, routers=["confidence:explain"]).overall.routers["confidence:explain"]
    assert found.retrieval_rate == 0.5
    assert curve.costs[0] == pytest.approx(0.05)


def test_a_dear_question_is_not_asked():
    dear = [
        replace(each, statements={"uncertainty": Statement(each.direct.score == 0,
                                                           usage=Usage(2000, 0, 5))})
        for each in asked("uncertainty")
    ]  # fmt: skip
    assert calibrate(dear, routers=["uncertainty"]).curve.recommended == "single"


def test_statements_are_candidates_by_default_where_every_record_holds_them():
    held = asked("certainty_level", 12)
    assert "certainty_level" in calibrate(held).curve.compared
    partly = [*held[1:], replace(held[0], statements={})]
    assert "certainty_level" not in calibrate(partly).curve.compared
    with pytest.raises(InputError, match="not every record holds a statement"):
        calibrate(partly, routers=["certainty_level"])
