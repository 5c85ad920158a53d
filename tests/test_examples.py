"""Every example runs by itself, offline, and shows something."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
# These ask the sample's model many questions, and share what is imported for it.
OVER_THE_SAMPLE = [each for each in EXAMPLES if "load_sample" in each.read_text()]
APART = [each for each in EXAMPLES if each not in OVER_THE_SAMPLE]

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("example", APART, ids=lambda path: path.stem)
def test_example(example: Path, tmp_path: Path) -> None:
    offline = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "MPLBACKEND": "agg"}
    kept = {key: value for key, value in os.environ.items() if "API_KEY" not in key}
    result = subprocess.run(
        [sys.executable, str(example)],
        cwd=tmp_path,  # what an example writes stays out of the project
        env=kept | offline,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip()


@pytest.mark.parametrize("example", OVER_THE_SAMPLE, ids=lambda path: path.stem)
def test_example_over_the_sample(
    example: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SKR_MODEL", raising=False)
    assert len(example.read_text().splitlines()) < 80
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()
