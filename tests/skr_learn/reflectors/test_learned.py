"""A reflector that has learnt from records which drafts are right."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from skr_core import Reference
from skr_core.candidates import Standing
from skr_core.errors import InputError
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_graphs import create_self_completion_graph
from skr_learn import LearnedReflector, SelfKnowledge
from skr_learn.learned_reflector import best_threshold
from skr_learn.self_knowledge.records import Outcome


def record(number: int) -> SelfKnowledge:
    """Every other answer is made up: it stands in no reference."""
    made_up = number % 2
    answer = Outcome(
        f"Ada {number} [1].",
        float(not made_up),
        grounded=True,
        standing=Standing(own=0.0 if made_up else 1.0),
    )
    return SelfKnowledge(
        f"Who led team {number}?", (), {"direct": Outcome("", 0), "single": answer}
    )


@pytest.fixture(scope="module")
def reflector() -> LearnedReflector:
    return LearnedReflector.fit([record(number) for number in range(120)])


def test_a_draft_that_stands_in_its_references_suffices(reflector: LearnedReflector):
    found = [Reference.of("Team 7 was led by Ada 7 for years.")]
    kept = reflector.reflect("Who led team 7?", found, "Ada 7 [1].")
    sent_back = reflector.reflect("Who led team 7?", found, "Ben Frost [1].")
    assert (kept.sufficient, sent_back.sufficient) == (True, False)
    assert "estimated chance" in sent_back.reason
    assert not kept.usage.calls
    assert asyncio.run(reflector.areflect("Who led team 7?", found, "Ada 7 [1].")) == kept


def test_a_refusal_does_not_suffice(reflector: LearnedReflector):
    assert not reflector.reflect("Who led team 7?", [], "I do not know.").sufficient


def test_it_judges_held_out_records_better_than_either_constant():
    records = [record(number) for number in range(120)]
    fitted, chances = LearnedReflector.with_held_out(records)
    wrong = np.array([each.retrieved.score == 0 for each in records])
    said = chances < fitted.threshold
    assert (said == wrong).mean() > 0.95
    assert 2 * (said & wrong).sum() / (said.sum() + wrong.sum()) > 0.95  # F1


def test_the_loop_goes_on_until_it_is_content(reflector: LearnedReflector):
    model = ScriptedModel(
        {
            "answer_with_references": ["SUFFICIENT\nBen Frost [1].", "SUFFICIENT\nAda 7 [2]."],
            "self_complete": ["team 7 leader"],
        }
    )
    retriever = MappingRetriever(
        {"Who led team 7?": ["Team 7 won."], "team 7 leader": ["Ada 7 led team 7."]}
    )
    graph = create_self_completion_graph(
        model=model, retriever=retriever, reflector=reflector
    ).compile()
    output = graph.invoke({"question": "Who led team 7?"})
    assert [each["reflection"]["sufficient"] for each in output["rounds"]] == [False, True]
    assert output["answer"] == "Ada 7 [2]."


def test_the_threshold_parts_right_from_wrong():
    chances = np.array([0.9, 0.2, 0.8, 0.4])
    assert 0.4 < best_threshold(chances, np.array([1.0, 0.0, 1.0, 0.0])) < 0.8
    assert best_threshold(chances, np.ones(4)) < 0.2
    assert best_threshold(chances, np.zeros(4)) > 0.9


def test_no_records_are_named():
    with pytest.raises(InputError, match="none were given"):
        LearnedReflector.fit([])
