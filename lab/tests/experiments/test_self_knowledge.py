"""SKR's own systems: records of both answers, routers made of them, what their advice is worth."""

from __future__ import annotations

import asyncio

import pytest

from skr_core import Answer, Decision, Demonstration, HashingEmbedder, Question, Round, Usage
from skr_core.files import KeyedLog
from skr_core.flow import arun, run
from skr_core.routers import PromptRouter
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_core.types import Stamp
from skr_lab.experiments.recorded_self_knowledge import recorded_table
from skr_lab.experiments.routers import template_systems, templates_result
from skr_lab.experiments.self_knowledge import (
    guided,
    make_routers,
    records_of,
    training_apart,
    with_guidance,
    with_passages,
)
from skr_lab.experiments.skr_tables import TABLES, table_result
from skr_learn import Record
from skr_learn.evaluate import Answers, Asked, Judged, ask_all, judge_all
from skr_learn.records import Statement

drivers = pytest.mark.parametrize(
    "drive", [run, lambda flow: asyncio.run(arun(flow))], ids=["sync", "async"]
)
KNOWN, UNKNOWN, LOST = (Question(name, f"{name}?", ("Ada",)) for name in ("one", "two", "three"))


def answer(question: Question, text: str, *, retrieved: bool = False) -> Answer:
    rounds = (Round((question.question,)),) if retrieved else ()
    usage = {"answer_directly": Usage(10, 2, 1)}
    decision = Decision(retrieved)
    return Answer(question.asked, text, (), (), decision, rounds, "known", usage)


def both() -> tuple[Answers, Answers]:
    direct = (
        Asked(KNOWN, answer(KNOWN, "Ada")),
        Asked(UNKNOWN, answer(UNKNOWN, "Bob")),
        Asked(LOST, None, "out of order"),
    )
    retrieved = (
        Asked(KNOWN, answer(KNOWN, "Bob", retrieved=True)),
        Asked(UNKNOWN, answer(UNKNOWN, "Ada", retrieved=True)),
        Asked(LOST, answer(LOST, "Ada", retrieved=True)),
    )
    return Answers("manual_cot", direct, 0.0), Answers("cot_ir", retrieved, 0.0)


def judged(answers: Answers) -> list[Judged]:
    return run(judge_all(answers))


def test_records_hold_both_scores_and_leave_out_what_failed():
    direct, retrieved = both()
    stamp = Stamp(model="m")
    records = records_of(judged(direct), judged(retrieved), "exact_match", stamp)
    assert [(each.question, each.effect) for each in records] == [
        ("one?", "hurts"),
        ("two?", "helps"),
    ]
    assert records[0].stamp is stamp
    assert (records[0].direct.retrievals, records[0].retrieved.retrievals) == (0.0, 1.0)
    assert records[0].direct.usage == Usage(10, 2, 1)


@drivers
def test_a_guided_system_serves_one_of_two_answers_and_pays_for_deciding(drive):
    direct, retrieved = both()
    model = ScriptedModel(["No, I don't.", "Yes, I do.", "No, I don't."])
    system = guided("skr_prompt", PromptRouter(model), direct, retrieved)
    found = drive(ask_all(system, [KNOWN, UNKNOWN, LOST], KeyedLog(None), concurrency=1))
    assert [each.answer and each.answer.text for each in found.asked] == ["Ada", "Ada", None]
    assert found.asked[0].answer.total_usage.calls == 2
    assert found.last_failure == "out of order"
    advised = with_guidance(judged(found), judged(direct), judged(retrieved), "answer_accuracy")
    assert [each.values.get("beneficial_guidance") for each in advised] == [1.0, 1.0, None]
    assert [each.values.get("accuracy_when_known") for each in advised] == [1.0, None, None]


