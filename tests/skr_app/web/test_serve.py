"""`skr serve` as a process: where it says it is, what it holds, and how it ends."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from skr_core import Reference
from skr_store import Store
from tests.skr_app.conftest import Skr


@contextmanager
def served(*options: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command's process and the address that it prints; whatever is left of it is killed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "skr_app", "serve", "--port", "0", *map(str, options)]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                if found := re.search(r"The page is at (\S+)", line):
                    break
            else:
                pytest.fail("it ended before it served")
            yield process, found[1]
        finally:
            process.kill()


def get(address: str, **more: Any) -> httpx.Response:
    return httpx.get(address, timeout=60, **more)


@pytest.mark.integration
def test_the_demonstration_asks_for_its_token():
    with served("--demo") as (process, printed):
        address, token = printed.split("/?token=")
        assert get(printed).headers["location"] == "/"
        assert get(f"{address}/api/system").status_code == 401
        bearer = {"authorization": f"Bearer {token}"}
        about = get(f"{address}/api/system", headers=bearer).json()
        assert about["references"] > 100
        assert len(about["examples"]) == 5
        assert get(f"{address}/api/router", headers=bearer).json()["questions"] == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert "Traceback" not in (process.stderr.read() if process.stderr else "")


@pytest.mark.integration
@pytest.mark.soak
def test_it_holds_the_store_and_serves_it_to_others(tmp_path: Path):
    with Store.open(tmp_path / "store") as store:
        store.add([Reference.of("The ferry of Lorn sails at noon.", "Ferry")])
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    folders = ("--store", tmp_path / "store", "--folder", tmp_path / "page")
    folders += ("--model", "extractive")
    with served(*folders, "--store-port", port, "--no-token") as (process, address):
        assert get(f"{address}api/system").json()["references"] == 1
        with Store.open(tmp_path / "store") as beside:
            assert beside.count() == 1
        with Store.connect(f"http://127.0.0.1:{port}") as shared:
            shared.add([Reference.of("The ferry of Lorn is red.", "Ferry")])
        assert get(f"{address}api/system").json()["references"] == 2
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    with Store.open(tmp_path / "store") as store:
        assert store.count() == 2


def test_a_store_that_is_served_already_is_not_served_again(skr: Skr):
    result = skr("serve", "--port", 0, "--store", "http://localhost:1", "--store-port", 8001)
    assert result.code == 2
    assert "this store is served already" in result.err


def test_a_port_that_is_taken_is_one_line(skr: Skr):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = skr("serve", "--demo", "--port", taken.getsockname()[1])
    assert result.code == 2
    assert "cannot listen at 127.0.0.1" in result.err
    assert "Traceback" not in result.err


def test_a_token_that_can_be_guessed_is_one_line(skr: Skr):
    result = skr("serve", "--demo", "--port", 0, "--host", "0.0.0.0", "--token", "secret")
    assert result.code == 2
    assert "--token needs 16 characters or more" in result.err


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--host", "0.0.0.0"), "others can reach a page at 0.0.0.0, which needs a token"),
        (("--token", "correct-horse-battery"), "give either a token"),
    ],
)
def test_no_token_is_for_this_machine_alone(skr: Skr, options: tuple[str, ...], line: str):
    result = skr("serve", "--demo", "--port", 0, "--no-token", *options)
    assert result.code == 2
    assert line in " ".join(result.err.split())


def test_prices_name_the_model_before_anything_is_served(skr: Skr, tmp_path: Path):
    (tmp_path / "prices.json").write_text('{"other": {"prompt": 1, "completion": 2}}')
    result = skr("serve", "--demo", "--port", 0, "--prices", tmp_path / "prices.json")
    assert result.code == 2
    assert "the prices have no model 'extractive" in " ".join(result.err.split())
