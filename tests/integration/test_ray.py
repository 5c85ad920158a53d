"""Collecting on Ray: workers of a real cluster, and a real server that plays the model."""

from __future__ import annotations

import os
import runpy
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import psutil
import pytest

from skr_core.errors import BudgetError, DataError, EngineError, InputError, MissingDependency
from skr_learn import RayWorkers, Record, Records, collect
from tests.integration.ray_work import (
    QUESTIONS,
    SECRET,
    Made,
    double,
    end,
    fail,
    judging,
    system,
)
from tests.servers import OpenAIServer
from tests.skr_app import conftest
from tests.skr_app.conftest import Skr

pytestmark = pytest.mark.integration
ROOT = Path(__file__).resolve().parents[2]
skr, corpus = conftest.skr, conftest.corpus


@pytest.fixture(scope="module")
def ray() -> Iterator[RayWorkers]:
    """Two workers of a Ray that is started here."""
    pytest.importorskip("ray")
    with RayWorkers(count=2) as workers:
        yield workers


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    path = tmp_path / "asked.jsonl"
    rows = [
        {"question": "Who directed the film Jaws?", "answers": ["Steven Spielberg"]},
        {"question": "Where was Steven Spielberg born?", "answers": ["Cincinnati"]},
    ]
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return path


def test_work_is_done_by_every_worker(ray: RayWorkers, tmp_path: Path):
    found = dict(ray.map(partial(Made, tmp_path), double, iter(range(40)), 4))
    assert {item: doubled for item, (doubled, _) in found.items()} == {
        item: 2 * item for item in range(40)
    }
    processes = {process for _, process in found.values()}
    assert len(processes) == 2
    assert os.getpid() not in processes
    assert len(list(tmp_path.iterdir())) == 2  # each has made it once


def test_ray_s_telemetry_is_off(ray: RayWorkers):
    started = psutil.Process().children(recursive=True)
    environments = [each.environ() for each in started if "gcs_server" in each.name()]
    assert [each["RAY_USAGE_STATS_ENABLED"] for each in environments] == ["0"]


@pytest.mark.parametrize(
    ("item", "kind"),
    [
        (0, DataError),
        pytest.param(1, MissingDependency, marks=pytest.mark.soak),
        pytest.param(2, BudgetError, marks=pytest.mark.soak),
        (3, LookupError),
    ],
)
def test_an_error_arrives_as_it_is_without_keys(
    ray: RayWorkers, item: int, kind: type[Exception], tmp_path: Path
):
    with pytest.raises(kind) as caught:
        list(ray.map(partial(Made, tmp_path), fail, [-1, -2, item], 2))
    assert type(caught.value) is kind
    told = [str(caught.value), *getattr(caught.value, "__notes__", ())]
    assert SECRET not in "".join(told)
    if kind is DataError:
        assert (caught.value.source, caught.value.line) == ("questions.jsonl", 3)
    if kind is LookupError:  # a mistake in the code: it brings the lines it comes from
        assert "raise errors[item]" in told[1]


@pytest.mark.soak
def test_a_worker_that_always_ends_is_one_error(ray: RayWorkers, tmp_path: Path):
    with pytest.raises(EngineError, match="a worker ended 4 times under the same item"):
        list(ray.map(partial(Made, tmp_path), end, [1], 8))


def test_what_cannot_be_sent_is_said(ray: RayWorkers, tmp_path: Path):
    with pytest.raises(InputError, match="give a function that makes it"):
        collect(QUESTIONS, system("http://127.0.0.1:1", tmp_path), workers=ray)
    lock = threading.Lock()
    with pytest.raises(InputError, match=r"give functions that make it: .*lock"):
        list(ray.map(partial(Made, lock), double, [1]))


def test_what_does_not_fit_is_said(ray: RayWorkers):
    with pytest.raises(InputError, match="at least 1"):
        RayWorkers(count=0)
    with pytest.raises(InputError, match="900 workers need 900 processors"):
        RayWorkers(count=900)


