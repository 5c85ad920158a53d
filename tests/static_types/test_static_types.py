"""mypy and pyright find nothing in right code, and each mistake in wrong code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RIGHT, WRONG = HERE / "right.py", HERE / "wrong.py"
FILES = [str(RIGHT), str(WRONG)]
MARK = "  # error"

Found = dict[Path, dict[int, str]]
"""By file and line, from 1: what the checker says."""

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


@pytest.fixture(scope="module", params=["mypy", "pyright"])
def found(request: pytest.FixtureRequest) -> Found:
    if request.param == "mypy":
        return by_mypy()
    pytest.importorskip("pyright", reason="the extra `dev` is not installed")
    return by_pyright()


def by_mypy() -> Found:
    """As this project is configured, strict; so it shares the cache of its own check."""
    done = checked("mypy", "--output=json", "--no-error-summary", *FILES)
    assert done.returncode in {0, 1}, done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines()]
    return by_line((ROOT / each["file"], each["line"], each["message"]) for each in said)


def by_pyright() -> Found:
    """Strict, as the first lines of the files say."""
    done = checked("pyright", "--outputjson", "--pythonpath", sys.executable, *FILES)
    assert done.returncode in {0, 1}, done.stderr
    said = json.loads(done.stdout)["generalDiagnostics"]
    return by_line(
        (Path(each["file"]), each["range"]["start"]["line"] + 1, each["message"]) for each in said
    )


def checked(*command: str) -> subprocess.CompletedProcess[str]:
    paths = [str(ROOT), str(ROOT / "graphs"), os.environ.get("PYTHONPATH", "")]
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )


def by_line(said: Iterable[tuple[Path, int, str]]) -> Found:
    found: Found = {RIGHT: {}, WRONG: {}}
    for file, line, message in said:
        found.setdefault(file, {}).setdefault(line, message)
    return found


def test_right_code_passes(found: Found) -> None:
    assert found[RIGHT] == {}


def test_each_mistake_is_found_where_it_stands(found: Found) -> None:
    lines = WRONG.read_text().splitlines()
    mistakes = {number for number, line in enumerate(lines, start=1) if line.endswith(MARK)}
    assert mistakes
    assert {lines[each - 1] for each in mistakes - found[WRONG].keys()} == set()
    assert {line: said for line, said in found[WRONG].items() if line not in mistakes} == {}
