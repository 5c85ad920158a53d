"""The likelihoods of answers: asked for where an arbiter decides by them, and counted."""

from __future__ import annotations

from typing import Any

import pytest

from skr_core.budget import Budget
from skr_core.candidates import Margins
from skr_core.errors import ModelError, NoLikelihoodsError
from skr_core.questions import Question
from skr_core.settings import Settings
from skr_core.testing import WordScorer
from skr_core.types import Generation
from skr_graphs.collecting import acollect_with, collect_with
from skr_learn.arbiters import MarginArbiter
from tests.skr_graphs.deciding import SUM, WRONG, adding, graph_of, library, model_of
from tests.skr_graphs.doubles import Invoke, both


def margined(scorer: Any, model: Any = None, **options: Any) -> Any:
    chosen = {"arbiter": MarginArbiter(), "likelihoods": scorer, **options}
    return graph_of(model or adding(), **chosen)


class Failing(WordScorer):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def score(self, prompt: str, text: str) -> Generation:
        raise self.error


@both
@pytest.mark.parametrize(("known", "answer"), [(["42"], "42"), (["Adam"], WRONG)])
def test_the_model_s_own_answer_is_served_where_it_is_much_likelier(
    known: list[str], answer: str, invoke: Invoke
):
    scorer = WordScorer(known=known)
    output = invoke(margined(scorer), SUM)
    assert output["answer"] == answer
    assert output["verdict"]["served"] == ("direct" if answer == "42" else "loop")
    # The model's own answer, and six questions about both.
    assert output["usage"]["arbitrate"]["calls"] == 7
    assert len(scorer.asked) == 6
    assert all("[1]" not in text for _, text in scorer.asked)
    assert "log-likelihood a token" in output["verdict"]["reason"]


@both
def test_an_arbiter_that_does_not_look_at_them_asks_for_none(invoke: Invoke):
    scorer = WordScorer()
    output = invoke(graph_of(adding(), likelihoods=scorer), SUM)
    assert (output["answer"], scorer.asked) == ("42", [])
    assert output["usage"]["arbitrate"]["calls"] == 1


@both
@pytest.mark.parametrize(("calls", "asked"), [(8, 6), (7, 0)])
def test_they_keep_within_the_budget(calls: int, asked: int, invoke: Invoke):
    scorer = WordScorer(known=["42"])
    output = invoke(margined(scorer, budget=Budget(max_calls=calls)), SUM)
    assert len(scorer.asked) == asked
    assert output["answer"] == ("42" if asked else WRONG)
    assert sum(each["calls"] for each in output["usage"].values()) == (8 if asked else 2)
    if not asked:
        assert output["verdict"]["reason"] == "the likelihoods of the answers are not known"


@both
def test_answers_that_agree_cost_nothing_more(invoke: Invoke):
    scorer = WordScorer()
    output = invoke(margined(scorer, model_of("42", "SUFFICIENT\n42 [1].")), SUM)
    assert (output["answer"], output["grounded"], scorer.asked) == ("42 [1].", True, [])
    assert output["usage"]["arbitrate"]["calls"] == 1


@both
def test_where_the_scorer_fails_the_loop_s_answer_stands(invoke: Invoke):
    output = invoke(margined(Failing(ModelError("the scorer is away"))), SUM)
    assert (output["answer"], "verdict" in output) == (WRONG, False)
    assert output["rounds"][-1]["errors"] == ["the model failed: the scorer is away"]
    assert output["usage"]["arbitrate"]["calls"] == 1


@both
def test_a_server_that_tells_none_is_not_passed_over(invoke: Invoke):
    with pytest.raises(NoLikelihoodsError, match="tells none"):
        invoke(margined(Failing(NoLikelihoodsError("tells none"))), SUM)


@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_records_keep_the_margins_where_they_are_asked_for(colour: str):
    asked = [Question("1", SUM, ("42",))]

    async def collected(**options: Any) -> Any:
        settings = Settings.of(adding(), library(), **options)
        if colour == "sync":
            return collect_with(asked, settings, {})[0]
        return (await acollect_with(asked, settings, {}))[0]

    scorer = WordScorer(known=["42"])
    record = await collected(likelihoods=scorer)
    assert record.direct.margins is None
    # "Adam" is in neither the question nor the references.
    assert record.retrieved.margins == Margins(pytest.approx(-2.9), pytest.approx(0.0))
    assert record.outcomes["single"].margins == record.retrieved.margins
    assert len(scorer.asked) == 6
    assert record.retrieved.usage.calls == 1
    plain = await collected()
    assert plain.retrieved.margins is None
    assert plain.stamp == record.stamp
