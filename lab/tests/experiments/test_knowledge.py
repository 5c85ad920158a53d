"""Knowledge conditions and what the experiments make of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from skr_app.extractive import ExtractiveModel
from skr_app.report import Result, plot
from skr_core import Generation, Question, Reference
from skr_core.errors import InputError, ModelError
from skr_core.files import KeyedLog
from skr_core.flow import run
from skr_core.plain import from_plain, to_plain
from skr_core.questions import Context, corpus_of
from skr_core.routers import AlwaysRetrieve, NeverRetrieve
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_lab.experiments import EXPERIMENTS
from skr_lab.experiments.knowledge import (
    answer_given,
    can_be_corrupted,
    can_be_partial,
    complete,
    corrupted,
    partial,
    with_noise,
)
from skr_lab.experiments.retrieval import RankSlice, half_of
from skr_lab.experiments.routers import training_size
from skr_learn import Record
from skr_learn.evaluate import Judged, ask_all, judge_all


def question(n: int) -> Question:
    return Question(
        f"q{n}",
        f"Where was the director of the film Jaws {n} born?",
        (f"Town{n}",),
        supporting_titles=(f"Jaws {n}", f"Person {n}"),
        contexts=(
            Context(f"Jaws {n}", f"Jaws {n} is a film directed by Person {n}."),
            Context(f"Person {n}", f"Person {n} was born in Town{n}."),
            Context(f"Noise {n}", f"Noise {n} is another thing."),
        ),
    )


QUESTIONS = [question(n) for n in range(6)]
POOL = corpus_of(QUESTIONS)
CONDITIONS = ("knowledge-precision", "knowledge-recall", "reliance")


def test_noise_comes_from_the_question_first_and_then_from_the_others():
    for noise in (0, 1, 3, 8):
        given = with_noise(QUESTIONS[0], noise, POOL)
        assert len({each.id for each in given}) == len(given) == 2 + noise
        assert {"Jaws 0", "Person 0"} <= {each.title for each in given}
        assert given == with_noise(QUESTIONS[0], noise, POOL)
    assert "Noise 0" in {each.title for each in with_noise(QUESTIONS[0], 1, POOL)}
    assert len(with_noise(QUESTIONS[0], 3)) == 3  # no pool, no more noise


def test_partial_is_never_all_and_never_nothing():
    for each in QUESTIONS:
        assert len(partial(each)) == 1
        assert can_be_partial(each)
        assert set(partial(each)) < set(complete(each))
    assert not can_be_partial(Question("1", "?", ()))


def test_what_a_model_thinks_is_no_part_of_its_answer():
    given = complete(QUESTIONS[0])
    for references in ((), given):
        thinks = ScriptedModel(["<think>Perhaps Town9?</think>\nTown0"])
        assert run(answer_given(thinks, QUESTIONS[0], references)).text == "Town0"
        with pytest.raises(ModelError, match="no answer"):
            run(answer_given(ScriptedModel(["<think>Perhaps"]), QUESTIONS[0], references))


def test_corrupted():
    texts = [each.text for each in corrupted(QUESTIONS[0])]
    assert texts[1] == "Person 0 was born in Tom."
    assert can_be_corrupted(QUESTIONS[0])
    assert not can_be_corrupted(Question("1", "?", ("no",), contexts=QUESTIONS[0].contexts))


def perform(name: str, model: object) -> tuple[Result, dict[str, list[Judged]]]:
    experiment = EXPERIMENTS[name](questions=Path("unused"))
    judged = {
        system.name: run(judge_all(run(ask_all(system, QUESTIONS, KeyedLog(None)))))
        for system in experiment.systems(model, POOL, experiment.words)
    }
    return experiment.result(judged, {}), judged


@pytest.mark.parametrize("name", CONDITIONS)
def test_every_experiment_has_a_table_and_a_plot(name: str):
    result, _ = perform(name, ExtractiveModel())
    assert result.rows
    assert any(measure in result.measures for measure in result.plotted)
    assert plot(result).startswith(b"\x89PNG")
    experiment = EXPERIMENTS[name](questions=Path("unused"))
    assert all(experiment.usable(each) for each in QUESTIONS)


def test_knowledge_recall_with_the_extractive_model():
    result, _ = perform("knowledge-recall", ExtractiveModel())
    accuracy = {row.name: row.cells["answer_accuracy"].mean for row in result.rows}
    assert accuracy["none"] == 0.0
    assert accuracy["complete"] == 1.0


class Gullible:
    """Knows every town, and believes every document."""

    name = "gullible"

    def generate(self, prompt, *, on_token=None):
        town = prompt.question.split("Jaws ")[1][0]
        if not prompt.references:
            return Generation(f"Town{town}")
        said = " ".join(each.text for each in prompt.references)
        return Generation("Tom" if "Tom" in said else f"born in Town{town}")

    async def agenerate(self, prompt, *, on_token=None):
        return self.generate(prompt)


def test_reliance():
    result, _ = perform("reliance", Gullible())
    _, gold, wrong = result.rows
    # "Town0" stands in the document already, so its overlap cannot grow.
    assert gold.cells["utilisation_ratio"].mean == 0.0
    assert wrong.cells["corruption_rate"].mean == 1.0


def test_some_ranks_alone():
    retriever = MappingRetriever({"q": [str(n) for n in range(1, 11)]})
    found = RankSlice(retriever, 8, 10).retrieve("q")
    assert [each.text for each in found] == ["8", "9", "10"]
    assert RankSlice(retriever, 8, 10).name == "mapping[8-10]"


def test_half_of_a_corpus_is_the_same_half():
    passages = [Reference.of(str(n)) for n in range(9)]
    assert half_of(passages) == half_of(passages[::-1])
    assert len(half_of(passages)) == 4


RECORDS = [
    Record.of(f"q{n}", ["x"], direct=("", n % 2), single=("", n % 3 == 0)) for n in range(40)
]


def test_training_size_replays_the_same_half():
    parts: list[int] = []

    def fit(part: object) -> NeverRetrieve:
        parts.append(len(part))
        return NeverRetrieve()

    result, judged = run(training_size(RECORDS, fit, {}))
    assert parts == [2, 5, 10, 20]
    never, always, *fitted = result.rows
    assert {row.cells["answer_accuracy"].mean for row in fitted} == {
        never.cells["answer_accuracy"].mean
    }
    assert never.cells["retrieved"].mean == 0.0
    assert always.cells["retrieved"].mean == 1.0
    # What one sends right the other sends wrong.
    guided = [row.cells["beneficial_guidance"].mean for row in (never, always)]
    assert sum(guided) == pytest.approx(1.0)
    assert {len(each) for each in judged.values()} == {20}


def test_too_few_records():
    with pytest.raises(InputError, match="too few"):
        run(training_size(RECORDS[:5], lambda part: AlwaysRetrieve(), {}))


def test_conditions_that_differ_by_a_number_are_points_of_a_line():
    """RaLLM Figure 3: over 2, 5 and 10 references."""
    result, _ = perform("knowledge-precision", ExtractiveModel())
    assert result.over == "references given"
    assert [row.at for row in result.rows] == [2.0, 5.0, 10.0]
    assert from_plain(Result, to_plain(result)) == result
    result, _ = perform("knowledge-recall", ExtractiveModel())
    assert [row.at for row in result.rows] == [0.0, 0.5, 1.0]
    result, _ = perform("reliance", ExtractiveModel())
    assert {row.at for row in result.rows} == {None}
