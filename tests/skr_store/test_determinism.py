"""The same store finds the same for the same question: sync and async, after every opening."""

from __future__ import annotations

import asyncio
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import get_args

import pytest

from skr_core import HashingEmbedder, Reference
from skr_store import Store
from skr_store.folder import SearchMode

DRAW = random.Random(7)
WORDS = [f"word{number}" for number in range(400)]
PASSAGES = [
    Reference.of(" ".join(DRAW.choices(WORDS, k=12)), f"Title {n % 300}") for n in range(1500)
]
QUESTIONS = [" ".join(DRAW.choices(WORDS, k=4)) for _ in range(150)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store")
    batches = [PASSAGES[:700], PASSAGES[700:1350], PASSAGES[1350:1353], PASSAGES[1353:]]
    with Store.open(path, embedder=HashingEmbedder()) as store:
        for batch in batches:
            store.add(batch)
    return path


def in_threads(store: Store) -> list[list[Reference]]:
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(store.retrieve, QUESTIONS))


def awaited(store: Store) -> list[list[Reference]]:
    async def search() -> list[list[Reference]]:
        return await asyncio.gather(*map(store.aretrieve, QUESTIONS))

    return asyncio.run(search())


@pytest.mark.parametrize("search", get_args(SearchMode))
def test_every_opening_finds_the_same_in_both_forms(folder: Path, search: SearchMode):
    found = []
    for ask in (in_threads, awaited, in_threads):
        with Store.open(folder, search=search) as store:
            found.append(ask(store))
    assert found[0] == found[1] == found[2]
    assert all(len(each) == 10 for each in found[0])


def test_two_stores_of_the_same_references_find_the_same(tmp_path: Path):
    found = []
    for name, passages in [("one", PASSAGES), ("other", DRAW.sample(PASSAGES, len(PASSAGES)))]:
        with Store.open(tmp_path / name) as store:
            store.add(passages)
        with Store.open(tmp_path / name) as store:  # all are in the index
            found.append(in_threads(store))
    assert found[0] == found[1]


async def test_both_forms_at_once_do_not_wait_for_each_other_for_ever(folder: Path):
    with Store.open(folder, search="bm25") as store:
        blocking = [asyncio.to_thread(store.retrieve, each) for each in QUESTIONS[:40]]
        awaiting = [store.aretrieve(each) for each in QUESTIONS[:40]]
        found = await asyncio.wait_for(asyncio.gather(*blocking, *awaiting), 60)
    assert found[:40] == found[40:]


async def test_a_cancelled_question_leaves_the_store_usable(folder: Path):
    with Store.open(folder, search="bm25") as store:
        tasks = [asyncio.create_task(store.aretrieve(each)) for each in QUESTIONS[:20]]
        await asyncio.sleep(0.02)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert len(await asyncio.wait_for(store.aretrieve(QUESTIONS[0]), 60)) == 10


@pytest.mark.parametrize("embedder", [None, HashingEmbedder()])
def test_a_store_that_is_only_searched_is_never_made_again(
    embedder: HashingEmbedder | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    with Store.open(tmp_path, embedder=embedder) as store:
        store.add(PASSAGES[:30])
    for _ in range(4):
        with Store.open(tmp_path, embedder=embedder) as store:
            assert store.retrieve(QUESTIONS[0])
    assert not caplog.records
