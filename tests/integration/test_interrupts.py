"""Ctrl-C while a server says nothing, or nothing but signs of life: back at once, and gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from skr_core.types import Reference
from skr_store import Store
from tests.integration.interrupted import QUESTION, WAYS
from tests.servers import Fault, OpenAIServer

pytestmark = pytest.mark.integration

PATIENCE = 25.0
"""Seconds on a machine that others use: on a free one it takes a tenth of one."""


@contextmanager
def program(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    # A shell may have told its background jobs to ignore interrupts, which children inherit.
    def take_interrupts() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)

    # No key of whoever runs the tests; and what is said comes at once.
    env = {name: each for name, each in os.environ.items() if name != "OPENAI_API_KEY"}
    with subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        preexec_fn=take_interrupts,
    ) as started:
        try:
            yield started
        finally:
            started.kill()


def wait_until(is_so: Callable[[], bool]) -> None:
    patience = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < patience
        time.sleep(0.02)


def silence(number: int) -> Fault:
    return "hang" if number // 2 % 2 else "comments"


def test_every_way_of_asking_is_back_at_once_and_the_program_leaves() -> None:
    with (
        OpenAIServer(fault=silence) as server,
        program("-m", "tests.integration.interrupted", server.url, *WAYS) as asking,
    ):
        assert asking.stdout is not None
        late = {}
        for number, way in enumerate(WAYS, start=1):
            assert asking.stdout.readline() == "asked\n"
            wait_until(lambda number=number: server.calls >= number)
            time.sleep(0.1)
            began = time.monotonic()
            asking.send_signal(signal.SIGINT)
            assert asking.stdout.readline() == "KeyboardInterrupt\n", way
            late[way] = time.monotonic() - began
        assert max(late.values()) < PATIENCE, late
        assert asking.wait(PATIENCE) == 0
        assert asking.stderr is not None
        assert asking.stderr.read() == ""


def test_the_command_leaves_at_once(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store") as store:
        store.add([Reference.of("Paris is the capital of France.")])
    with OpenAIServer(fault="comments") as server:
        model = ["--model", "openai:test", "--base-url", server.url]
        where = ["--store", str(tmp_path / "store")]
        with program("-m", "skr_app", "ask", QUESTION, "--stream", *model, *where) as asking:
            wait_until(lambda: server.calls > 0 or asking.poll() is not None)
            asking.send_signal(signal.SIGINT)
            assert asking.wait(PATIENCE) == 130
