"""What adaptive retrieval answers follows from what was stated and from answers with documents."""

from __future__ import annotations

import pytest

from skr_core import Question
from skr_core.files import KeyedLog
from skr_core.flow import arun, run
from skr_core.questions import Context
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_lab.experiments.adaptive import (
    Documents,
    adaptive_result,
    gold_documents,
    named_by,
)
from skr_lab.experiments.certainty import strategy_system
from skr_learn.evaluate import Judged, System, ask_all, judge_all

QUESTIONS = [
    Question(
        f"q{n}",
        f"Who governs town {n}?",
        (f"Mayor{n}",),
        contexts=(
            Context("Town", f"Town {n} has a mayor.", supporting=True),
            Context("Mayor", f"Mayor{n} was born here.", supporting=True),
            Context("River", "It flows.", supporting=False),
        ),
    )
    for n in range(4)
]


def judged(system: System) -> list[Judged]:
    return run(judge_all(run(ask_all(system, QUESTIONS, KeyedLog(None)))))


def test_the_document_that_names_the_answer_comes_first():
    assert [each.title for each in gold_documents(QUESTIONS[0])] == ["Mayor", "Town"]
    gold = judged(Documents("gold", 1).system(ScriptedModel(["Nobody."])))
    assert named_by(gold) == 1.0
    assert all(len(each.answer.references) == 1 for each in gold)


def test_an_answer_is_given_as_many_documents_as_it_should():
    found = {each.question: ["a", "b", "c"] for each in QUESTIONS}
    documents = Documents("sparse", 2, MappingRetriever(found))
    model = ScriptedModel(["Nobody."])
    assert named_by(judged(documents.system(model))) == 0.0
    assert {len(prompt.references) for prompt in model.prompts} == {2}
    assert "your internal knowledge" in model.prompts[0].text  # Figure 10


async def test_a_search_that_fails_is_counted():
    down = MappingRetriever({}, failing=[each.question for each in QUESTIONS])
    system = Documents("dense", 1, down).system(ScriptedModel(["x"]))
    asked = run(ask_all(system, QUESTIONS, KeyedLog(None)))
    assert asked.n_failed == len(QUESTIONS)
    assert (await arun(ask_all(system, QUESTIONS, KeyedLog(None)))).n_failed == len(QUESTIONS)


def test_certain_answers_are_kept_and_the_others_replaced():
    said = ["Mayor0 (certain)", "Nobody (uncertain)", "Nobody (certain)", "..."]

    class Said(ScriptedModel):
        def generate(self, prompt, *, on_token=None):
            if prompt.references:
                return ScriptedModel([prompt.references[0].text]).generate(prompt)
            return ScriptedModel([said[int(prompt.question[-2])]]).generate(prompt)

    model = Said()
    stated = {"punish": judged(strategy_system(model, "punish"))}
    augmented = {"gold_top_1": judged(Documents("gold", 1).system(model))}
    result, values = adaptive_result(stated, augmented, {})
    static, punish = (row.cells for row in result.rows)
    assert static["gold_top_1"].mean == 1.0
    assert "none" not in static  # Vanilla's, which was not asked
    assert [each.values["gold_top_1"] for each in values["punish"]] == [1, 1, 0, None]
    assert punish["ra_rate"].mean == pytest.approx(1 / 3)
    assert (punish["none"].mean, punish["none"].n_failed) == (pytest.approx(1 / 3), 1)
    assert result.comparisons[0].cells["gold_top_1"].mean == pytest.approx(-1 / 3)