def test_the_log_tells_routers_by_what_they_learnt_from():
    direct, retrieved = both()
    records = records_of(judged(direct), judged(retrieved), "exact_match", Stamp())
    router = PromptRouter(ScriptedModel())
    keys = {
        guided("skr_knn", router, direct, retrieved, learnt_from=each).key
        for each in (records, records[:1])
    }
    assert len(keys) == 2


def test_routers_that_cannot_be_made_are_named():
    model, embedder = ScriptedModel(), HashingEmbedder()
    names = TABLES["self-knowledge"].routed
    made, problems = make_routers(names, model, [], embedder)
    assert list(made) == ["skr_prompt"]
    assert [each.split()[0] for each in problems] == ["skr_icl", "skr_cls", "skr_knn"]
    records = [Record.of(f"Who {n}?", direct=("", n % 2), single=("", 1 - n % 2)) for n in range(8)]
    made, problems = make_routers(names, model, records, embedder)
    assert (list(made), problems) == (list(names), [])


@drivers
def test_examples_get_the_passages_that_are_found_for_them(drive):
    retriever = MappingRetriever({"Who?": ["a", "b", "c", "d"]})
    own = Demonstration("Where?", "There.", ("its own",))
    found = drive(with_passages(retriever, [Demonstration("Who?", "Ada."), own]))
    assert [each.references for each in found] == [("a", "b", "c"), ("its own",)]
    assert retriever.queries == ["Who?"]


def test_a_question_that_is_asked_is_not_learnt_from():
    again = Question("9", "ONE? ", ("Ada",))
    assert training_apart([KNOWN, UNKNOWN, UNKNOWN, again], [KNOWN]) == [UNKNOWN]


def test_the_rows_stand_as_in_the_paper_and_skr_beside_its_rivals():
    direct, retrieved = map(judged, both())
    found = {"skr_knn": direct, "dsp": direct, "cot_ir": retrieved, "manual_cot": direct}
    result = table_result(TABLES["retrieval-methods"], found, "exact_match", {})
    assert [row.name for row in result.rows] == ["manual_cot", "cot_ir", "dsp", "skr_knn"]
    assert [each.against for each in result.comparisons] == ["manual_cot", "cot_ir", "dsp"]
    assert result.rows[0].cells["exact_match"].n_failed == 1
    assert result.plotted[0] == "exact_match"


def test_templates_are_right_on_what_they_claim():
    direct, _ = both()
    model = ScriptedModel(["No, I don't.", "Yes, I do.", "No."])
    system = template_systems(model, direct)[0]
    found = run(ask_all(system, [KNOWN, UNKNOWN, LOST], KeyedLog(None), concurrency=1))
    result, _ = templates_result({system.name: judged(found)}, judged(direct), {})
    everything, asked = (row.cells for row in result.rows)
    assert everything["accuracy_when_known"].mean == 0.5
    assert asked["accuracy_when_known"].mean == 1.0
    assert (asked["claimed_known"].mean, asked["claimed_known"].n_failed) == (0.5, 1)


def test_of_a_recording_statements_become_rows():
    def record(n: int) -> Record:
        known = n % 2 == 0
        made = Record.of(
            f"{'Who wrote' if known else 'When was'} {n}?",
            ["Ada"],
            direct=("Ada" if known else "Bob", known),
            single=("Bob" if known else "Ada", not known),
        )
        said = {"prompt:additional_information": Statement(not known)}
        return Record(made.question, made.gold, made.outcomes, statements=said)

    result, _ = recorded_table([record(n) for n in range(40)], HashingEmbedder(), {})
    rows = {row.name: row.cells for row in result.rows}
    assert list(rows) == ["manual_cot", "cot_ir", "skr_prompt", "skr_cls", "skr_knn", "oracle"]
    assert rows["skr_prompt"]["recorded_score"].mean == 1.0
    assert rows["skr_knn"]["beneficial_guidance"].mean > 0.9
    assert rows["oracle"]["recorded_score"].mean == 1.0
    assert not any("InstructGPT" in note for note in result.notes)
    assert any(note.startswith("skr_icl is left out") for note in result.notes)
