"""Batches on Ray: workers of a real cluster, and a real server that plays the model."""

from __future__ import annotations

import asyncio
import os
import runpy
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import psutil
import pytest

import langchain_skr
from skr_core.engines import EngineEmbedder, LocalEngine, RayEngine, Recipe, crew
from skr_core.errors import BudgetError, DataError, EngineError, InputError, MissingDependency
from skr_core.files import KeyedLog
from skr_core.flow import Flow, arun, run
from skr_core.models.limited import Spending
from skr_learn.evaluation.asking import ask_all
from skr_learn.routers.registry import asking_routers
from skr_learn.self_knowledge import (
    SelfKnowledge,
    acollect,
    collect,
    read_self_knowledge,
)
from skr_store.chroma_store import ChromaStore
from skr_store.ingestion import ingest
from skr_store.server import serve
from tests.integration.ray_work import (
    QUESTIONS,
    SECRET,
    Held,
    begin,
    double,
    end,
    fail,
    judging,
    marking,
    searched,
    system,
    systems,
)
from tests.servers import OpenAIServer
from tests.skr_app import conftest
from tests.skr_app.conftest import Skr

pytestmark = pytest.mark.integration
ROOT = Path(__file__).resolve().parents[2]
skr, corpus = conftest.skr, conftest.corpus


@pytest.fixture(scope="module")
def engine() -> Iterator[RayEngine]:
    """Two workers on a cluster of our own; the processor of this machine is not counted."""
    pytest.importorskip("ray")
    with RayEngine(workers=2, options={"num_cpus": 0}) as engine:
        yield engine


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    path = tmp_path / "asked.jsonl"
    rows = [
        {"question": "Who directed the film Jaws?", "answers": ["Steven Spielberg"]},
        {"question": "Where was Steven Spielberg born?", "answers": ["Cincinnati"]},
    ]
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return path


def drive(colour: str, flow: Flow[Any]) -> Any:
    return run(flow) if colour == "sync" else asyncio.run(arun(flow))


both = pytest.mark.parametrize("colour", ["sync", "async"])


def keeping(kept: list[Any]) -> Callable[[int, Any], Flow[Any]]:
    def keep(item: int, result: Any) -> Flow[Any]:
        kept.append(item)
        return result
        yield

    return keep


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Recipe[Held]:
    make = partial(Held, tmp_path_factory.mktemp("held"))
    return Recipe(make(), make)


# The engine


@both
def test_work_is_done_in_workers_and_comes_back_in_order(
    engine: RayEngine, held: Recipe[Held], colour: str
):
    kept: list[int] = []
    found = drive(colour, engine.map(held, double, iter(range(40)), keeping(kept), 4))
    assert [item for item, _ in found] == list(range(0, 80, 2))
    assert sorted(kept) == list(range(40))
    workers = {process for _, process in found}
    assert len(workers) == 2
    assert os.getpid() not in workers
    again = drive(colour, engine.map(held, double, [1], keeping(kept), 4))
    assert again[0][1] in workers  # they hold what they have made


def test_ray_s_telemetry_is_off(engine: RayEngine):
    started = psutil.Process().children(recursive=True)
    environments = [each.environ() for each in started if "gcs_server" in each.name()]
    assert [each["RAY_USAGE_STATS_ENABLED"] for each in environments] == ["0"]


def test_nothing_to_do_starts_no_worker(engine: RayEngine):
    assert run(engine.map(Recipe(None, int), double, [], keeping([]))) == []


@pytest.mark.parametrize(
    ("item", "kind"),
    [(0, DataError), (1, MissingDependency), (2, BudgetError), (3, LookupError)],
)
def test_an_error_arrives_as_it_is_without_keys(
    engine: RayEngine, held: Recipe[Held], item: int, kind: type[Exception]
):
    kept: list[int] = []
    with pytest.raises(kind) as caught:
        run(engine.map(held, fail, [-1, -2, item], keeping(kept), 2))
    assert type(caught.value) is kind
    told = [str(caught.value), *getattr(caught.value, "__notes__", ())]
    assert SECRET not in "".join(told)
    assert sorted(kept) == [-2, -1]
    if kind is DataError:
        assert (caught.value.source, caught.value.line) == ("questions.jsonl", 3)
    if kind is LookupError:  # a mistake in the code: it brings the lines it comes from
        assert "raise errors[item]" in told[1]


