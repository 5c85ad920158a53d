"""The process that measures: what it costs, how it ends, and what the page says then."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from skr_app.extractive import ExtractiveModel
from skr_app.web.measuring import Tell, measured
from skr_core import Price, Settings
from skr_core.errors import SKRError, StoreError
from skr_core.models.limited import Spending
from skr_store import Store
from tests.processes import PROCESSES
from tests.skr_app.web.conftest import MakePage, pages, served_by, serving, world
from tests.skr_app.web.test_app import TWO_HOPS, ask, client, read

ENDED = "the process that measures was ended from outside"


async def events_of(job: Any) -> list[Any]:
    return [event async for event in measured(job)]


def counting(tell: Tell) -> tuple[int, int]:
    tell({"done": 1, "total": 2})
    return os.getpid(), os.nice(0)


def failing(error: Exception, tell: Tell) -> None:
    raise error


def killed(tell: Tell) -> None:
    tell("begun")
    os.kill(os.getpid(), signal.SIGKILL)


async def test_a_job_is_done_elsewhere_and_gives_way():
    step, (name, (process, niceness)) = await events_of(counting)
    assert step == ("progress", {"done": 1, "total": 2})
    assert name == "result"
    assert process != os.getpid()
    assert niceness > os.nice(0)


@pytest.mark.parametrize(
    ("job", "line"),
    [
        (partial(failing, StoreError("/home/ada/store is read-only")), "^store is read-only$"),
        (partial(failing, KeyError("secret")), "something failed that should not"),
        (killed, ENDED),
    ],
)
async def test_what_fails_is_one_line(job: Any, line: str):
    with pytest.raises(SKRError, match=line):
        await events_of(job)


@contextmanager
def held(folder: Path) -> Iterator[tuple[Settings, Store]]:
    """A system that takes its time to be opened, and says which process waits for it."""
    (folder / "draft").write_text(str(os.getpid()))
    (folder / "draft").rename(folder / "process")
    time.sleep(600)
    with world() as opened:
        yield opened


def waited_for(path: Path) -> int:
    wait_until(path.exists)
    return int(path.read_text())


def is_gone(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


async def test_a_killed_measurement_is_told_and_begun_again(make_page: MakePage, tmp_path: Path):
    page = make_page(opened=partial(held, tmp_path))
    async with client(page) as asking:
        collecting = asyncio.create_task(asking.post("/api/collect", json={}))
        process = await asyncio.to_thread(waited_for, tmp_path / "process")
        for path, other in (("/api/collect", "collection"), ("/api/calibrate", "calibration")):
            told = read((await asking.post(path, json={})).text)
            said = "a collection is under way: wait for it, or stop it where it was begun"
            assert told == [("error", said)], other
        assert "Cincinnati" in (await ask(asking, TWO_HOPS))[-1][1]["answer"]
        os.kill(process, signal.SIGKILL)
        name, line = read((await collecting).text)[-1]
        assert (name, line[: len(ENDED)]) == ("error", ENDED)
        page.calibrating.opened = world
        assert read((await asking.post("/api/collect", json={})).text)[-1][0] == "result"


@pytest.mark.integration
def test_leaving_ends_it(make_page: MakePage, tmp_path: Path):
    with serving(make_page(opened=partial(held, tmp_path))) as url:
        with httpx.stream("POST", f"{url}/api/collect", json={}, timeout=60):
            process = waited_for(tmp_path / "process")
            assert not is_gone(process)
        wait_until(lambda: is_gone(process))
        again = partial(httpx.post, f"{url}/api/calibrate", json={}, timeout=60)
        wait_until(lambda: "too few" in again().text)


@pytest.mark.integration
def test_it_ends_with_the_server(make_page: MakePage, tmp_path: Path):
    page = make_page(opened=partial(held, tmp_path))
    with (
        served_by(page) as (server, url),
        httpx.stream("POST", f"{url}/api/collect", json={}, timeout=60) as answer,
    ):
        process = waited_for(tmp_path / "process")
        server.should_exit = True
        assert "skr serve was ended" in answer.read().decode()
    wait_until(lambda: is_gone(process))


def collect_in(folder: Path) -> None:
    """A server, and a browser that collects."""
    PROCESSES.set_forkserver_preload([])  # for the one that it starts
    with pages(folder) as make:
        page = make(opened=partial(held, folder))

        async def collecting() -> None:
            async with client(page) as asking:
                await asking.post("/api/collect", json={})

        asyncio.run(collecting())


@pytest.mark.integration
@pytest.mark.soak
def test_it_ends_with_a_server_that_is_killed(tmp_path: Path):
    server = PROCESSES.Process(target=collect_in, args=(tmp_path,))
    server.start()
    process = waited_for(tmp_path / "process")
    server.kill()
    server.join()
    wait_until(lambda: is_gone(process))


def wait_until(condition: Any, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


@contextmanager
def priced(spending: Spending) -> Iterator[tuple[Settings, Store]]:
    with world(spending.limit(ExtractiveModel())) as opened:
        yield opened


async def test_what_it_spends_counts_as_the_servers_own(make_page: MakePage):
    spending = Spending(max_spend=1.0, prices={"extractive": Price(0.0, 1_000_000.0)})
    page = make_page(spending.limit(ExtractiveModel()), opened=partial(priced, spending))
    async with client(page) as asking:
        told = read((await asking.post("/api/collect", json={})).text)
        assert told[-1][0] == "error"
        assert "of 1.0000 US dollars are spent" in told[-1][1]
        assert spending.dollars >= 1.0
        assert "dollars" not in str(told[:-1])
        line = (await ask(asking, TWO_HOPS))[-1][1]
        assert "US dollars are spent" in line


async def test_a_router_takes_the_place_of_another_as_a_whole(make_page: MakePage):
    page = make_page(collected=True)
    async with client(page) as asking:
        before = page.system.serving
        asked = asyncio.create_task(ask(asking, TWO_HOPS))
        while not asked.done():
            page.system.serve(page.system.settings)
            await asyncio.sleep(0)
        run = asked.result()[-1][1]
        assert run["id"] not in page.system.serving.routed
        assert page.system.serving is not before
