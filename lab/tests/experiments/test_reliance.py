"""The levels of certainty, and reliance by them on records."""

from __future__ import annotations

from dataclasses import replace

import pytest

from skr_core import Question
from skr_core.candidates import Standing
from skr_core.errors import InputError
from skr_core.files import KeyedLog
from skr_core.flow import arun, run
from skr_core.questions import Context
from skr_core.testing import ScriptedModel
from skr_lab.experiments.recorded_reliance import recorded_reliance
from skr_lab.experiments.reliance import (
    LEVELS,
    level_result,
    level_systems,
    levelled,
    levels_of,
)
from skr_learn import Record, calibrate
from skr_learn.evaluate import ask_all, judge_all
from skr_learn.records import Statement

pytestmark = pytest.mark.usefixtures("few_trees")


def test_the_levels_overlap():
    assert levels_of(False, False) == [LEVELS[0], LEVELS[1]]
    assert levels_of(False, True) == [LEVELS[1]]
    assert levels_of(True, False) == [LEVELS[2]]
    assert levels_of(True, True) == [LEVELS[2], LEVELS[3]]
    assert levels_of(True, None) == [LEVELS[2]]
    assert levels_of(None, True) == []


def record(n: int, *, vanilla: bool, prudent: bool, passages: bool = True) -> Record:
    """Right without the passage, wrong with it, and moved to it."""
    found = [{"title": "T", "text": "Tom is here."}] if passages else []
    made = Record.of(
        f"Who is {n}?", ["Ada"], direct=("Ada", 1), single=("Tom", 0), extra={"passages": found}
    )
    statements = {
        "confidence:vanilla": Statement(not vanilla),
        "confidence:punish_explain": Statement(not prudent),
    }
    return replace(made, statements=statements)


def test_records_of_both_ways_of_asking_have_all_levels():
    records = [record(n, vanilla=n % 2 == 0, prudent=n % 4 == 0, passages=n > 0) for n in range(8)]
    found, notes = recorded_reliance(records)
    result, groups = level_result(found, {}, notes)
    assert {name: len(each) for name, each in groups.items()} == {
        "all": 8,
        LEVELS[0]: 4,
        LEVELS[1]: 4,
        LEVELS[2]: 4,
        LEVELS[3]: 2,
    }
    cells = result.rows[0].cells
    assert (cells["corruption_rate"].mean, cells["corruption_rate"].n) == (1.0, 8)
    assert (cells["utilisation_ratio"].mean, cells["utilisation_ratio"].n) == (1.0, 7)
    assert notes[0] == "1 of 8 records hold no passage: not in the utilisation ratio."
    stricter, _ = recorded_reliance(records, gamma=1.0)
    assert {each.judged.values.get("utilisation_ratio") for each in stricter} == {0.0, None}


def test_how_answers_stand_in_references_goes_for_their_overlap():
    made = record(1, vanilla=True, prudent=True, passages=False)
    stands = replace(made.outcomes["single"], standing=Standing(direct=0.25, own=1.0))
    own = replace(made, outcomes={**made.outcomes, "single": stands})
    found, notes = recorded_reliance([own])
    assert found[0].judged.values["utilisation_ratio"] == 1.0
    assert "1 of 1 records hold no passage, but how the answers stand" in notes[0]
    [stricter], _ = recorded_reliance([own], gamma=0.8)
    assert stricter.judged.values["utilisation_ratio"] == 0.0


def test_an_arbiter_is_fitted_on_other_records_than_it_is_measured_on():
    records = [record(n, vanilla=True, prudent=True) for n in range(60)]
    found, _ = recorded_reliance(records)
    cells = level_result(found, {})[0].rows[0].cells
    assert cells["corruption_rate_arbiter"].mean == 0.0
    assert cells["utilisation_ratio_arbiter"].mean == 0.0
    few, notes = recorded_reliance(records[:20])
    assert "corruption_rate_arbiter" not in few[0].judged.values
    assert "too few" in notes[-1]


def test_what_records_lack():
    loop = Record.of("Who?", direct=("Ada", 1), loop=("Tom", 0))
    with pytest.raises(InputError, match="single"):
        recorded_reliance([loop])
    plain = Record.of("Who?", direct=("Ada", 1), single=("Tom", 0))
    found, notes = recorded_reliance([plain])
    result, groups = level_result(found, {}, notes)
    assert list(groups) == ["all"]
    assert "1 questions have no level" in result.notes[-1]
    assert "utilisation_ratio" not in result.measures


async def test_sync_and_async_level_the_same():
    contexts = (Context("Ada", "Ada wrote it.", supporting=True),)
    who = Question("1", "Who wrote it?", ("Ada",), contexts=contexts)
    records = [Record.of(f"{n}?", direct=("a", 1), single=("b", 0)) for n in range(20)]
    arbiter = calibrate(records, routers=["arbiter"], anyway=True).router
    model = ScriptedModel(["Bob (uncertain)", "Bob (certain)", "Ada", "Tom"])
    judged = {
        system.name: run(judge_all(run(ask_all(system, [who], KeyedLog(None)))))
        for system in level_systems(model)
    }
    [found] = run(levelled(judged, arbiter=arbiter))
    assert [found] == await arun(levelled(judged, arbiter=arbiter))
    assert found.levels == [LEVELS[1]]
    values = found.judged.values
    assert (values["utilisation_ratio"], values["utilisation_ratio_arbiter"]) == (1.0, 0.0)
    assert (values["accuracy_gold"], values["corruption_rate"]) == (1.0, 0.0)