def test_a_chunk_keeps_what_did_not_fail_and_a_worker_that_always_ends_is_one_error(
    engine: RayEngine, held: Recipe[Held], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(crew, "RETRIES", 0)
    chunked = RayEngine(workers=1, chunk=3, options={"num_cpus": 0})
    kept: list[int] = []
    with pytest.raises(BudgetError):
        run(chunked.map(held, fail, [-1, 2, -3], keeping(kept), 8))
    assert kept == [-1, -3]
    with pytest.raises(EngineError, match="a worker ended 1 times under the same items"):
        run(chunked.map(held, end, [1], keeping([]), 8))
    chunked.close()


def test_what_cannot_be_sent_is_said(engine: RayEngine):
    with pytest.raises(InputError, match="give a function that makes it"):
        run(engine.map(Recipe(3), double, [1], keeping([])))
    lock = threading.Lock()
    with pytest.raises(InputError, match=r"give functions that make it: .*lock"):
        run(engine.map(Recipe(None, partial(Held, lock)), double, [1], keeping([])))


def test_what_does_not_fit_is_said(engine: RayEngine, held: Recipe[Held]):
    for given in ({"workers": 0}, {"chunk": 0}):
        with pytest.raises(InputError, match="at least 1"):
            RayEngine(**given)
    with pytest.raises(InputError, match="900 workers need 900 processors"):
        run(RayEngine(workers=900).map(held, double, [1], keeping([])))


def test_limits_are_those_of_all_workers(engine: RayEngine, held: Recipe[Held]):
    slow = engine.share(Spending(requests_per_second=0.001, max_calls=8))
    with pytest.raises(BudgetError, match="8 of 8 calls"):
        run(engine.map(held, partial(begin, slow), range(9), keeping([]), 1))
    slow = engine.share(Spending(requests_per_second=0.001))
    waits = run(engine.map(held, partial(begin, slow), range(6), keeping([]), 4))
    # The turns of one queue: a queue for each worker would give each turn twice.
    assert [round(wait / 1000) for wait in sorted(waits)] == list(range(6))


# Questions


def reply(messages: list[dict[str, Any]]) -> str:
    asked = messages[-1]["content"]
    number = asked.rpartition("Where is port ")[2].partition("?")[0]
    return f"SUFFICIENT\nIt is on Coast {number} [1]." if "Coast" in asked else "I don't know."


def test_the_command_works_on_ray_as_it_does_here(
    engine: RayEngine, skr: Skr, corpus: Path, asked: Path, tmp_path: Path, port: int
):
    on_ray = ["--engine", "ray", "--workers", "2", "--json"]
    store = tmp_path / "store"
    assert skr("ingest", corpus, "--store", store).code == 0
    outs = [tmp_path / "ray.jsonl", tmp_path / "here.jsonl"]
    found = skr("collect", asked, "--store", store, "--out", outs[0], *on_ray)  # served for it
    assert found.code == 0, found.err
    local = skr("collect", asked, "--store", store, "--out", outs[1], "--json")
    assert {**found.json, "out": ""} == {**local.json, "out": ""}
    assert found.json["n"] == 2
    records = [sorted(values(read_self_knowledge(out)), key=str) for out in outs]
    assert records[0] == records[1]

    prices = tmp_path / "prices.json"
    prices.write_text('{"extractive": {"prompt": 10, "completion": 10}}')
    url = f"http://127.0.0.1:{port}"
    run_folder = [asked, "--prices", prices, "--out", tmp_path / "run"]
    local = skr("evaluate", asked, "--prices", prices, "--store", store, "--json")
    on_ray[3] = "1"
    with serve(store, port=port):
        spent = skr("evaluate", *run_folder, "--store", url, *on_ray, "--max-spend", "0.0001")
        assert (spent.code, spent.out) == (1, "")
        assert "of 0.0001 US dollars are spent; run it again" in spent.err
        found = skr("evaluate", *run_folder, "--store", url, *on_ray, "--max-spend", "1")
    assert found.code == 0, found.err
    for each in (found.json, local.json):
        for name in ("single_shot", "loop"):
            assert each[name].pop("seconds") > 0
    assert found.json.keys() == local.json.keys()
    assert found.json["loop"]["answer_accuracy"] == local.json["loop"]["answer_accuracy"] > 0


def test_files_are_read_and_embedded_in_workers_and_written_here(
    engine: RayEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    folder = Path("files")
    folder.mkdir()
    lines = [f'{{"title": "T{n}", "text": "Number {n} of many."}}' for n in range(1_200)]
    (folder / "lines.jsonl").write_text("\n".join([*lines, "{broken"]))
    for n in range(30):
        (folder / f"note-{n}.md").write_text(f"# Note {n}\n\nIt is note {n}.")
    found = []
    for place, name in ((engine, "ray"), (None, "here")):
        embedder = EngineEmbedder(
            partial(marking, tmp_path / f"{name}.txt"), place or LocalEngine()
        )
        with ChromaStore.open(name, embedder=embedder, search="dense") as store:
            with pytest.raises(DataError, match=r"files/lines\.jsonl, line 1201: not JSON"):
                ingest([folder], store, engine=place)
            report = ingest([folder], store, engine=place, skip_bad=True)
            again = ingest([folder], store, engine=place, skip_bad=True)
            assert (again.added, again.already_present) == (0, 1_230)
            [nearest, *_] = store.retrieve("It is note 7.")
        journal = (Path(name) / "references.jsonl").read_bytes().splitlines()
        kept = sorted(orjson.dumps(orjson.loads(line)) for line in journal)
        found.append((report.passages, report.skipped, report.problems, nearest.text, kept))
        processes = set((tmp_path / f"{name}.txt").read_text().split())
        assert (str(os.getpid()) in processes) == (place is None)
    assert found[0] == found[1]
    assert found[0][:2] == (1_230, 1)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--workers", "2"], "--workers is for --engine ray"),
        (["--address", "localhost:1"], "--address is for --engine ray"),
        (["--engine", "ray", "--store", "missing"], "there is no store at missing"),
    ],
)
def test_options_that_do_not_fit_are_one_line(
    engine: RayEngine, skr: Skr, asked: Path, options: list[str], told: str, tmp_path: Path
):
    result = skr("collect", asked, *options, "--out", tmp_path / "records.jsonl")
    assert result.code == 2
    assert told in " ".join(result.err.split())


