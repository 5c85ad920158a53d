"""Every example runs offline, by itself but for what is imported already, and shows something."""

from __future__ import annotations

import os
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
from llama_index.core.instrumentation import get_dispatcher

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
# That of Ray runs on the one that tests/integration/test_ray.py starts.
HERE = [each for each in EXAMPLES if each.stem != "19_ray"]


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


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What an example writes stays out of the project, and who listens to it goes with it."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.endswith(("API_KEY", "SKR_MODEL"))]:
        monkeypatch.delenv(name)
    listening = [*get_dispatcher().event_handlers]
    yield
    get_dispatcher().event_handlers[:] = listening


@pytest.mark.integration
@pytest.mark.usefixtures("alone", "few_trees")
@pytest.mark.parametrize("example", HERE, ids=lambda path: path.stem)
def test_example(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()
