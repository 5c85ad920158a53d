"""`skr store serve`: the server holds the folder's lock, and loses nothing it was given."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from skr_core import Reference
from skr_core.errors import StoreError, StoreLocked
from skr_store import Store
from skr_store.server import serve

pytestmark = pytest.mark.integration

BEFORE = [Reference.of(f"a passage of the folder {n}") for n in range(50)]
GIVEN = [Reference.of(f"a passage of the server {n}") for n in range(50)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "store") as store:
        store.add(BEFORE)
    return tmp_path / "store"


@contextmanager
def serving(folder: Path, port: int) -> Iterator[tuple[subprocess.Popen, str, str]]:
    """The command's process, its address and what it says; it ends its server when it is ended."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "skr_app", "store", "serve", str(folder), "--port", str(port)]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            assert f"http://127.0.0.1:{port}" in line, line
            yield process, f"http://127.0.0.1:{port}", line
        finally:
            process.terminate()


@pytest.fixture
def served(folder: Path, port: int):
    with serving(folder, port) as (process, url, line):
        assert "new and empty" not in line
        yield process, url


def children(process: subprocess.Popen) -> list[int]:
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return [int(each) for each in listed.split()]


def end_by_another_thread(process: subprocess.Popen) -> None:
    """Send SIGTERM as the system does where the first thread has another signal to look at."""
    threads = [int(each) for each in os.listdir(f"/proc/{process.pid}/task")]
    last = max(threads, key=lambda thread: (thread != process.pid, thread))
    assert ctypes.CDLL(None).tgkill(process.pid, last, signal.SIGTERM) == 0


def everything_is_there(folder: Path) -> None:
    with Store.open(folder, k=1) as store:
        assert store.count() == 100
        for each in (BEFORE[7], GIVEN[7]):
            assert store.retrieve(each.text)[0].text == each.text
        assert store.add([*BEFORE, *GIVEN]) == 0


def test_a_folder_that_was_not_there_is_said_to_be_new(tmp_path: Path, port: int):
    with serving(tmp_path / "mistyped", port) as (_, _, line):
        assert "mistyped, which is new and empty, is served" in line


def test_a_served_folder_is_open_to_others_and_takes_what_the_server_was_given(
    folder: Path, served
):
    process, url = served
    with Store.open(folder, k=1) as beside:
        assert beside.retrieve(BEFORE[3].text)[0].text == BEFORE[3].text
    with pytest.raises(StoreLocked, match="served already"), serve(folder, port=1):
        pytest.fail("it is served twice")
    with Store.connect(url, k=1) as one, Store.connect(url, k=1) as other:
        assert one.add(GIVEN) == 50
        assert other.retrieve(BEFORE[3].text)[0].text == BEFORE[3].text
        assert other.retrieve(GIVEN[3].text)[0].text == GIVEN[3].text
    end_by_another_thread(process)
    assert process.wait(60) == 0
    everything_is_there(folder)


def test_what_clients_delete_leaves_the_folder(folder: Path, port: int):
    with Store.open(folder) as store:
        store.add([Reference.of("Gone soon.", metadata={"source": "gone.txt"})])
    with serve(folder, port=port), Store.connect(f"http://127.0.0.1:{port}") as store:
        assert store.delete("gone.txt") == 1
    with Store.open(folder) as store:
        assert store.count() == 50
        store.add([Reference.of("Come later.")])
        store.delete("", scope="shared")
    with serve(folder, port=port), Store.connect(f"http://127.0.0.1:{port}") as store:
        assert store.count() == 0


def test_the_server_goes_on_where_its_command_was_killed(folder: Path, served):
    process, url = served
    [server] = children(process)
    with Store.connect(url) as store:
        store.add(GIVEN)
        process.kill()
        process.wait()
        with Store.open(folder) as beside:
            assert beside.count() == 50
        assert store.add(GIVEN) == 0
    os.kill(server, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while True:
        with Store.open(folder) as store:
            if store.count() == 100:
                break
        assert time.monotonic() < deadline
        time.sleep(0.05)
    everything_is_there(folder)


async def test_a_server_that_stops_in_the_middle_is_one_clear_error_and_comes_back(
    folder: Path, port: int
):
    url = f"http://127.0.0.1:{port}"
    with serve(folder, port=port) as server:
        store = Store.connect(url, k=1)
        assert await store.aadd(GIVEN) == 50
        server.kill()
        server.wait()
        for use in (lambda: store.retrieve("x"), lambda: store.add(GIVEN), store.count):
            with pytest.raises(StoreError, match=url):
                use()
        with pytest.raises(StoreError, match=url):
            await store.aretrieve("x")
        with pytest.raises(StoreError, match=url):
            await store.aadd(GIVEN)
    with serve(folder, port=port):
        assert store.retrieve(GIVEN[3].text)[0].text == GIVEN[3].text
        assert (await store.aretrieve(GIVEN[3].text))[0].text == GIVEN[3].text
        await store.aclose()
    everything_is_there(folder)


def test_a_port_that_is_taken_is_an_error_and_the_folder_is_free_again(folder: Path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with (
            pytest.raises(StoreError, match="is the port taken"),
            serve(folder, port=port),
        ):
            pytest.fail("it is not served")
    with Store.open(folder) as store:
        assert store.count() == 50


def test_nothing_but_the_server_answers_at_another_port(folder: Path, port: int):
    with serve(folder, port=port):
        address = f"http://127.0.0.1:{port}/api/v2/heartbeat"
        assert httpx.get(address, timeout=60).status_code == 200
    with pytest.raises(httpx.ConnectError):
        httpx.get(address)
