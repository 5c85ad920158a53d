"""What all routers that look at the question alone promise: saving, loading, learning more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from threading import get_ident

import numpy as np
import pytest

from skr_core import Answer, Decision, HashingEmbedder, SKRError, load_router
from skr_core.errors import DataError, InputError, StampMismatch
from skr_core.routers.saving import SavedRouter
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_core.types import Stamp
from skr_learn import Record, record_of_feedback
from skr_learn.routers import ClassifierRouter, KNNRouter, QuestionRouter
from skr_learn.routers.base import best_action, question_hashes
from tests.skr_learn.routers.facts import STAMP, answered, firm, records, river

MODEL = ScriptedModel(["I don't know."], name="m")


class Dense:
    """An embedder of the user's own."""

    name = "dense"

    def embed(self, texts):
        return HashingEmbedder().embed(texts)

    async def aembed(self, texts):
        return self.embed(texts)


Fit = Callable[[Sequence[Record]], QuestionRouter]
FITS: dict[str, Fit] = {
    "paper": KNNRouter.fit,
    "benefit": lambda some: KNNRouter.fit(some, rule="benefit"),
    "dense": lambda some: KNNRouter.fit(some, embedder=Dense()),
    "classifier": ClassifierRouter.fit,
}
every = pytest.mark.parametrize("fit", FITS.values(), ids=FITS)


def embedder_of(router: QuestionRouter):
    return router.embedder if isinstance(router.embedder, Dense) else None


def ships(n: int = 12) -> list[Record]:
    return [answered(ship(number), 0.0, 1.0, stamp=STAMP) for number in range(n)]


def ship(number: int) -> str:
    return f"Which captain sailed ship {number}?"


@every
def test_it_knows_what_it_was_taught(fit: Fit):
    router = fit(records(20))
    unknown, known = router.decide(firm("Omega")), router.decide(river("Omega"))
    assert (unknown.retrieve, unknown.max_rounds) == (True, 1)
    assert (known.retrieve, known.max_rounds) == (False, None)
    assert unknown.score > unknown.threshold == router.threshold
    assert unknown.usage.calls == 0
    assert unknown.reason
    assert "\n" not in unknown.reason


@every
def test_many_questions_at_once_score_as_one_by_one(fit: Fit):
    router = fit(records(20))
    asked = [firm("Omega"), river("Omega"), "?", "日本", ship(3)]
    together = router.scores(asked).tolist()
    assert together == pytest.approx([router.decide(each).score for each in asked])
    assert together == pytest.approx(asyncio.run(router.ascores(asked)).tolist())


@every
def test_awaited_it_decides_the_same_and_computes_elsewhere(
    fit: Fit, monkeypatch: pytest.MonkeyPatch
):
    router = fit(records(6))
    decided = router.decide(firm("Omega"))
    assert asyncio.run(router.adecide(firm("Omega"))) == decided
    judge, where = router._judge, set()
    monkeypatch.setattr(router, "_judge", lambda given: (where.add(get_ident()), judge(given))[1])
    asyncio.run(router.adecide(firm("Omega")))
    assert get_ident() not in where


@every
def test_a_threshold_decides(fit: Fit):
    router = fit(records(20))
    score = router.decide(firm("Omega")).score
    assert not router.with_threshold(score).decide(firm("Omega")).retrieve
    assert router.with_threshold(score - 0.01).decide(firm("Omega")).retrieve
    assert router.decide(firm("Omega")).retrieve  # a copy was changed


@every
def test_what_is_saved_is_loaded(fit: Fit, tmp_path: Path):
    router = fit(records(12)).with_threshold(0.125)
    router.save(tmp_path / "router")
    loaded = load_router(tmp_path / "router", model=MODEL, embedder=embedder_of(router))
    assert isinstance(loaded, type(router))
    for question in (firm("Omega"), river("Omega"), "?", "日本"):
        assert loaded.decide(question) == router.decide(question)
    assert (loaded.action, loaded.stamp) == (router.action, STAMP)
    assert loaded.questions == router.questions == set(question_hashes(records(12)))


@every
def test_loaded_for_something_else_it_is_refused(fit: Fit, tmp_path: Path):
    router, path = fit(records(6)), tmp_path / "router"
    router.save(path)
    mine, other = embedder_of(router), ScriptedModel(name="other")
    with pytest.raises(StampMismatch, match="model 'm', not 'other'"):
        load_router(path, model=other, embedder=mine)
    with pytest.raises(StampMismatch, match="retriever 'r', not 'mapping'"):
        load_router(path, model=MODEL, embedder=mine, retriever=MappingRetriever({}))
    with pytest.raises((StampMismatch, InputError), match=r"hashing|give embedder="):
        load_router(path, model=MODEL, embedder=Dense() if mine is None else None)
    forced = load_router(
        path, model=other, embedder=mine, retriever=MappingRetriever({}), force=True
    )
    assert isinstance(forced, type(router))


