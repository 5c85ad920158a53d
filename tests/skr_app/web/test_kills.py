"""A server killed while it is asked and voted on: what it acknowledged is kept, once and whole."""

from __future__ import annotations

import random
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from skr_app.web import Runs
from skr_core import Generation, Prompt
from tests.processes import PROCESSES
from tests.skr_app.web.conftest import pages, serving

pytestmark = pytest.mark.integration


class Echo:
    """Answers with the question, so that whose answer it is can be told."""

    name = "echo"

    def generate(self, prompt: Prompt, *, on_token: Any = None) -> Generation:
        return Generation(f"Answer to {prompt.question}")

    async def agenerate(self, prompt: Prompt, *, on_token: Any = None) -> Generation:
        return self.generate(prompt)


def serve(folder: Path) -> None:
    """Serve until the kill; the address is in a file."""
    with pages(folder / "page") as make, serving(make(Echo())) as url:
        (folder / "draft").write_text(url)
        (folder / "draft").rename(folder / "address")
        threading.Event().wait()


@contextmanager
def served(folder: Path) -> Iterator[tuple[BaseProcess, str]]:
    (folder / "address").unlink(missing_ok=True)
    process = PROCESSES.Process(target=serve, args=(folder,))
    process.start()
    try:
        while not (folder / "address").exists():
            assert process.is_alive()
            time.sleep(0.01)
        yield process, (folder / "address").read_text()
    finally:
        process.kill()
        process.join()


class Asked:
    """What browsers did, and what they were told was done."""

    def __init__(self) -> None:
        self.numbers = count()
        self.runs: dict[str, str] = {}
        self.begun: dict[str, list[bool | None]] = defaultdict(list)
        self.votes: dict[str, int] = defaultdict(int)

    def browse(self, url: str, draw: random.Random) -> None:
        """Ask and vote until the server is gone."""
        try:
            with httpx.Client(base_url=url, timeout=60) as browser:
                while True:
                    question = f"Who is number {next(self.numbers)}?"
                    body = {"question": question, "action": "direct"}
                    told = browser.post("/api/questions", json=body).text.strip()
                    key = orjson.loads(told.rpartition("data: ")[2])["id"]
                    self.runs[key] = question
                    for _ in range(draw.randrange(3)):
                        right = draw.choice((True, False, None))
                        self.begun[key].append(right)
                        path = f"/api/runs/{key}/vote"
                        assert browser.put(path, json={"right": right}).json() == {"right": right}
                        self.votes[key] = len(self.begun[key])
        except (httpx.TransportError, orjson.JSONDecodeError):
            return

    def check(self, folder: Path) -> tuple[int, int]:
        """Nothing acknowledged is lost, nothing is mixed or twice; gives how many there are."""
        with Runs(folder) as kept:
            lines = (folder / "runs.jsonl").read_bytes().splitlines()
            rows = [orjson.loads(line) for line in lines]
            keys = {row["key"] for row in rows}
            assert len(rows) == len(keys) == len({row["output"]["question"] for row in rows})
            assert self.runs.keys() <= keys
            for key in keys:
                run = kept.one(key)
                assert run["answer"] == f"Answer to {run['question']}"
                assert run["question"] == self.runs.get(key, run["question"])
                # A vote that was not acknowledged may have been kept, and counts then.
                begun, told = self.begun[key], self.votes[key]
                possible = [*begun[max(0, told - 1) :], *([] if told else [None])]
                assert run["right"] in possible
        return len(keys), sum(self.votes.values())


@pytest.mark.parametrize(
    "kills", [3, pytest.param(50, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])]
)
def test_kills_at_random_moments(kills: int, tmp_path: Path):
    asked, draw, found = Asked(), random.Random(0), (0, 0)
    for turn in range(kills):
        with served(tmp_path) as (process, url), ThreadPoolExecutor(3) as browsers:
            draws = [random.Random(draw.random()) for _ in range(3)]
            browsing = [browsers.submit(asked.browse, url, each) for each in draws]
            before = len(asked.votes)
            while turn % 2 == 0 and len(asked.votes) == before:
                time.sleep(0.01)  # these are killed after they have acknowledged something
            time.sleep(draw.uniform(0.0, 0.5))
            process.kill()
            for each in browsing:
                each.result()
        found = asked.check(tmp_path / "page")
    assert min(found) > 0
    told = f"{kills} killed: {len(asked.runs)} answers told of {found[0]} kept, {found[1]} votes"
    print(told)  # noqa: T201
