"""CombinedRouter: drafts are asked for once, and counted."""

from __future__ import annotations

import pytest

from skr_core import Answer, Decision, load_router
from skr_core.errors import InputError
from skr_core.testing import ScriptedModel
from skr_learn import record_of_feedback
from skr_learn.learning import regression as module
from skr_learn.routers import CombinedRouter
from tests.skr_learn.routers.facts import STAMP, answered, firm, records, river


def test_it_asks_for_the_direct_answer_once():
    model = ScriptedModel(["I don't know."], name="m")
    router = CombinedRouter.fit(records(20), model=model)
    decision = router.decide(firm("Omega"))
    assert decision.retrieve
    assert [prompt.task for prompt in model.prompts] == ["answer_directly"]
    assert decision.usage.calls == 1
    assert "direct answer" in decision.reason
    assert len(decision.neighbours) == 5


def test_the_draft_matters():
    said = {"sure": "The Omega sea.", "unsure": "I don't know."}
    scores = {
        name: CombinedRouter.fit(records(20), model=ScriptedModel([text], name="m"))
        .decide(river("Omega"))
        .score
        for name, text in said.items()
    }
    assert scores["sure"] < scores["unsure"]


def test_the_question_alone_asks_nobody():
    decision = CombinedRouter.fit(records(20), drafts=False).decide(river("Omega"))
    assert not decision.retrieve
    assert decision.usage.calls == 0


def test_without_a_model_it_says_what_it_needs(tmp_path):
    router = CombinedRouter.fit(records(5))
    with pytest.raises(InputError, match="model="):
        router.decide("Who?")
    router.save(tmp_path)
    model = ScriptedModel(["I don't know."], name="m")
    assert load_router(tmp_path, model=model).decide(firm("Omega")).usage.calls == 1


def test_where_nothing_tells_it_keeps_to_a_constant():
    same = [answered(f"Is {n} odd?", 0.0, float(n % 2)) for n in range(40)]
    assert CombinedRouter.fit(same, drafts=False).decide("Is 7 odd?").retrieve
    worse = [answered(f"Is {n} odd?", 1.0, 0.0) for n in range(40)]
    assert not CombinedRouter.fit(worse, drafts=False).decide("Is 7 odd?").retrieve


def test_many_records_are_seen_through_landmarks(monkeypatch: pytest.MonkeyPatch, tmp_path):
    monkeypatch.setattr(module, "EXACT", 30)
    router = CombinedRouter.fit(records(20), drafts=False)
    assert router.decide(firm("Omega")).retrieve
    assert not router.decide(river("Omega")).retrieve
    router.update(records(25)[40:])
    router.save(tmp_path)
    again = load_router(tmp_path).decide(firm("Omega"))
    assert again.score == pytest.approx(router.decide(firm("Omega")).score)


def test_growing_beyond_the_exact_size_changes_to_landmarks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "EXACT", 30)
    router = CombinedRouter.fit(records(12), drafts=False, price=0.0)
    router.update(records(20)[24:])
    assert router.decide(firm("Omega")).retrieve
    assert not router.decide(river("Omega")).retrieve


def test_feedback_teaches():
    router = CombinedRouter.fit(records(20), drafts=False, price=0.0)
    question = "How deep is the Omega lake?"
    before = router.decide(question).score
    served = Answer(question, "5 m", (), (), Decision(False), (), "known", {})
    router.update([record_of_feedback(served, False, expected_other=0.5, stamp=STAMP)])
    assert router.decide(question).score > before


def test_feedback_without_a_draft_is_not_learnt_from_as_a_draft():
    router = CombinedRouter.fit(records(10), model=ScriptedModel(["?"], name="m"), price=0.0)
    before = router.decide("Who?").score
    served = Answer("Who?", "Ada [1]", (), (), Decision(True), (), "sufficient", {})
    router.update([record_of_feedback(served, True, expected_other=0.5, stamp=STAMP)])
    assert router.decide("Who?").score == before
