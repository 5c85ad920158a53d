"""A search sees its own scope alone, whichever index holds the passages."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from skr_core import HashingEmbedder, Reference
from skr_core.errors import InputError
from skr_store import Store, vectors

DRAW = random.Random(5)
WORDS = [f"word{number}" for number in range(60)]


def passages_of(tenant: str, number: int) -> list[Reference]:
    return [
        Reference.of(" ".join(DRAW.choices(WORDS, k=8)), f"{tenant} {n}") for n in range(number)
    ]


@pytest.mark.parametrize("search", ["bm25", "dense", "hybrid"])
def test_no_passage_crosses(search, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(vectors, "EXACT", 50)
    monkeypatch.setattr(vectors, "BEHIND", 50)
    with Store.open(tmp_path, embedder=HashingEmbedder(), search=search, k=5) as store:
        views = {name: store.in_scope(name) for name in ("one", "two")}
        for name, view in views.items():
            view.add(passages_of(name, 100))
        store.backend.words.catch_up(1)
        for name, view in views.items():
            view.add(passages_of(name, 20))  # not in the indexes yet

        async def awaited(view, query):
            return await view.aretrieve(query)

        for _ in range(150):
            query = " ".join(DRAW.choices(WORDS, k=4))
            for name, view in views.items():
                found = view.retrieve(query)
                assert len(found) == 5
                assert {each.title.split()[0] for each in found} == {name}
            assert asyncio.run(awaited(view, query)) == found
            assert store.retrieve(query) == []


def test_the_same_content_stands_once_in_each_scope():
    same = Reference.of("Paris is in France.", "Paris", metadata={"source": "a.txt"})
    with Store.ephemeral() as store:
        assert [store.add([same], scope=scope) for scope in ("a", "b", "a", "shared")] == [
            1,
            1,
            0,
            1,
        ]
        assert (store.count(), store.count("a")) == (3, 1)
        assert [each.scope for each in store.sources()] == ["a", "b", "shared"]
        assert store.delete("a.txt", scope="a") == 1
        assert store.in_scope("a").retrieve("Paris") == []
        assert store.in_scope("b").retrieve("Paris")[0].id == same.id
        assert store.delete("a.txt", scope=None) == 2
        assert store.count() == 0
        assert store.in_scope("b").add([same]) == store.add([same]) == 1
        assert (store.clear("b"), store.count()) == (1, 1)
        with pytest.raises(InputError, match="scope is blank"):
            store.in_scope(" ")


def test_what_has_a_time_to_live_is_forgotten(monkeypatch: pytest.MonkeyPatch):
    now = 1_000_000.0
    monkeypatch.setattr("time.time", lambda: now)
    short, long = Reference.of("A short memory."), Reference.of("A long memory.")
    with Store.ephemeral() as store:
        store.add([short, long], ttl=60)
        store.add([long])  # now it is kept
        assert len(store.retrieve("memory")) == 2
        now += 61
        assert [each.id for each in store.retrieve("memory")] == [long.id]
        assert store.count() == 1
        store.add([Reference.of("Another.", metadata={"source": "a.txt"})])
        store.add([Reference.of("A third.", metadata={"source": "b.txt"})], ttl=1)
        now += 2
        store.add([long])
        assert [each.name for each in store.sources()] == ["", "a.txt"]
        assert store.add([short]) == 1
        with pytest.raises(InputError, match="ttl"):
            store.add([short], ttl=0)
