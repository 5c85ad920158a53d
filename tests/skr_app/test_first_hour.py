"""The README's way from a clone to a calibrated router and a cited answer, as it is printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from skr_app.country import write_country
from tests.skr_app.conftest import Skr

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
WALK = next(each for each in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) if "export" in each)
PRINTED = next(
    each for each in re.findall(r"```text\n(.*?)```", README, re.DOTALL) if "[6]" in each
)


def words(text: str) -> str:
    """A printed text without its frames and line breaks."""
    return " ".join(re.sub("[│╭╮╰╯─]", " ", text).split())


def test_the_pictures_and_what_they_lead_to_are_there() -> None:
    places = re.findall(r'(?:href|src)="([^"]+)"', README)
    assert len(places) == 4
    assert all((ROOT / place).is_file() for place in places)


@pytest.fixture
def demonstration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder that ``make demo`` leaves."""
    monkeypatch.chdir(tmp_path)
    write_country(tmp_path / "skr-demo")


@pytest.mark.integration
@pytest.mark.usefixtures("demonstration", "few_trees")
def test_each_command_of_the_way_does_what_the_readme_says(
    skr: Skr, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {}
    for line in WALK.splitlines():
        command, *rest = shlex.split(line, comments=True)
        if command == "export":
            for name, value in (each.split("=") for each in rest):
                monkeypatch.setenv(name, value)
            continue
        result = skr(*rest)
        assert result.code == 0, result.err
        said[rest[0], rest[1]] = words(result.out)
    *_, (_, known), (_, two_hops) = said.items()
    assert "200 records in records.jsonl" in said["collect", "skr-demo/questions.jsonl"]
    assert "skr ask QUESTION --router router" in said["calibrate", "records.jsonl"]
    assert "in 1879" in known
    assert "1 round · 1 call" in known
    assert all(words(line) in two_hops for line in PRINTED.splitlines()[:4])
    assert words("".join(PRINTED.splitlines(keepends=True)[4:])) in two_hops
