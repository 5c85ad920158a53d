"""BLAS uses one thread inside the block, and as many as before after it; fits run side by side."""

import re
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  # brings a BLAS of its own
from threadpoolctl import threadpool_info

from skr_core.errors import InputError
from skr_learn import SelfKnowledge
from skr_learn.learning import Rows
from skr_learn.learning import threads as module
from skr_learn.learning.threads import one_thread, processors, side_by_side
from skr_learn.routers import CombinedRouter, KNNRouter


def threads() -> list[int]:
    """Of numpy's and scipy's BLAS; another package may bring its own, which nothing here calls."""
    return [
        each["num_threads"]
        for each in threadpool_info()
        if each["user_api"] == "blas" and re.search("numpy|scipy", each["filepath"])
    ]


def test_one_thread_inside_and_as_many_as_before_after() -> None:
    before = threads()
    assert before
    for _ in range(2):
        with one_thread():
            with one_thread():
                assert set(threads()) == {1}
            assert set(threads()) == {1}
        assert threads() == before


class Drawn:
    """An embedder of dense vectors, as those of a model are."""

    name = "drawn"

    def embed(self, texts: Sequence[str]) -> Any:
        vectors = np.array([[len(text), text.count("a"), 1.0] for text in texts], np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    async def aembed(self, texts: Sequence[str]) -> Any:
        return self.embed(texts)


@pytest.mark.parametrize("kind", [KNNRouter, CombinedRouter])
def test_a_router_decides_with_one(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [
        SelfKnowledge.of("What is " + "a" * number, direct=("", number % 2), loop=("", 1))
        for number in range(20)
    ]
    options = {"drafts": False} if kind is CombinedRouter else {}
    router = kind.fit(records, embedder=Drawn(), **options)
    seen: list[int] = []
    products = Rows.products
    monkeypatch.setattr(
        Rows, "products", lambda self, other: (seen.extend(threads()), products(self, other))[1]
    )
    router.decide("What is an abacus?")
    assert set(seen) == {1}


def test_works_meet_where_there_are_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "processors", lambda: 2)
    before, meeting = threads(), threading.Barrier(2, timeout=30)

    def work(number: int) -> tuple[int, set[int]]:
        meeting.wait()  # breaks unless two are there at once
        return number, set(threads())

    works = [lambda number=number: work(number) for number in range(6)]
    assert list(side_by_side(works)) == [(number, {1}) for number in range(6)]
    assert threads() == before


def test_works_may_have_works_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "processors", lambda: 2)
    here: set[str] = set()

    def work(depth: int) -> int:
        here.add(threading.current_thread().name)
        below = [lambda: work(depth - 1)] * 3 if depth else []
        return 1 + sum(side_by_side(below))

    assert list(side_by_side([lambda: work(3)] * 4)) == [40] * 4
    assert len(here) <= 2
    assert threading.current_thread().name not in here


def test_whoever_asks_does_what_nobody_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "processors", lambda: 2)
    begun, released = threading.Event(), threading.Event()

    def long() -> None:
        begun.set()
        assert released.wait(30)

    def asks() -> None:
        assert begun.wait(30)  # the only other thread is busy until the last of these is done
        list(side_by_side([lambda: None, released.set]))

    list(side_by_side([asks, long]))


def test_whoever_has_nothing_to_do_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "processors", lambda: 2)
    meeting = threading.Barrier(2, timeout=30)

    def asks() -> None:
        list(side_by_side([meeting.wait] * 2))

    list(side_by_side([asks, lambda: None]))


@pytest.mark.parametrize("count", [1, 2])
def test_the_first_that_fails_ends_all(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "processors", lambda: count)

    def fails() -> None:
        raise InputError("no record")

    with pytest.raises(InputError, match="no record"):
        list(side_by_side([fails, lambda: None, fails]))
    assert list(side_by_side([])) == []
    assert processors() >= 1
