"""Killed at random moments and started again: nothing lost, nothing twice, the same results."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterable
from multiprocessing.process import BaseProcess
from pathlib import Path

import orjson
import pytest

from tests.integration.killed import WORKS, work
from tests.processes import PROCESSES

pytestmark = pytest.mark.integration

QUESTIONS_AGAIN = {"collect": 2, "collect with a cache": 2, "collect on Ray": 2}
"""Under way at a time, whose calls may be made again; else one."""

CALLS_AGAIN = {"graph": 1, "graph awaited": 1, "collect with a cache": 2}
"""At most; else those of the questions."""

JOURNALS = ("records.jsonl", "run/answers.jsonl")


def start(name: str, folder: Path) -> BaseProcess:
    folder.mkdir(exist_ok=True)
    process = PROCESSES.Process(target=work, args=(name, folder))
    process.start()
    return process


def finish(name: str, folder: Path) -> str:
    said = folder / "said.txt"
    said.unlink(missing_ok=True)
    process = start(name, folder)
    process.join(120)
    assert process.exitcode == 0
    return said.read_text()


def calls_of(folder: Path) -> Counter[str]:
    lines = (folder / "asked.txt").read_text().splitlines()
    return Counter(line for line in lines if not line.startswith("answered"))


def question_of(call: str) -> str:
    return call.split(maxsplit=2)[2]


def acknowledged(folder: Path) -> set[str]:
    """Questions whose answer was given out, or is on record."""
    lines = (folder / "asked.txt").read_text().splitlines()
    given = {question_of(line) for line in lines if line.startswith("answered")}
    records = written(folder).get("records.jsonl", b"").splitlines()
    return given | {orjson.loads(record)["question"] for record in records}


def written(folder: Path) -> dict[str, bytes]:
    """What each journal acknowledges: its whole lines."""
    found = {name: folder / name for name in JOURNALS if (folder / name).exists()}
    data = {name: path.read_bytes() for name, path in found.items()}
    return {name: each[: each.rfind(b"\n") + 1] for name, each in data.items()}


def tear(folder: Path, journals: Iterable[str]) -> None:
    """Leave half a line: a kill in the middle of one."""
    for name in journals:
        with (folder / name).open("ab") as file:
            file.write(b'{"key": "half')


def kill(name: str, times: int, tmp_path: Path, again_and_again: int = 1) -> None:
    """Each of the runs is killed, from its first call on, and started again.

    The first waits for it in the middle, so that one at least is killed whatever the machine does.

    Args:
        name: The work.
        times: The number of runs.
        tmp_path: Where they work.
        again_and_again: How often each is killed until it may end.
    """
    expected = finish(name, tmp_path / "whole")
    asked = calls_of(tmp_path / "whole")
    draw = random.Random(5)
    killed, again = 0, []
    for turn in range(times):
        folder = tmp_path / str(turn)
        folder.mkdir()
        seen = []
        for _ in range(again_and_again):
            killed += start_and_kill(name, folder, draw, is_held=not turn)
            seen.append((written(folder), acknowledged(folder), calls_of(folder)))
            tear(folder, seen[-1][0])
        assert finish(name, folder) == expected
        made = calls_of(folder)
        for kept, done, before in seen:
            for journal, lines in kept.items():
                assert (folder / journal).read_bytes().startswith(lines)
            assert not {question_of(call) for call in made - before} & done
        repeated = made - asked
        assert max(repeated.values(), default=0) <= again_and_again, repeated
        questions = {question_of(call) for call in repeated}
        assert len(questions) <= QUESTIONS_AGAIN.get(name, 1) * again_and_again
        assert repeated.total() <= CALLS_AGAIN.get(name, repeated.total()) * again_and_again
        again.append(repeated.total())
        before = calls_of(folder)
        assert finish(name, folder) == expected  # and a whole one is left as it is
        assert calls_of(folder) == before
        if name.startswith("collect"):
            rows = (folder / "records.jsonl").read_bytes().splitlines()
            keys = [orjson.loads(line)["key"] for line in rows]
            assert len(keys) == len(set(keys)) == 6
    assert killed
    repeats = dict(sorted(Counter(again).items()))
    print(  # noqa: T201
        f"{name}: {killed} of {times * again_and_again} killed, 0 lost, 0 mixed; "
        f"calls made again: {repeats}"
    )


def start_and_kill(name: str, folder: Path, draw: random.Random, *, is_held: bool) -> bool:
    """Start a work and kill it, while it waits for that or at any moment."""
    last, held = folder / "last.txt", folder / "held.txt"
    begun = folder / ("store/store.sqlite3" if name == "ingest" else "asked.txt")
    if is_held:
        last.write_text(str(draw.randint(2, 12) if name != "collect on Ray" else 2))
    process = start(name, folder)
    while process.is_alive() and not (held if is_held else begun).exists():
        time.sleep(0.002)
    if not is_held:
        time.sleep(2 * draw.uniform(0, 0.5) ** 2)  # most of them soon
    process.kill()
    process.join()
    last.unlink(missing_ok=True)
    held.unlink(missing_ok=True)
    return process.exitcode == -9


LONG = ("graph by default", "graph awaited by default", "collect on Ray", "experiment")


@pytest.mark.parametrize("name", [name for name in WORKS if name not in LONG])
def test_two_kills(name: str, tmp_path: Path):
    kill(name, 2, tmp_path)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", WORKS)
def test_fifty_kills(name: str, tmp_path: Path):
    kill(name, 10 if name == "collect on Ray" else 50, tmp_path)  # a Ray takes long to start


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", ["collect", "evaluate", "experiment"])
def test_ten_that_are_killed_five_times(name: str, tmp_path: Path):
    kill(name, 10, tmp_path, again_and_again=5)
