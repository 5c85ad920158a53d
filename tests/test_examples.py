"""Every example runs by itself, offline, and shows something."""

from __future__ import annotations

import os
import re
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


def test_the_index_names_every_example_once() -> None:
    index = (ROOT / "examples" / "README.md").read_text()
    assert re.findall(r"^\| \[(.*?)\]\(\1\) \|", index, re.MULTILINE) == [
        each.name for each in EXAMPLES
    ]


@pytest.mark.parametrize("number", range(1, len(EXAMPLES) + 1))
def test_an_example_is_short_numbered_and_takes_a_real_model(number: int) -> None:
    example = EXAMPLES[number - 1]
    text = example.read_text()
    assert example.name.startswith(f"{number:02}_")
    assert len(text.splitlines()) < 80
    assert "SKR_MODEL" in text


@pytest.mark.integration
@pytest.mark.parametrize("example", APART, ids=lambda path: path.stem)
def test_example(example: Path, tmp_path: Path) -> None:
    offline = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "MPLBACKEND": "agg"}
    mine = ("API_KEY", "SKR_MODEL")
    kept = {key: value for key, value in os.environ.items() if not key.endswith(mine)}
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


@pytest.mark.integration
@pytest.mark.parametrize("example", OVER_THE_SAMPLE, ids=lambda path: path.stem)
def test_example_over_the_sample(
    example: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SKR_MODEL", raising=False)
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()
