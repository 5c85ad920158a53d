"""The test environment is the one that is written down, and nothing is told to anybody."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from scripts.supply import brought_by, installed, licence_of

ROOT = Path(__file__).resolve().parents[1]
as_locked = pytest.mark.skipif(
    sys.platform != "linux" or sys.version_info[:2] != (3, 11),
    reason="constraints.txt is that of Python 3.11 on Linux",
)

# What a process connects to, or asks the address of, that is not the machine itself.
WATCH = """
import json, sys
told = []
def watch(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname"):
        place = arguments[1] if event in ("socket.connect", "socket.sendto") else arguments[0]
        host = place[0] if isinstance(place, tuple) else place
        if isinstance(place, tuple) or event.startswith("socket.get"):
            if host not in ("127.0.0.1", "::1", "localhost", None):
                told.append(str(host))
sys.addaudithook(watch)
"""


@as_locked
def test_every_package_of_the_test_environment_is_pinned() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = {pin.name: pin for pin in map(Requirement, (each for each in lines if each[0] != "#"))}
    there = installed()
    names = brought_by("skr-rag[dev]", there)
    assert sorted(pins) == names, "run  make lock"
    other = {
        name: there[name].version
        for name in names
        if name in there
        and not pins[name].specifier.contains(there[name].version, prereleases=True)
    }
    assert other == {}, "run  make lock, or make the environment again"
    assert [str(pin) for pin in pins.values() if not str(pin.specifier).startswith("==")] == []


@as_locked
def test_every_licence_is_listed() -> None:
    page = (ROOT / "docs" / "licences.md").read_text()
    rows = [row.strip("| ").split(" | ") for row in page.splitlines() if row.startswith("| ")]
    listed = {name: licence for licence, names in rows for name in names.split(", ")}
    there = installed()
    names = brought_by("skr-rag[dev]", there)
    assert sorted(listed.keys() - {"packages"}) == names, "run  make lock"
    said = {name: licence_of(there[name]) for name in names if name in there}
    assert said == {name: listed[name] for name in said}, "run  make lock"


def test_the_actions_of_workflows_are_named_by_commit() -> None:
    lines = [
        line.strip(" -")
        for each in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
        for line in each.read_text().splitlines()
    ]
    used = [line.removeprefix("uses: ") for line in lines if line.startswith("uses: ")]
    assert used
    by_tag = [each for each in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d\S*", each)]
    assert by_tag == [], "a tag can be moved: name the commit, and the version behind it"


def test_what_is_no_open_source_is_said() -> None:
    page = (ROOT / "docs" / "licences.md").read_text()
    before, server = page.split("## `skr-rag[server]`")
    assert "| Elastic-2.0 | langgraph-api, langgraph-runtime-inmem |" in server
    assert not [row for row in before.splitlines() if row.startswith("| Elastic")]
    assert "GPL" not in before
    assert "not said" not in page


def watched(code: str, folder: Path) -> list[str]:
    """Which places of the network a process of its own turned to."""
    asks = ("LANGSMITH", "LANGCHAIN", "OTEL", "OPENAI", "HF_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(asks)}
    env |= {"HOME": str(folder), "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "graphs")])}
    done = subprocess.run(
        [sys.executable, "-c", f"{WATCH}{code}\nprint(json.dumps(told), file=sys.stderr)"],
        capture_output=True,
        text=True,
        check=False,
        timeout=150,
        env=env,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    told: list[str] = json.loads(done.stderr.splitlines()[-1])
    return told


@pytest.mark.integration
def test_the_demonstration_tells_nobody(tmp_path: Path) -> None:
    code = (
        "from skr_learn import trees\n"
        "trees.TREES //= 10\n"  # of which many would only take time
        "sys.argv = ['skr', 'demo', '--json']\n"
        "from skr_app.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code"
    )
    assert watched(code, tmp_path) == []


@pytest.mark.integration
def test_a_store_and_an_engine_tell_nobody(tmp_path: Path) -> None:
    code = (
        "from llamaindex_skr import SKRQueryEngine\n"
        "from skr_core import Reference\n"
        "from skr_store import Store\n"
        "with Store.open('store') as store:\n"
        "    store.add([Reference.of('Paris is the capital of France.')])\n"
        "    engine = SKRQueryEngine.from_defaults(store, llm='extractive')\n"
        "    assert 'Paris' in str(engine.query('What is the capital of France?'))"
    )
    assert watched(code, tmp_path) == []


def test_the_watch_sees_who_is_turned_to(tmp_path: Path) -> None:
    code = (
        "import socket\n"
        "try:\n    socket.getaddrinfo('telemetry.invalid', 443)\nexcept OSError:\n    pass\n"
        "socket.socket().connect_ex(('127.0.0.1', 9))"
    )
    assert watched(code, tmp_path) == ["telemetry.invalid"]
