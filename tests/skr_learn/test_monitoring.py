"""What is served beside what was expected: like the records, unlike them, and of a worse model."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from skr_core import Answer, Decision, Generation, load_router
from skr_core.errors import DataError, InputError
from skr_core.routers import AlwaysRetrieve
from skr_core.routers.saving import SavedRouter
from skr_learn import Monitored, Policy, Record, calibrate, monitor
from skr_learn.monitoring import FEWEST
from tests.skr_learn.made import WORLDS, made

pytestmark = pytest.mark.usefixtures("few_trees")

UNHEARD = {
    "Where does river": "Which peak overlooks lake",
    "Who keeps the books of": "Name every tax paid by",
    "When did team": "How often has club",
    "Which poet": "What painter",
}


def drawn(world: str = "words", n: int = 1500, seed: int = 0) -> list[Record]:
    """Records in any order: those of a made world count upwards."""
    records = made(WORLDS[world], n, seed)
    return [records[place] for place in np.random.default_rng(seed).permutation(n)]


@cache
def world() -> list[Record]:
    return drawn()


@cache
def ladder() -> Policy:
    policy: Policy = calibrate(world()[:500], routers=["ladder"], anyway=True).router
    return policy


def served(policy: Policy, records: list[Record]) -> tuple[list[Answer], list[bool]]:
    """What a system serves of records, and whether it is right."""
    outlook = policy.outlook(records)
    ends, answers = policy.taken(records, outlook)
    chances = outlook.served_chances(ends, answers)
    found, right = [], []
    for record, end, answer, chance in zip(records, ends, answers, chances, strict=True):
        made_of = record.outcomes[policy.actions[answer]]
        decided = policy._beside_records(record.question, Decision(bool(end), 1))
        about = {"stop_reason": "known", "usage": {}, "chance": float(chance)}
        found.append(Answer(record.question, made_of.answer, (), (), decided, (), **about))
        right.append(made_of.score > 0.5)
    return found, right


def first_alarms(
    policy: Policy, answers: list[Answer], right: list[bool] | None = None, *, looking: int = 10
) -> dict[str, int]:
    """After how many answers each figure raises an alarm, looking again after so many."""
    found: dict[str, int] = {}
    for n in range(FEWEST, len(answers) + 1, looking):
        for each in monitor(answers[:n], policy, (right or [])[:n]).changes:
            if each.alarm:
                found.setdefault(each.name, n)
    return found


def test_twenty_draws_of_questions_like_the_records_raise_no_alarm():
    every = list(zip(*served(ladder(), world()[500:]), strict=True))
    for seed in range(20):
        draw = np.random.default_rng(seed).permutation(len(every))[:300]
        answers, right = map(list, zip(*(every[place] for place in draw), strict=True))
        assert first_alarms(ladder(), answers, right, looking=54) == {}
    found = monitor(answers, ladder(), right)
    assert found.verdict == "Nothing to see in 300 answers."
    assert {each.name for each in found.changes} == {
        *("novelty", "novel", "direct", "single", "chance", "right")
    }
    assert all(each.n == 300 and each.low < 0 < each.high for each in found.changes)


def test_questions_unlike_the_records_are_told_soon():
    records = world()[600:900]
    for before, after in UNHEARD.items():
        records = [replace(each, question=each.question.replace(before, after)) for each in records]
    answers, _ = served(ladder(), records)
    assert first_alarms(ladder(), answers)["novelty"] == FEWEST
    found = monitor(answers, ladder())
    assert found.verdict.startswith("The questions are unlike the records: collect records of such")
    assert np.mean([bool(each.decision.novel) for each in answers]) > 0.9


def test_a_model_that_got_worse_is_told_without_feedback_where_its_answers_look_so():
    answers, _ = served(ladder(), drawn("noise", 300, 7))  # half is right, whatever is asked
    alarms = first_alarms(ladder(), answers)
    assert min(alarms.values()) <= 200
    found = monitor(answers, ladder())
    assert found.alarm
    assert found.verdict.startswith("The answers have drifted: collect records anew (direct")


def test_with_feedback_where_they_look_as_before():
    answers, right = served(ladder(), world()[600:900])
    worse = [said and place % 3 > 0 for place, said in enumerate(right)]
    assert first_alarms(ladder(), answers) == {}
    assert 30 <= first_alarms(ladder(), answers, worse)["right"] <= 150
    some = [said if place < 60 else None for place, said in enumerate(worse)]
    *_, told = monitor(answers, ladder(), some).changes
    assert (told.name, told.n) == ("right", 60)


def test_too_few_answers_tell_nothing():
    answers, _ = served(ladder(), world()[600:620])
    worst = [replace(each, chance=0.0) for each in answers]
    found = monitor(worst, ladder(), [False] * 20)
    assert not found.alarm
    assert found.verdict == "Too few answers to tell: 20 so far, and it takes 30."
    assert "20 answers are too few to tell" in found.sentences[-1]
    assert monitor([], ladder()).changes == ()


def test_familiar_questions_are_no_alarm():
    answers, _ = served(ladder(), world()[600:900])
    again = [
        replace(each, decision=replace(each.decision, novelty=0.0, novel=False)) for each in answers
    ]
    found = monitor(again, ladder())
    assert found.changes[0].high < 0
    assert not found.alarm


def test_what_is_expected_is_kept_in_the_file(tmp_path: Path):
    ladder().save(tmp_path / "router")
    loaded = load_router(tmp_path / "router")
    assert isinstance(loaded, Policy)
    assert loaded.expected == ladder().expected
    expected = loaded.expected
    assert expected is not None
    assert expected.n == 500
    assert sum(expected.shares.values()) == pytest.approx(1)
    assert 0 <= expected.novel <= 0.01
    answers, _ = served(ladder(), world()[600:700])
    assert monitor(answers, tmp_path / "router") == monitor(answers, ladder())
    # Other rules keep what is known of the questions alone.
    other = loaded.with_rules(weight=2.0)
    assert other.decide_on(world()[0].question, Generation("7")).novel is False
    assert {each.name for each in monitor(answers, other).changes} == {"novelty", "novel"}


def test_a_file_without_it_loads_and_says_so(tmp_path: Path):
    ladder().save(tmp_path / "router")
    saved = SavedRouter.read(tmp_path / "router")
    parameters = {key: each for key, each in saved.parameters.items() if key != "expected"}
    SavedRouter("policy", parameters, saved.arrays).write(tmp_path / "older")
    older = load_router(tmp_path / "older")
    assert isinstance(older, Policy)
    assert older.decide_on("Who?", Generation("7")).novel is None
    AlwaysRetrieve().save(tmp_path / "always")
    for router in (older, tmp_path / "older", tmp_path / "always", AlwaysRetrieve()):
        with pytest.raises(InputError, match="no figures of its calibration"):
            monitor([], router)
    for wrong in ([], "x", {**saved.parameters["expected"], "n": 0}, {"n": 3}):
        SavedRouter("policy", {**parameters, "expected": wrong}, saved.arrays).write(
            tmp_path / "wrong"
        )
        for read in (load_router, lambda path: monitor([], path)):
            with pytest.raises(DataError):
                read(tmp_path / "wrong")


def test_it_learns_anew_what_to_expect():
    policy = ladder().with_rules()
    more = [*world()[:500], *drawn("always", 200, 7)]
    policy.update(more)
    assert policy.expected is not None
    assert policy.expected.n == 700
    assert set(policy.expected.shares) == {"direct", "single"}


def test_what_is_no_answer_is_refused():
    with pytest.raises(InputError, match="says nothing of a decision"):
        monitor(["Ada"], ladder())
    with pytest.raises(InputError, match="there are 0 answers, and 1 are said"):
        monitor([], ladder(), [True])


def test_the_table_has_a_line_for_each_figure():
    answers, right = served(ladder(), world()[600:700])
    found = monitor(answers, ladder(), right)
    assert isinstance(found, Monitored)
    verdict, _, head, *lines = str(found).split("\n")
    assert verdict == found.verdict
    assert head.split() == ["expected", "seen", "n", "difference"]
    assert [line.split()[0] for line in lines] == [each.name for each in found.changes]
