"""An arbiter is saved beside a router, and loaded only for what it was made with."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from skr_core import CandidateAnswer, HashingEmbedder, load_router
from skr_core.errors import DataError, InputError, StampMismatch
from skr_core.routers import NeverRetrieve
from skr_core.routers.saving import (
    ARBITER_ARRAYS_FILE,
    ARBITER_FILE,
    holds_arbiter,
    remove_arbiter,
)
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_core.types import Stamp
from skr_learn import Arbiter, SelfKnowledge
from skr_learn.routers import KNNRouter

pytestmark = pytest.mark.usefixtures("few_trees")

STAMP = Stamp(model="m", retriever="r", metric="contains")
RECORDS = [
    SelfKnowledge.of(
        f"What is {n} plus 1?", direct=(f"{n + 1}", 1), single=("Adam [1].", 0), stamp=STAMP
    )
    for n in range(30)
] + [
    SelfKnowledge.of(
        f"Who led team {n}?", direct=("7", 0), single=(f"Ada {n} [1].", 1), stamp=STAMP
    )
    for n in range(30)
]
ANSWERS = {"direct": CandidateAnswer("42"), "single": CandidateAnswer("Adam.")}


def test_what_is_saved_judges_the_same(tmp_path: Path):
    arbiter = Arbiter.fit(RECORDS)
    arbiter.save(tmp_path)
    loaded = Arbiter.load(tmp_path)
    assert loaded.stamp == STAMP
    assert (loaded.actions, loaded.embedder.name) == (arbiter.actions, arbiter.embedder.name)
    verdict = arbiter.judge("What is 41 plus 1?", ANSWERS)
    assert loaded.judge("What is 41 plus 1?", ANSWERS) == verdict
    assert asyncio.run(loaded.ajudge("What is 41 plus 1?", ANSWERS)) == verdict


def test_router_and_arbiter_share_a_folder(tmp_path: Path):
    router = KNNRouter.fit(RECORDS, embedder=HashingEmbedder())
    router.save(tmp_path)
    assert not holds_arbiter(tmp_path)
    Arbiter.fit(RECORDS).save(tmp_path)
    assert holds_arbiter(tmp_path)
    question = "Who led team 3?"
    assert load_router(tmp_path).decide(question) == router.decide(question)
    remove_arbiter(tmp_path)
    remove_arbiter(tmp_path)
    assert not holds_arbiter(tmp_path)
    assert load_router(tmp_path).decide(question) == router.decide(question)


def test_another_model_or_retriever_is_refused_unless_forced(tmp_path: Path):
    Arbiter.fit(RECORDS).save(tmp_path)
    other = ScriptedModel(name="other")
    with pytest.raises(StampMismatch, match="this arbiter was made with the model 'm', not 'othe"):
        Arbiter.load(tmp_path, model=other)
    with pytest.raises(StampMismatch, match="made with the retriever 'r', not 'mapping'"):
        Arbiter.load(tmp_path, retriever=MappingRetriever({}))
    assert Arbiter.load(tmp_path, model=other, force=True).stamp == STAMP


def test_an_embedder_of_the_users_own_must_be_given(tmp_path: Path):
    class Mine(HashingEmbedder):
        name = "mine"

    Arbiter.fit(RECORDS, embedder=Mine()).save(tmp_path)
    with pytest.raises(InputError, match="this arbiter compares questions by 'mine'"):
        Arbiter.load(tmp_path)
    assert Arbiter.load(tmp_path, embedder=Mine()).embedder.name == "mine"


def test_a_folder_without_an_arbiter_says_so(tmp_path: Path):
    NeverRetrieve().save(tmp_path)
    with pytest.raises(InputError, match="there is no saved arbiter at"):
        Arbiter.load(tmp_path)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (ARBITER_FILE, b"{}", "this is not a saved arbiter"),
        (ARBITER_ARRAYS_FILE, b"torn", "does not belong to the JSON file beside it"),
    ],
)
def test_broken_files_are_told(tmp_path: Path, file: str, content: bytes, message: str):
    Arbiter.fit(RECORDS).save(tmp_path)
    (tmp_path / file).write_bytes(content)
    with pytest.raises(DataError, match=message):
        Arbiter.load(tmp_path)