def values(records: list[SelfKnowledge]) -> list[Any]:
    return [(each.question, each.outcomes, each.stamp, each.statements) for each in records]


def workers(folder: Path) -> list[int]:
    there = [int(path.name.partition("-")[2]) for path in folder.glob("made-*")]
    return sorted(set(there) - {os.getpid()})


def test_a_killed_worker_loses_nothing_and_the_next_run_goes_on(engine: RayEngine, tmp_path: Path):
    out = tmp_path / "records.jsonl"

    def kill_one(number: int) -> None:
        if number == 12:  # of many more, of which none is answered meanwhile
            os.kill(workers(tmp_path)[0], signal.SIGKILL)

    with OpenAIServer(reply, fault=kill_one, delay=0.02, keep_alive=False) as server:
        make = partial(system, server.url, tmp_path)
        options: Any = {"concurrency": 4, "ask": partial(asking_routers, ["confidence"])}
        found = collect(QUESTIONS, make, out=out, engine=engine, **options)
        assert len(workers(tmp_path)) == 3  # one was started again
        assert server.peak <= 4  # over both workers
        calls = server.calls
        assert values(collect(QUESTIONS, make, out=out, engine=engine, **options)) == values(found)
        assert server.calls == calls
        assert values(found) == values(collect(QUESTIONS, make, **options))
    keys = Counter(orjson.loads(line)["key"] for line in out.read_bytes().splitlines())
    assert len(keys) == len(QUESTIONS)
    assert set(keys.values()) == {2}  # its outcomes, and then its statements too
    assert all(record.effect == "helps" for record in found)


async def test_awaited_collection_is_the_same(engine: RayEngine, tmp_path: Path):
    with OpenAIServer(reply, keep_alive=False) as server:
        make = partial(system, server.url, tmp_path)
        judge = partial(judging, server.url)
        found = await acollect(QUESTIONS, make, engine=engine, metric=judge)
        local = await acollect(QUESTIONS, make, engine=LocalEngine(), metric=judge)
    assert values(found) == values(local)


def test_a_plug_in_s_system_is_made_by_the_workers(engine: RayEngine):
    asked = QUESTIONS[:4]
    found = langchain_skr.collect(asked, "extractive", searched, engine=engine)
    assert values(found) == values(langchain_skr.collect(asked, "extractive", searched()))
    assert [record.outcomes["loop"].score for record in found] == [1] * 4
    with pytest.raises(InputError, match="give a function that makes it"):
        langchain_skr.collect(asked, "extractive", searched(), engine=engine)


def test_the_example_works_on_a_ray_that_is_there(
    engine: RayEngine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SKR_MODEL", raising=False)
    runpy.run_path(str(ROOT / "examples" / "19_ray.py"), run_name="__main__")
    told = capsys.readouterr().out.splitlines()
    assert len([line for line in told if line.endswith("? retrieval helps")]) == 4


def test_systems_are_evaluated_by_the_same_workers(engine: RayEngine, tmp_path: Path):
    with (
        OpenAIServer(reply, keep_alive=False) as server,
        KeyedLog(tmp_path / "answers.jsonl") as log,
    ):
        make = partial(systems, server.url, tmp_path)
        here = make()
        for name in ("loop", "direct"):
            found = run(ask_all(here[name], QUESTIONS, log, engine=engine, make=make))
            local = run(ask_all(here[name], QUESTIONS, KeyedLog(None)))
            assert [(each.question, each.answer) for each in found.asked] == [
                (each.question, each.answer) for each in local.asked
            ]
        assert len(log.rows) == 2 * len(QUESTIONS)
        assert len(workers(tmp_path)) == 2
