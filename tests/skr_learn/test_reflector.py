"""A reflector that has learnt from records which drafts are right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from skr_core import HashingEmbedder, Reference
from skr_core.candidates import Standing
from skr_core.errors import DataError, InputError
from skr_core.routers import AlwaysRetrieve
from skr_core.routers.saving import SavedRouter
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_graphs import create_self_completion_graph
from skr_learn import LearnedReflector, Record
from skr_learn.records import Draft, Outcome
from skr_learn.reflector import best_threshold

pytestmark = pytest.mark.usefixtures("few_trees")


def record(number: int) -> Record:
    """Every other answer is made up: it stands in no reference."""
    made_up = number % 2
    answer = Outcome(
        f"Ada {number} [1].",
        float(not made_up),
        grounded=True,
        standing=Standing(own=0.0 if made_up else 1.0),
    )
    return Record(f"Who led team {number}?", (), {"direct": Outcome("", 0), "single": answer})


RECORDS = [record(number) for number in range(120)]
FOUND = [Reference.of("Team 7 was led by Ada 7 for years.")]


@pytest.fixture(scope="module")
def reflector() -> LearnedReflector:
    return LearnedReflector.fit(RECORDS)


def test_it_learns_from_the_drafts_of_every_round():
    # What is served is always right; what is drafted first never is, and says so by its form.
    def two_rounds(number: int) -> Record:
        stands = Standing(own=1.0)
        drafts = (
            Draft(f"Perhaps someone of team {number} [1].", 0.0, True, stands),
            Draft(f"Ada {number} [1].", 1.0, True, stands),
        )
        last = Outcome(drafts[-1].text, 1.0, grounded=True, standing=stands, drafts=drafts)
        return Record(f"Who led {number}?", (), {"direct": Outcome("", 0), "loop": last})

    records = [two_rounds(number) for number in range(60)]
    learnt, chances = LearnedReflector.with_held_out(records)
    assert chances.shape == (120,)
    assert (chances[::2] < learnt.threshold).all()
    assert (chances[1::2] >= learnt.threshold).all()
    assert not learnt.reflect("Who led 99?", FOUND, "Perhaps someone of team 7 [1].").sufficient
    assert learnt.reflect("Who led 99?", FOUND, "Ada 7 [1].").sufficient


async def test_a_draft_that_stands_in_its_references_suffices(reflector: LearnedReflector):
    kept = reflector.reflect("Who led team 7?", FOUND, "Ada 7 [1].")
    sent_back = reflector.reflect("Who led team 7?", FOUND, "Ben Frost [1].")
    assert (kept.sufficient, sent_back.sufficient) == (True, False)
    assert "estimated chance" in sent_back.reason
    assert not kept.usage.calls
    assert await reflector.areflect("Who led team 7?", FOUND, "Ada 7 [1].") == kept


def test_a_refusal_does_not_suffice(reflector: LearnedReflector):
    assert not reflector.reflect("Who led team 7?", [], "I do not know.").sufficient


@pytest.mark.parametrize("draft", ["", "x" * 50_000, "\ud800 [1]", "[1][2][99]", "very " * 20_000])
def test_any_draft_is_judged(draft: str, reflector: LearnedReflector):
    assert isinstance(reflector.reflect("Who?", FOUND, draft).sufficient, bool)


def test_held_out_records_are_judged_better_than_by_either_constant():
    fitted, chances = LearnedReflector.with_held_out(RECORDS)
    wrong = np.array([each.retrieved.score == 0 for each in RECORDS])
    assert ((chances < fitted.threshold) == wrong).mean() > 0.95


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


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_records_that_are_all_alike(score: float):
    alike = [
        Record.of(f"Who led team {number}?", direct=("", 0), single=("Ada", score))
        for number in range(12)
    ]
    fitted = LearnedReflector.fit(alike)
    assert fitted.reflect("Who led team 3?", [], "Ada").sufficient is bool(score)


def test_no_records_are_named():
    with pytest.raises(InputError, match="none were given"):
        LearnedReflector.fit([])


class TestSaving:
    def test_what_is_loaded_judges_the_same(self, reflector: LearnedReflector, tmp_path: Path):
        reflector.save(tmp_path / "reflector")
        again = LearnedReflector.load(tmp_path / "reflector")
        for draft in ("Ada 7 [1].", "Ben Frost [1]."):
            expected = reflector.reflect("Who led team 7?", FOUND, draft)
            assert again.reflect("Who led team 7?", FOUND, draft) == expected
        assert (again.name, again.threshold) == (reflector.name, reflector.threshold)

    def test_its_name_tells_what_it_has_learnt(self, reflector: LearnedReflector):
        other = LearnedReflector.fit(RECORDS[:40])
        assert LearnedReflector.fit(RECORDS).name == reflector.name != other.name

    def test_its_embedder_is_needed_again(self, tmp_path: Path):
        class Own(HashingEmbedder):
            name = "own"

        fitted = LearnedReflector.fit(RECORDS[:40], embedder=Own())
        fitted.save(tmp_path / "reflector")
        with pytest.raises(InputError, match="give embedder="):
            LearnedReflector.load(tmp_path / "reflector")
        again = LearnedReflector.load(tmp_path / "reflector", embedder=Own())
        assert again.reflect("Who?", FOUND, "Ada 7 [1].") == fitted.reflect(
            "Who?", FOUND, "Ada 7 [1]."
        )

    def test_a_file_without_one_is_named(self, tmp_path: Path):
        AlwaysRetrieve().save(tmp_path / "always")
        with pytest.raises(InputError, match="holds no reflector"):
            LearnedReflector.load(tmp_path / "always")

    @pytest.mark.parametrize(
        "wrong",
        [
            None,
            {},
            {"threshold": "x"},
            {"stage": {"map": [1, 0], "chances": None, "gains": None}},
            {"stage": {"map": [1], "chances": None, "gains": None}},
            {"stage": None},
        ],
        ids=str,
    )
    def test_broken_files_are_told(self, wrong, reflector: LearnedReflector, tmp_path: Path):
        parameters, arrays = reflector.state()
        arrays = {f"reflector.{name}": array for name, array in arrays.items()}
        changed = wrong if not wrong else {**parameters, **wrong}
        SavedRouter("learned", {"reflector": changed}, arrays).write(tmp_path / "wrong")
        with pytest.raises(DataError):
            LearnedReflector.load(tmp_path / "wrong")
