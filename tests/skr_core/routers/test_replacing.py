"""Beside a writer, and whenever one is killed: the old router whole, or the new one whole."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from skr_core.errors import InputError
from skr_core.files import replace_file, writing
from skr_core.routers.saving import SavedRouter

STEPS = ("open", "fsync", "replace", "sync_folder")


def router(number: int, size: int = 20_000) -> SavedRouter:
    return SavedRouter("knn", {"number": number}, {"all": np.full(size, number)})


def number_in(path: Path) -> int:
    """The number of the one router that is there."""
    saved = SavedRouter.read(path)
    (found,) = {saved.parameters["number"], *saved.arrays["all"].tolist()}
    return int(found)


def failing_at(step: str, fail: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a step of a write fail as it begins."""

    def failing(*_: object, **__: object) -> None:
        fail()

    if step == "open":
        monkeypatch.setattr(Path, "open", failing)
    elif step == "sync_folder":
        monkeypatch.setattr(writing, step, failing)
    else:
        monkeypatch.setattr(writing.os, step, failing)


def in_a_child(work: Callable[[], None]) -> int:
    """The process that does the work and ends."""
    child = os.fork()
    if not child:
        try:
            work()
        finally:
            os._exit(0)
    return child


@pytest.mark.parametrize("step", STEPS)
def test_a_step_that_fails_leaves_one_whole(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "router"
    router(1).write(path)

    def fail() -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        failing_at(step, fail, patched)
        with pytest.raises(InputError, match=r"cannot be written: .* No space left"):
            router(2).write(path)
    assert number_in(path) == (2 if step == "sync_folder" else 1)
    assert os.listdir(tmp_path) == ["router"]


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_a_step_leaves_one_whole(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "router"
    router(1).write(path)

    def killed() -> None:
        failing_at(step, lambda: os._exit(9), monkeypatch)
        router(2).write(path)

    assert os.waitstatus_to_exitcode(os.waitpid(in_a_child(killed), 0)[1]) == 9
    assert number_in(path) == (2 if step == "sync_folder" else 1)
    assert len(os.listdir(tmp_path)) == (2 if step in ("fsync", "replace") else 1)
    router(3).write(path)  # which takes away what the killed one left
    assert number_in(path) == 3
    assert os.listdir(tmp_path) == ["router"]


def test_drafts_of_the_living_and_other_files_stay(tmp_path: Path):
    node = os.uname().nodename
    mine = [
        f".router.{node}-{os.getpid()}-00ff00ff.draft",
        f".router.another-machine-{2**22 - 1}-00ff00ff.draft",
        f".router.{node}-x.draft",
        ".router.draft",
        "router.notes",
    ]
    for name in mine:
        (tmp_path / name).write_text("mine")
    replace_file(tmp_path / "router", b"new")
    assert sorted(os.listdir(tmp_path)) == sorted([*mine, "router"])


@pytest.mark.integration
@pytest.mark.parametrize("kills", [10, pytest.param(50, marks=pytest.mark.soak)])
def test_kills_at_random_moments(kills: int, tmp_path: Path):
    path, draw = tmp_path / "router", random.Random(0)
    router(0).write(path)

    def writing_on() -> None:
        for number in range(1, 10_000):
            router(number, 200_000).write(path)

    last = []
    for turn in range(kills):
        child = in_a_child(writing_on)
        while not turn and not number_in(path):
            time.sleep(0.001)  # one at least is killed after it has written, on a busy machine too
        time.sleep(draw.uniform(0.0, 0.1))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        last.append(number_in(path))
    assert any(last)
    router(1).write(path)
    assert os.listdir(tmp_path) == ["router"]


@pytest.mark.integration
def test_a_reader_beside_two_writers_finds_a_whole_one(tmp_path: Path):
    path = tmp_path / "router"
    router(0).write(path)

    def writing_as(first: int) -> Callable[[], None]:
        def work() -> None:
            for number in range(60):
                router(first + number).write(path)

        return work

    writers = [in_a_child(writing_as(first)) for first in (1_000, 2_000)]
    found, ended = set(), 0
    while ended < len(writers):
        found.add(number_in(path))
        ended += os.waitpid(-1, os.WNOHANG)[0] in writers
    assert number_in(path) in (1_059, 2_059)
    assert len(found) > 1
    assert os.listdir(tmp_path) == ["router"]
