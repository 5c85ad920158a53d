"""A router that has asked for the direct answer has asked for all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from skr_core.budget import Budget
from skr_core.prompts.templates import DEFAULT_TEMPLATES
from skr_core.testing import ScriptedModel
from skr_core.types import Demonstration
from skr_graphs import SKRContext, create_self_completion_graph
from skr_learn.routers import CombinedRouter
from tests.skr_graphs.doubles import QUESTION, Invoke, both, searchable
from tests.skr_learn.routers.facts import records


def graph(model: ScriptedModel, price: float, **more: Any) -> Any:
    router = CombinedRouter.fit(records(20), model=model, price=price)
    return create_self_completion_graph(
        model=model, retriever=searchable(), router=router, **more
    ).compile()


@both
@pytest.mark.parametrize("budget", [Budget(), Budget(max_calls=1)])
def test_a_known_question_costs_one_call(budget: Budget, invoke: Invoke):
    model = ScriptedModel(["Paris [7]."])
    output = invoke(graph(model, 2.0, budget=budget))
    assert [prompt.task for prompt in model.prompts] == ["answer_directly"]
    assert (output["answer"], output["stop_reason"]) == ("Paris.", "known")
    assert output["removed_markers"] == 1
    assert output["decision"]["draft"] == "Paris [7]."
    assert {task: usage["calls"] for task, usage in output["usage"].items()} == {"route": 1}


def test_its_draft_is_streamed_as_one_token():
    events = list(
        graph(ScriptedModel(["It is Paris."]), 2.0).stream(
            {"question": QUESTION}, stream_mode="custom", context=SKRContext(stream=True)
        )
    )
    assert [event["type"] for event in events] == ["start", "route", "sources", "token", "answer"]
    assert events[3]["text"] == "It is Paris."


@both
def test_an_unknown_question_is_answered_from_references(invoke: Invoke):
    model = ScriptedModel({"answer_directly": ["Rome."], "answer_with_references": ["Paris [1]."]})
    assert invoke(graph(model, -2.0))["answer"] == "Paris [1]."
    assert len(model.prompts) == 2


@both
@pytest.mark.parametrize(
    "own",
    [
        {"demonstrations": [Demonstration("Two?", "2")]},
        {
            "templates": replace(
                DEFAULT_TEMPLATES, answer_directly=DEFAULT_TEMPLATES.answer_directly + "\nBriefly."
            )
        },
    ],
)
def test_the_draft_is_made_in_the_words_of_the_system(own: dict[str, Any], invoke: Invoke):
    served, plain = ScriptedModel(["Paris."]), ScriptedModel(["Paris."])
    output = invoke(graph(served, 2.0, **own))
    invoke(graph(plain, 2.0))
    [asked] = served.prompts
    assert asked.task == "answer_directly"
    assert asked.text != plain.prompts[0].text
    assert output["usage"] == {"route": {**output["usage"]["route"], "calls": 1}}
