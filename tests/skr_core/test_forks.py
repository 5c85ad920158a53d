"""A forked child begins anew what is of its parent's, whatever its parent's threads do."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from skr_core._compat import cached_property
from skr_core.errors import InputError, StoreError
from skr_core.files.writing import KeyedLog
from skr_core.forks import OfProcess, renew_in_children, renew_no_more
from skr_core.models.limited import Spending
from skr_core.routers import AlwaysRetrieve, NeverRetrieve, load_router
from skr_core.testing import ScriptedModel
from skr_core.types import Prompt
from skr_learn.reply_cache import ReplyCache
from tests.forking import in_child

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


class Told(OfProcess):
    def __init__(self) -> None:
        self.told: list[str] = []

    def hold(self) -> None:
        self.told.append("hold")

    def resume(self) -> None:
        self.told.append("resume")

    def forget(self) -> None:
        self.told.append("forget")


def test_a_holder_is_told_on_both_sides_until_it_is_closed() -> None:
    told = Told()
    renew_in_children(told)

    def look() -> None:
        assert told.told == ["hold", "forget"]

    assert in_child(look) == 0
    assert told.told == ["hold", "resume"]
    renew_no_more(told)
    assert in_child(lambda: None) == 0
    assert told.told == ["hold", "resume"]


class Slow:
    def __init__(self) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()

    @cached_property
    def value(self) -> int:
        self.begun.set()
        self.go_on.wait(60)
        return 7


@pytest.fixture
def in_the_middle() -> Iterator[Slow]:
    slow = Slow()
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    assert slow.begun.wait(60)
    yield slow
    slow.go_on.set()
    thread.join(60)


def test_a_property_that_another_thread_computes_is_computed_in_a_child(in_the_middle: Slow):
    def look() -> None:
        other = Slow()
        other.go_on.set()
        assert other.value == 7
        assert vars(other)["value"] == 7

    assert in_child(look) == 0


def test_a_child_writes_to_no_log_of_its_parent_and_leaves_its_lock(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with KeyedLog(path) as log:

        def append() -> None:
            with pytest.raises(StoreError, match="by the process that this one was forked from"):
                log.append([{"key": "child"}])
            log.close()

        assert in_child(append) == 0
        log.append([{"key": "parent"}])
        with pytest.raises(InputError, match="another process is writing"):
            KeyedLog(path)
    with KeyedLog(path) as log:
        assert [*log.rows] == ["parent"]


def test_a_reply_cache_is_used_on_both_sides_while_a_thread_writes(tmp_path: Path) -> None:
    stop = threading.Event()
    with ReplyCache(tmp_path / "replies.sqlite") as cache:

        def write() -> None:
            while not stop.is_set():
                cache.put("busy", "value")

        def work(name: str) -> None:
            cache.put(name, "its own")
            assert cache.get(name) == "its own"

        thread = threading.Thread(target=write)
        thread.start()
        try:
            assert [in_child(lambda name=name: work(name)) for name in "abcdef"] == [0] * 6  # type: ignore[misc]
        finally:
            stop.set()
            thread.join(60)
        assert [cache.get(name) for name in ("a", "f", "busy")] == ["its own", "its own", "value"]
    assert cache.get("a") is None  # closed stays closed
    assert in_child(lambda: cache.put("closed", "value")) == 0


@pytest.mark.timeout(60)
def test_a_child_takes_up_a_router_while_its_parent_reads_one(tmp_path: Path) -> None:
    NeverRetrieve().save(tmp_path / "router")
    router = load_router(tmp_path / "router", reload=True)
    AlwaysRetrieve().save(tmp_path / "router")

    def look() -> None:
        assert router.decide("Who?").retrieve

    with router._loading, router._remembering:  # type: ignore[attr-defined]
        assert in_child(look) == 0
        assert not router.decide("Who?").retrieve
    assert router.decide("Who?").retrieve


def test_a_router_that_follows_its_file_comes_out_of_a_pickle(tmp_path: Path) -> None:
    NeverRetrieve().save(tmp_path / "router")
    router = pickle.loads(pickle.dumps(load_router(tmp_path / "router", reload=True)))
    AlwaysRetrieve().save(tmp_path / "router")
    assert router.decide("Who?").retrieve


def test_a_child_spends_for_itself() -> None:
    spending = Spending(max_calls=2)
    model = spending.limit(ScriptedModel(["Paris."]))
    prompt = Prompt("answer_directly", "Capital of France?", "Capital of France?")
    model.generate(prompt)
    with spending._lock:
        assert in_child(lambda: model.generate(prompt)) == 0
    model.generate(prompt)
