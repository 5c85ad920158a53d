"""Thousands of questions against a server that fails now and then: each is accounted for."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.integration.soaking import answer
from tests.servers import Fault, Messages, OpenAIServer

pytestmark = [pytest.mark.integration, pytest.mark.soak]

ROOT = Path(__file__).resolve().parents[2]
QUESTIONS = int(os.environ.get("SKR_SOAK_QUESTIONS", "5000"))
SECONDS = 2_400
FAULTY = 0.05
LATE = 3
"""Connections that an event loop has left and the collector has yet to close."""

FAULTS: list[Fault] = [
    *("rate_limit", "server_error", "broken_json", "no_choices", "truncated", "empty", "hang"),
]


def reply(messages: Messages) -> str:
    """Every third lamp takes two rounds."""
    text = str(messages[-1]["content"])
    found = re.search(r"What does lamp number (\d+) burn", text)
    assert found, text
    number = int(found[1])
    if number % 3 == 0 and f"the keeper of lamp {number}" not in text:
        return f"INSUFFICIENT\nSearch: the keeper of lamp {number}"
    return f"SUFFICIENT\n{answer(number)}[1]."


@pytest.mark.timeout(SECONDS + 60)
def test_every_question_is_accounted_for_and_nothing_is_left() -> None:
    chance, faults = random.Random(7), Counter[str]()

    def fault(number: int) -> Fault | None:
        if chance.random() >= FAULTY:
            return None
        faults[chosen := chance.choice(FAULTS)] += 1
        return chosen

    with OpenAIServer(reply, fault=fault) as server:
        done = subprocess.run(
            [sys.executable, "-m", "tests.integration.soaking", server.url, str(QUESTIONS)],
            cwd=ROOT,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "graphs")]),
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        requests = server.calls
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    ends, left = found["ends"], found["left"]
    print(*map(json.dumps, left), ends, f"{requests} requests, faults: {dict(faults)}", sep="\n")  # noqa: T201
    asked = left[-1]["asked"]

    # Each has an end, the log tells each once, and none has the answer of another.
    assert sum(ends.values()) == found["told"] == asked
    assert "wrong" not in ends
    assert 0 < asked - ends["right"] <= sum(faults.values())
    assert sum(faults.values()) > 0.02 * requests

    assert {each["tasks"] for each in left} == {1}
    first, *later = left
    for each in later:
        assert each["megabytes"] <= 1.1 * first["megabytes"]
        assert each["threads"] <= first["threads"]
    half = len(left) // 2  # by then pools have their size
    for name in ("descriptors", "native threads"):
        early, late = (max(each[name] for each in part) for part in (left[:half], left[half:]))
        assert late <= early + LATE
