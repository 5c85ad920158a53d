"""What all routers that learn from records promise: saving, loading, learning more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from skr_core import Answer, Decision, HashingEmbedder, load_router
from skr_core.errors import DataError, InputError, StampMismatch
from skr_core.routers import AlwaysRetrieve, NeverRetrieve
from skr_core.routers.saving import ROUTER_FILE
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_core.types import Stamp
from skr_learn import SelfKnowledge, record_of_feedback
from skr_learn.routers import ClassifierRouter, CombinedRouter, KNNRouter
from skr_learn.routers.fitted import FittedRouter
from tests.skr_learn.routers.facts import STAMP, answered, firm, records, river

MODEL = ScriptedModel(["I don't know."], name="m")


class Dense:
    """An embedder of the user's own."""

    name = "dense"

    def embed(self, texts):
        return HashingEmbedder().embed(texts)

    async def aembed(self, texts):
        return self.embed(texts)


Fit = Callable[[Sequence[SelfKnowledge]], FittedRouter]
FITS: dict[str, Fit] = {
    "paper": KNNRouter.fit,
    "benefit": lambda some: KNNRouter.fit(some, rule="benefit"),
    "dense": lambda some: KNNRouter.fit(some, embedder=Dense()),
    "classifier": ClassifierRouter.fit,
    "combined": lambda some: CombinedRouter.fit(some, model=MODEL, price=0.0),
    "combined-question": lambda some: CombinedRouter.fit(some, drafts=False, price=0.0),
}
every = pytest.mark.parametrize("fit", FITS.values(), ids=FITS)


def embedder_of(router: FittedRouter):
    return router.embedder if isinstance(router.embedder, Dense) else None


@every
def test_knows_what_it_was_taught(fit: Fit):
    router = fit(records(20))
    assert router.decide(firm("Omega")).retrieve
    if not router.drafts:  # the model of the drafts says that it knows nothing
        assert not router.decide(river("Omega")).retrieve


@every
def test_what_is_saved_is_loaded(fit: Fit, tmp_path: Path):
    router = fit(records(12))
    router.save(tmp_path)
    loaded = load_router(tmp_path, model=MODEL, embedder=embedder_of(router))
    for question in (firm("Omega"), river("Omega"), "?", "日本"):
        mine, theirs = router.decide(question), loaded.decide(question)
        assert (mine.retrieve, mine.neighbours) == (theirs.retrieve, theirs.neighbours)
        assert mine.score == pytest.approx(theirs.score, abs=1e-5)


@every
def test_loaded_for_something_else_it_is_refused(fit: Fit, tmp_path: Path):
    router = fit(records(6))
    router.save(tmp_path)
    mine = embedder_of(router)
    other = Dense() if mine is None else None
    with pytest.raises(StampMismatch, match="model 'm', not 'other'"):
        load_router(tmp_path, model=ScriptedModel(name="other"), embedder=mine)
    with pytest.raises(StampMismatch, match="retriever 'r', not 'mapping'"):
        load_router(tmp_path, model=MODEL, embedder=mine, retriever=MappingRetriever({}))
    with pytest.raises((StampMismatch, InputError), match=r"hashing|give embedder="):
        load_router(tmp_path, model=MODEL, embedder=other)
    forced = load_router(
        tmp_path,
        model=ScriptedModel(name="other"),
        embedder=mine,
        retriever=MappingRetriever({}),
        force=True,
    )
    assert isinstance(forced, type(router))


@every
def test_learns_more_without_the_old_records(fit: Fit, tmp_path: Path):
    fit(records(6)).save(tmp_path)
    router = fit(records(6))
    loaded = load_router(tmp_path, model=MODEL, embedder=embedder_of(router))
    assert isinstance(loaded, FittedRouter)
    ships = [answered(f"Which captain sailed ship {n}?", 0.0, 1.0, stamp=STAMP) for n in range(12)]
    before = loaded.decide("Which captain sailed ship 99?").score
    loaded.update(ships)
    after = loaded.decide("Which captain sailed ship 99?").score
    assert after > before
    router.update(ships)
    assert router.decide("Which captain sailed ship 99?").score == pytest.approx(after, abs=1e-5)
    router.update([])
    assert router.decide("Which captain sailed ship 99?").score == pytest.approx(after, abs=1e-5)


@every
def test_records_of_another_model_are_refused(fit: Fit):
    router = fit(records(6))
    strange = [replace(each, stamp=Stamp(model="other")) for each in records(2)]
    with pytest.raises(StampMismatch, match="'other'"):
        router.update(strange)
    router.update(strange, force=True)


@every
def test_many_questions_at_once_score_as_one_by_one(fit: Fit):
    from skr_learn.learning import Observed, Signals

    router = fit(records(10))
    seen = [Observed(question, "I don't know.") for question in (firm("Omega"), river("Omega"))]
    together = router.scores(Signals.of(seen, router.embedder, drafts=router.drafts))
    alone = [router.decide(each.question).score for each in seen]
    assert together.tolist() == pytest.approx(alone)


@every
def test_no_records_are_an_error(fit: Fit):
    with pytest.raises(InputError, match="none were given"):
        fit([])


@every
def test_broken_parameters_are_noticed(fit: Fit, tmp_path: Path):
    router = fit(records(4))
    router.save(tmp_path)
    file = tmp_path / ROUTER_FILE
    file.write_text(file.read_text().replace('"price"', '"prize"'))
    with pytest.raises(DataError, match="lacks"):
        load_router(tmp_path, model=MODEL, embedder=embedder_of(router))


@every
def test_awaited_it_decides_the_same(fit: Fit):
    router = fit(records(6))
    assert asyncio.run(router.adecide(firm("Omega"))) == router.decide(firm("Omega"))


def test_no_pickle_is_in_a_routers_files(tmp_path: Path):
    for name, fit in FITS.items():
        fit(records(4)).save(tmp_path / name)
        with np.load(tmp_path / name / "arrays.npz", allow_pickle=False) as arrays:
            assert all(not arrays[each].dtype.hasobject for each in arrays.files)


@pytest.mark.parametrize("constant", [AlwaysRetrieve, NeverRetrieve])
def test_constant_policies_are_saved_too(constant: type, tmp_path: Path):
    constant().save(tmp_path)
    assert isinstance(load_router(tmp_path, model=MODEL), constant)
    other = NeverRetrieve if constant is AlwaysRetrieve else AlwaysRetrieve
    with pytest.raises(InputError, match="router"):
        other.load(tmp_path)


@every
def test_feedback_on_a_direct_answer_teaches(fit: Fit):
    router = fit(records(12))
    if router.drafts:
        return  # the model of the drafts says the same to every question
    question = river("Omega")
    before = router.decide(question).score
    served = Answer(question, "5 m", (), (), Decision(False), (), "known", {})
    wrong = [record_of_feedback(served, False, expected_other=1.0, stamp=STAMP)] * 5
    router.update(wrong)
    assert router.decide(question).score > before
