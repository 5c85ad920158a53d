"""The power is cut at any moment: what was acknowledged is there, whole."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from tests.integration.power import LEFT, Disk, can_trace, traced
from tests.integration.power_works import WORKS

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not can_trace(), reason="needs strace, and leave to trace"),
]

CODE = """
import sys
from pathlib import Path
from tests.integration.power_works import WORKS
folder = Path(sys.argv[1])
WORKS[sys.argv[2]]().do(folder)
"""


def cut(name: str, tmp_path: Path, times: int) -> None:
    """Cut the power after calls drawn at random, and look at what is left."""
    folder, after, draw = tmp_path / "folder", tmp_path / "after", random.Random(2)
    folder.mkdir()
    disk, work = Disk(folder), WORKS[name]()
    cuts = lost = mixed = 0
    errors: list[str] = []
    lines = traced(CODE, folder, name)
    moments = [(n, left) for n, _ in enumerate(Disk(folder).changes(lines)) for left in LEFT]
    chosen = set(draw.sample(moments, min(times, len(moments))))
    for n, _ in enumerate(disk.changes(lines)):
        for left in LEFT:
            if (n, left) not in chosen:
                continue
            cuts += 1
            acknowledged = {int(line) for line in disk.said.split()}
            disk.root.write_to(after, left, draw)
            try:
                missing = acknowledged - work.look(after)
            except Exception as error:
                mixed += 1
                errors.append(f"{left}: {type(error).__name__} {error}")
            else:
                lost += bool(missing)
                if missing:
                    errors.append(f"{left}: {missing}")
            shutil.rmtree(after)
    assert cuts
    print(f"{name}: {cuts} cuts, {lost} lost, {mixed} mixed")  # noqa: T201
    assert (lost, mixed) == (0, 0), errors[:5]


@pytest.mark.parametrize(
    ("name", "times"), [("a file that is replaced", 200), ("a log", 200), ("a store", 40)]
)
def test_a_few_cuts(name: str, times: int, tmp_path: Path):
    cut(name, tmp_path, times)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", WORKS)
def test_many_cuts(name: str, tmp_path: Path):
    cut(name, tmp_path, 400)