def reply(messages: list[dict[str, Any]]) -> str:
    asked = messages[-1]["content"]
    if "Given answer:" in asked:
        return "right" if "Given answer: It is on" in asked else "wrong"
    number = asked.rpartition("Where is port ")[2].partition("?")[0]
    return f"SUFFICIENT\nIt is on Coast {number} [1]." if "Coast" in asked else "I don't know."


def test_the_command_works_on_ray_as_it_does_here(
    ray: RayWorkers, skr: Skr, corpus: Path, asked: Path, tmp_path: Path
):
    store = tmp_path / "store"
    assert skr("ingest", corpus, "--store", store).code == 0
    outs = [tmp_path / "ray.jsonl", tmp_path / "here.jsonl"]
    on_ray = ["--engine", "ray", "--workers", "2", "--json"]
    found = skr("collect", asked, "--store", store, "--out", outs[0], *on_ray)  # served for it
    assert found.code == 0, found.err
    local = skr("collect", asked, "--store", store, "--out", outs[1], "--json")
    assert {**found.json, "out": ""} == {**local.json, "out": ""}
    assert found.json["n"] == 2
    records = [sorted(values(Records.read(out)), key=str) for out in outs]
    assert records[0] == records[1]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--workers", "2"], "--workers is for --engine ray"),
        (["--address", "localhost:1"], "--address is for --engine ray"),
        (["--engine", "ray", "--store", "missing"], "there is no store at missing"),
    ],
)
def test_options_that_do_not_fit_are_one_line(
    ray: RayWorkers, skr: Skr, asked: Path, options: list[str], told: str, tmp_path: Path
):
    result = skr("collect", asked, *options, "--out", tmp_path / "records.jsonl")
    assert result.code == 2
    assert told in " ".join(result.err.split())


def values(records: list[Record]) -> list[Any]:
    return [(each.question, each.outcomes, each.stamp, each.statements) for each in records]


def processes(folder: Path) -> list[int]:
    there = [int(path.name.partition("-")[2]) for path in folder.glob("made-*")]
    return sorted(set(there) - {os.getpid()})


def test_a_killed_worker_loses_nothing_and_the_next_run_goes_on(ray: RayWorkers, tmp_path: Path):
    out = tmp_path / "records.jsonl"

    def kill_one(number: int) -> None:
        if number == 12:  # of many more, of which none is answered meanwhile
            os.kill(processes(tmp_path)[0], signal.SIGKILL)

    with OpenAIServer(reply, fault=kill_one, delay=0.02, keep_alive=False) as server:
        make = partial(system, server.url, tmp_path)
        options: Any = {"concurrency": 4, "ask": ["confidence"]}
        found = collect(QUESTIONS, make, out=out, workers=ray, **options)
        assert len(processes(tmp_path)) > 2  # one was started again
        assert server.peak <= 4  # over both workers
        calls = server.calls
        assert values(collect(QUESTIONS, make, out=out, workers=ray, **options)) == values(found)
        assert server.calls == calls
        assert values(found) == values(collect(QUESTIONS, make, **options))
    keys = Counter(orjson.loads(line)["key"] for line in out.read_bytes().splitlines())
    assert len(keys) == len(QUESTIONS)
    assert set(keys.values()) == {2}  # its outcomes, and then its statements too
    assert all(record.effect == "helps" for record in found)


@pytest.mark.soak
def test_a_judge_is_made_by_the_workers(ray: RayWorkers, tmp_path: Path):
    with OpenAIServer(reply, keep_alive=False) as server:
        make = partial(system, server.url, tmp_path)
        judge = partial(judging, server.url)
        found = collect(QUESTIONS[:4], make, workers=ray, metric=judge)
        assert values(found) == values(collect(QUESTIONS[:4], make, metric=judge))
        assert [each.effect for each in found] == ["helps"] * 4


@pytest.mark.soak
def test_the_example_works_on_a_ray_that_is_there(
    ray: RayWorkers,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SKR_MODEL", raising=False)
    runpy.run_path(str(ROOT / "examples" / "19_ray.py"), run_name="__main__")
    told = capsys.readouterr().out.splitlines()
    assert len([line for line in told if line.endswith("? retrieval helps")]) == 4
