"""What every router promises, sync and async. A new router is one line in `MAKERS`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from skr_core import Decision, Router, routers
from skr_core.plain import from_plain, to_plain
from skr_core.routers import (
    AlwaysRetrieve,
    CertaintyLevelRouter,
    ConfidenceRouter,
    FixedDecision,
    NeverRetrieve,
    PromptRouter,
    UncertaintyRouter,
)
from skr_core.testing import ScriptedModel
from skr_learn.routers import ClassifierRouter, InContextRouter, KNNRouter
from tests.skr_learn.routers.facts import records

RECORDS = records(6)
MAKERS: dict[str, Callable[[], Router]] = {
    "AlwaysRetrieve": AlwaysRetrieve,
    "NeverRetrieve": NeverRetrieve,
    "PromptRouter": lambda: PromptRouter(ScriptedModel(["Yes,\nplease."])),
    "InContextRouter": lambda: InContextRouter(
        ScriptedModel(["No."]), known=["{a}\nb?"], unknown=["c?"]
    ),
    "ConfidenceRouter": lambda: ConfidenceRouter(ScriptedModel(["Paris\n(uncertain)"])),
    "CertaintyLevelRouter": lambda: CertaintyLevelRouter(ScriptedModel(["Paris.\nCertain."])),
    "KNNRouter": lambda: KNNRouter.fit(RECORDS, rule="benefit"),
    "ClassifierRouter": lambda: ClassifierRouter.fit(RECORDS),
    "UncertaintyRouter": lambda: UncertaintyRouter(ScriptedModel(["Paris\nit is."])),
}

Decide = Callable[[Router, str], Decision]


def blocking(router: Router, question: str) -> Decision:
    return router.decide(question)


def awaited(router: Router, question: str) -> Decision:
    return asyncio.run(router.adecide(question))


both = pytest.mark.parametrize("decide", [blocking, awaited])


def test_every_router_is_under_contract():
    named = {name for name in routers.__all__ if hasattr(getattr(routers, name), "decide")}
    assert named - {"FixedDecision", "ModelRouter"} <= set(MAKERS)  # the base, and one made before


@both
def test_a_decision_made_before_is_made_again(decide: Decide):
    made = Decision(True, max_rounds=1, reason="it was asked already")
    assert decide(FixedDecision(made), "Who?") is made


@both
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
class TestContract:
    def test_is_a_router(self, decide: Decide, make: Callable[[], Router]):
        assert isinstance(make(), Router)

    @pytest.mark.parametrize("question", ["Capital of France?", "?", "{x} [1]\n日本", "a" * 5000])
    def test_decides_with_a_reason(self, decide: Decide, make: Callable[[], Router], question: str):
        decision = decide(make(), question)
        assert isinstance(decision.retrieve, bool)
        assert decision.reason
        assert "\n" not in decision.reason

    def test_score_and_threshold_agree_with_the_decision(
        self, decide: Decide, make: Callable[[], Router]
    ):
        decision = decide(make(), "Capital of France?")
        assert (decision.score is None) == (decision.threshold is None)
        if decision.score is not None and decision.threshold is not None:
            assert decision.retrieve == (decision.score > decision.threshold)

    def test_the_same_question_gets_the_same_decision(
        self, decide: Decide, make: Callable[[], Router]
    ):
        assert decide(make(), "Capital?") == decide(make(), "Capital?")

    def test_the_decision_is_plain(self, decide: Decide, make: Callable[[], Router]):
        decision = decide(make(), "Capital?")
        assert from_plain(Decision, to_plain(decision)) == decision


@both
def test_the_constant_policies(decide: Decide):
    assert decide(AlwaysRetrieve(), "?").retrieve
    assert not decide(NeverRetrieve(), "?").retrieve
