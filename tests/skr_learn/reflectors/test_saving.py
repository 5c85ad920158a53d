"""A learned reflector is saved, also beside a router, and loaded only for what it was made with."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from skr_core import HashingEmbedder, Reference, Settings, load_router
from skr_core.errors import DataError, InputError, StampMismatch
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_core.types import Stamp
from skr_learn import Arbiter, LearnedReflector
from skr_learn.routers import KNNRouter
from tests.skr_learn.reflectors.test_learned import record

STAMP = Stamp(model="m", retriever="r", metric="contains")
RECORDS = [replace(record(number), stamp=STAMP) for number in range(120)]
QUESTION, FOUND = "Who led team 7?", [Reference.of("Team 7 was led by Ada 7 for years.")]
DRAFTS = ("Ada 7 [1].", "Ben Frost [1].")


@pytest.fixture(scope="module")
def reflector() -> LearnedReflector:
    return LearnedReflector.fit(RECORDS)


def test_what_is_saved_judges_the_same(reflector: LearnedReflector, tmp_path: Path):
    reflector.save(tmp_path)
    loaded = LearnedReflector.load(tmp_path)
    assert (loaded.stamp, loaded.threshold) == (STAMP, reflector.threshold)
    assert (loaded.name, loaded.embedder.name) == (reflector.name, reflector.embedder.name)
    verdicts = [reflector.reflect(QUESTION, FOUND, draft) for draft in DRAFTS]
    assert [each.sufficient for each in verdicts] == [True, False]
    assert [loaded.reflect(QUESTION, FOUND, draft) for draft in DRAFTS] == verdicts
    assert [asyncio.run(loaded.areflect(QUESTION, FOUND, each)) for each in DRAFTS] == verdicts


def test_what_is_made_with_another_one_is_told_apart(reflector: LearnedReflector):
    other = LearnedReflector.fit(RECORDS[:40])
    model = ScriptedModel()
    versions = {
        Settings.of(model, reflector=each).version for each in (None, reflector, other, reflector)
    }
    assert len(versions) == 3


def test_router_arbiter_and_reflector_share_a_folder(reflector: LearnedReflector, tmp_path: Path):
    router, arbiter = KNNRouter.fit(RECORDS, embedder=HashingEmbedder()), Arbiter.fit(RECORDS)
    router.save(tmp_path)
    reflector.save(tmp_path)
    arbiter.save(tmp_path)
    assert load_router(tmp_path).decide(QUESTION) == router.decide(QUESTION)
    assert Arbiter.load(tmp_path).actions == arbiter.actions
    assert LearnedReflector.load(tmp_path).name == reflector.name


def test_another_model_or_retriever_is_refused_unless_forced(
    reflector: LearnedReflector, tmp_path: Path
):
    reflector.save(tmp_path)
    other, library = ScriptedModel(name="other"), MappingRetriever({})
    with pytest.raises(StampMismatch, match="this reflector was made with the model 'm', not 'ot"):
        LearnedReflector.load(tmp_path, model=other)
    with pytest.raises(StampMismatch, match="made with the retriever 'r', not 'mapping'"):
        Settings.of(ScriptedModel(name="m"), library, reflector=tmp_path)
    assert LearnedReflector.load(tmp_path, model=other, force=True).stamp == STAMP


def test_a_folder_without_a_reflector_says_so(tmp_path: Path):
    with pytest.raises(InputError, match="there is no saved reflector at"):
        LearnedReflector.load(tmp_path)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("reflector.json", b"{}", "this is not a saved reflector"),
        ("reflector.npz", b"torn", "does not belong to the JSON file beside it"),
    ],
)
def test_broken_files_are_told(
    reflector: LearnedReflector, tmp_path: Path, file: str, content: bytes, message: str
):
    reflector.save(tmp_path)
    (tmp_path / file).write_bytes(content)
    with pytest.raises(DataError, match=message):
        LearnedReflector.load(tmp_path)