@every
@pytest.mark.parametrize("lacking", ["action", "threshold", "texts"])
def test_broken_parameters_are_noticed(fit: Fit, lacking: str, tmp_path: Path):
    router, path = fit(records(4)), tmp_path / "router"
    router.save(path)
    saved = SavedRouter.read(path)
    kept = {name: value for name, value in saved.parameters.items() if name != lacking}
    replace(saved, parameters=kept).write(path)
    with pytest.raises(DataError, match="lacks"):
        load_router(path, model=MODEL, embedder=embedder_of(router))


WRONG = [None, -1, 0, 1e308, "x", [], {}, [[]], {"a": 1}, True, "x" * 1000, ["x", None]]


def refused_or_loaded(saved: SavedRouter, path: Path, embedder: object) -> str:
    """Write it, and return what is said of it; empty where it is loaded."""
    saved.write(path)
    try:
        load_router(path, model=MODEL, embedder=embedder)
    except SKRError as error:
        return str(error)
    return ""


@every
def test_any_other_value_is_loaded_or_refused_in_a_line(fit: Fit, tmp_path: Path):
    router, path = fit(records(6)), tmp_path / "router"
    router.save(path)
    saved = SavedRouter.read(path)
    told = [
        refused_or_loaded(
            replace(saved, parameters={**saved.parameters, name: wrong}), path, embedder_of(router)
        )
        for name in saved.parameters
        for wrong in WRONG
    ]
    assert len([each for each in told if each]) > len(told) / 2
    assert not [each for each in told if "\n" in each]


@every
def test_any_other_array_is_loaded_or_refused_in_a_line(fit: Fit, tmp_path: Path):
    router, path = fit(records(6)), tmp_path / "router"
    router.save(path)
    saved = SavedRouter.read(path)
    for name, array in saved.arrays.items():
        for wrong in (
            np.zeros((0,)),
            np.zeros((0, 0), array.dtype),
            array.reshape(-1)[:0],
            np.array("text"),
            np.full(array.shape, np.nan),
            array[..., None],
        ):
            arrays = {**saved.arrays, name: wrong}
            told = refused_or_loaded(replace(saved, arrays=arrays), path, embedder_of(router))
            assert told, (name, wrong)
            assert "\n" not in told


@every
def test_it_learns_more(fit: Fit, tmp_path: Path):
    router, path = fit(records(6)), tmp_path / "router"
    router.save(path)
    loaded = load_router(path, model=MODEL, embedder=embedder_of(router))
    assert isinstance(loaded, QuestionRouter)
    before = router.decide(ship(99)).score
    for each in (router, loaded):
        each.update(ships())
        assert each.questions == set(question_hashes([*records(6), *ships()]))
    after = router.decide(ship(99)).score
    assert after > before
    assert loaded.decide(ship(99)).score == pytest.approx(after)
    router.update([])
    assert router.decide(ship(99)).score == pytest.approx(after)


@every
def test_a_record_replaces_that_of_the_same_question(fit: Fit):
    router = fit([*records(6), *ships()])
    router.update([answered(ship(n).lower(), 1.0, 0.0, stamp=STAMP) for n in range(12)])
    anew = fit([*records(6), *(answered(ship(n), 1.0, 0.0, stamp=STAMP) for n in range(12))])
    if isinstance(router, KNNRouter) and isinstance(anew, KNNRouter):
        anew.k = router.k  # chosen once, when it is fitted
    assert router.decide(ship(99)).score == pytest.approx(anew.decide(ship(99)).score, abs=1e-3)
    assert not router.decide(ship(99)).retrieve


@every
def test_records_of_another_model_are_refused(fit: Fit):
    router = fit(records(6))
    strange = [replace(each, stamp=Stamp(model="other")) for each in records(2)]
    with pytest.raises(StampMismatch, match="'other'"):
        router.update(strange)
    router.update(strange, force=True)


@every
def test_feedback_on_a_direct_answer_teaches(fit: Fit):
    router = fit(records(12))
    before = router.decide(river("Omega")).score
    served = Answer(river("Omega"), "5 m", (), (), Decision(False), (), "known", {})
    router.update([record_of_feedback(served, False, expected_other=1.0, stamp=STAMP)] * 5)
    assert router.decide(river("Omega")).score > before


@every
def test_records_that_teach_nothing_are_refused(fit: Fit):
    with pytest.raises(InputError, match="none were given"):
        fit([])
    mixed = [Record.of("a?", direct=("", 0), single=("", 1)), Record.of("b?", loop=("", 1))]
    with pytest.raises(InputError, match="all hold is nothing"):
        fit(mixed)


def test_retrieving_is_the_action_that_scores_best():
    def some(single: float, loop: float) -> list[Record]:
        return [Record.of("a?", direct=("", 0), single=("", single), loop=("", loop))]

    assert best_action(some(0.5, 1.0)) == "loop"
    assert best_action(some(1.0, 1.0)) == "single"
    decision = KNNRouter.fit(some(0.5, 1.0)).decide("a?")
    assert (decision.retrieve, decision.max_rounds) == (True, None)
