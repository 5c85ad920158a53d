"""Two who write the same at the same time: each whole, or one of them refused in one line."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import orjson
import pytest

from skr_app.main import main
from skr_app.report import RunFolder
from skr_core.errors import InputError, StampMismatch
from skr_learn.figures import save
from tests.integration.power_works import RecordsWritten, Replaced, Router
from tests.servers import OpenAIServer
from tests.skr_app import conftest
from tests.skr_app.conftest import Skr

pytestmark = pytest.mark.integration
skr, corpus = conftest.skr, conftest.corpus

FORKED = multiprocessing.get_context("fork")


class Drawn(Replaced):
    """A drawing; its number is what its text says."""

    def write(self, path: Path, number: int) -> None:
        save(lambda figure: figure.text(0, 0, f"number {number}"), 1.0, path)

    def read(self, path: Path) -> int:
        text = path.read_text()
        assert text.rstrip().endswith("</svg>")
        return int(text.partition(">number ")[2].partition("<")[0])


NAMES: dict[str, Callable[[], Replaced]] = {
    "file": Replaced,
    "router.skr": Router,
    "records.jsonl": RecordsWritten,
    "records.jsonl.gz": RecordsWritten,
    "curve.svg": Drawn,
}


def look(name: str, path: Path, looks: int) -> None:
    """Read a file as often as two others replace it."""
    work, ended = NAMES[name](), FORKED.Event()
    work.write(path, 0)

    def write_on(number: int) -> None:
        while not ended.is_set():
            work.write(path, number)

    writers = [FORKED.Process(target=write_on, args=(number,)) for number in (1, 2)]
    for each in writers:
        each.start()
    found: list[int] = []
    try:
        while len(found) < looks or len(set(found[-looks:])) < 2:
            found.append(work.read(path))
    finally:
        ended.set()
        for each in writers:
            each.join()
    assert {each.exitcode for each in writers} == {0}
    assert [each.name for each in path.parent.iterdir()] == [name]
    print(f"{name}: {len(found)} looks, 0 half or mixed")  # noqa: T201


@pytest.mark.parametrize("name", NAMES)
def test_a_reader_finds_it_whole(name: str, tmp_path: Path):
    look(name, tmp_path / name, 60)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", NAMES)
def test_a_reader_finds_it_whole_nine_thousand_times(name: str, tmp_path: Path):
    look(name, tmp_path / name, 9_000)


def open_run(path: Path, model: str, opened: Any, told: Any) -> None:
    opened.wait()
    try:
        with RunFolder(path, {"model": model}):
            told.put((model, "kept"))
            opened.wait()  # until the other has been told
    except InputError as error:
        told.put((model, type(error).__name__))
        opened.wait()


@pytest.mark.parametrize("turn", range(5))
def test_two_runs_of_other_models_are_never_one(turn: int, tmp_path: Path):
    opened, told = FORKED.Barrier(2), FORKED.Queue()
    path = tmp_path / "run"
    both: list[BaseProcess] = [
        FORKED.Process(target=open_run, args=(path, model, opened, told))
        for model in ("large", "small")
    ]
    for each in both:
        each.start()
    said = dict([told.get(timeout=60), told.get(timeout=60)])
    for each in both:
        each.join()
    (kept,) = (model for model, what in said.items() if what == "kept")
    assert sorted(said.values()) == ["InputError", "kept"]
    assert orjson.loads((path / "run.json").read_bytes()) == {"model": kept}
    RunFolder(path, {"model": kept}).close()
    with pytest.raises(StampMismatch):
        RunFolder(path, {"model": "another"})


def command_of(words: list[str], said: Path) -> None:
    """Run a command in a process of its own."""
    sys.argv = ["skr", *words]
    with said.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
    main()


def rows(path: Path) -> list[Any]:
    return sorted((orjson.loads(line) for line in path.read_bytes().splitlines()), key=str)


@pytest.mark.parametrize("command", ["collect", "evaluate"])
def test_the_second_command_is_refused_in_one_line(
    command: str, skr: Skr, corpus: Path, tmp_path: Path
):
    asked = tmp_path / "asked.jsonl"
    asked.write_bytes(
        b"".join(
            orjson.dumps({"question": f"Where was engineer {n} born?", "answers": [f"Port {n}"]})
            + b"\n"
            for n in range(4)
        )
    )
    store, out = tmp_path / "store", tmp_path / "out"
    assert skr("ingest", corpus, "--store", store).code == 0
    file = out / "answers.jsonl" if command == "evaluate" else out

    with OpenAIServer(lambda _: "SUFFICIENT\nPort 1 [1].", together=2) as server:
        words = [command, asked, "--store", store, "--model", "openai:m"]
        words += ["--base-url", server.url, "--out", out, "--concurrency", "1"]
        said = tmp_path / "said.txt"
        first = FORKED.Process(target=command_of, args=([*map(str, words)], said))
        first.start()
        while not (file.exists() and server.calls) and first.is_alive():
            time.sleep(0.01)
        second = skr(*words)  # while the first waits for its reply
        server.together = 1
        first.join(120)
        errors = said.read_text()
    assert second.code == 2
    assert " ".join(second.err.split()).endswith(
        f"{file.name}: another process is writing to this file: end it, or name another file"
    )
    assert first.exitcode == 0, errors
    assert "Traceback" not in errors + second.err
    keys = [each["key"] for each in rows(file)]
    assert len(keys) == len(set(keys)) > 3
