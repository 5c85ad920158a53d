"""SIGTERM, as `kill`, systemd and Kubernetes send it: each command ends at once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from skr_core import Decision
from skr_core.files import KeyedLog, json_line
from skr_core.plain import to_plain
from skr_learn import Record, Records, calibrate
from skr_store import Store, ingest
from tests.servers import OpenAIServer

pytestmark = pytest.mark.integration

PATIENCE = 10.0
"""Seconds in which a command ends on a machine that others use; alone it is less than one."""


@dataclass
class Place:
    """What the commands work with."""

    folder: Path
    server: OpenAIServer

    @property
    def store(self) -> Path:
        return self.folder / "store"

    @property
    def asked(self) -> list[str]:
        return ["--store", str(self.store), "--model", "openai:m", "--base-url", self.server.url]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    rows = [
        {"question": f"Where is port {n}?", "answers": [f"Coast {n}"], "title": f"Port {n}"}
        for n in range(60)
    ]
    (tmp_path / "asked.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    passages = [{"id": str(n), "text": f"Port {n} is on Coast {n}. {'x ' * 60}"} for n in range(9)]
    corpus = b"".join(orjson.dumps(row) + b"\n" for row in passages)
    (tmp_path / "corpus.jsonl").write_bytes(corpus)
    large = [{"id": str(n), "text": f"Lamp {n} burns. {'y ' * 90}"} for n in range(20_000)]
    (tmp_path / "large.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in large))
    with Store.open(tmp_path / "store") as store:
        ingest([tmp_path / "corpus.jsonl"], store)
    with OpenAIServer(lambda _: "SUFFICIENT\nOn Coast 1 [1].", delay=0.1) as server:
        yield Place(tmp_path, server)


def has_lines(path: Path) -> bool:
    return path.exists() and path.read_bytes().count(b"\n") > 1


def records_of(place: Place) -> Path:
    path = place.folder / "known.jsonl"
    Records(
        Record.of(
            f"{'Who keeps' if n % 2 else 'Where is'} port {n}?",
            direct=("no", n % 2),
            single=("yes", 1 - n % 2),
        )
        for n in range(400)
    ).write(path)
    return path


def router_of(place: Place) -> Path:
    path = place.folder / "router.skr"
    calibrate(Records.read(records_of(place))).save(path)
    return path


def log_of(place: Place) -> Path:
    """What a system that is served has decided."""
    decision = to_plain(Decision(True, score=0.5, threshold=0.4))
    rows = [{"question": f"Where is port {n}?", "decision": decision} for n in range(60_000)]
    path = place.folder / "log.jsonl"
    path.write_bytes(b"".join(map(json_line, rows)))
    return path


Ready = Callable[[Place], bool]
Words = Callable[[Place], list[Any]]


def asking(place: Place) -> bool:
    return place.server.calls > 0


def started(place: Place) -> bool:
    """Somewhere between its first import and its end."""
    time.sleep(random.uniform(1, 4))
    return True


COMMANDS: dict[str, tuple[Words, Ready]] = {
    "collect": (
        lambda place: [
            *("collect", place.folder / "asked.jsonl", *place.asked),
            *("--out", place.folder / "out.jsonl", "--concurrency", "2"),
        ],
        lambda place: has_lines(place.folder / "out.jsonl"),
    ),
    "collect on Ray": (
        lambda place: [
            *("collect", place.folder / "asked.jsonl", *place.asked, "--engine", "ray"),
            *("--out", place.folder / "out.jsonl", "--concurrency", "2", "--workers", "2"),
        ],
        lambda place: has_lines(place.folder / "out.jsonl"),
    ),
    "evaluate": (
        lambda place: [
            *("evaluate", place.folder / "asked.jsonl", *place.asked),
            *("--out", place.folder / "run", "--concurrency", "2"),
        ],
        lambda place: has_lines(place.folder / "run" / "answers.jsonl"),
    ),
    "ask": (lambda place: ["ask", "Where is port 1?", *place.asked], asking),
    "ingest": (
        lambda place: ["ingest", place.folder / "large.jsonl", "--store", place.folder / "new"],
        lambda place: (place.folder / "new" / "store.sqlite3").exists(),
    ),
    "calibrate": (
        lambda place: ["calibrate", records_of(place), "--out", place.folder / "router"],
        started,
    ),
    "replay": (lambda place: ["replay", "--train", records_of(place)], started),
    "monitor": (
        lambda place: ["monitor", log_of(place), "--router", router_of(place)],
        started,
    ),
    "demo": (lambda place: ["demo", "--out", place.folder / "demo"], started),
    "mcp": (lambda place: ["mcp", *place.asked], started),
    "serve": (
        lambda place: ["serve", "--demo", "--port", "0", "--folder", place.folder / "page"],
        started,
    ),
}
SOAK = [pytest.param(each, marks=pytest.mark.soak) for each in COMMANDS if each != "collect"]


@pytest.mark.parametrize("name", ["collect", *SOAK])
def test_a_command_that_is_told_to_end(name: str, place: Place):
    words, ready = COMMANDS[name]
    process = subprocess.Popen(
        [sys.executable, "-m", "skr_app", *map(str, words(place))],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and not ready(place):
        time.sleep(0.01)
    begun = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    seconds = time.monotonic() - begun
    said, errors = process.communicate()
    print(f"{name}: code {process.returncode} after {seconds:.2f} s")  # noqa: T201
    # What serves ends as Ctrl-C ends it, and others may have ended before: `monitor` by its alarm.
    assert process.returncode in (-signal.SIGTERM, int(name == "monitor")), errors
    assert seconds < PATIENCE
    assert "Traceback" not in said + errors
    assert "SIGTERM" not in errors
    for file in ("out.jsonl", "run/answers.jsonl"):
        if (place.folder / file).exists():
            kept = (place.folder / file).read_bytes()
            with KeyedLog(place.folder / file) as log:
                assert len(log.rows) >= kept.count(b"\n") > 1
    if (place.folder / "new").exists():
        with Store.open(place.folder / "new") as store:
            assert store.count() <= 20_000
