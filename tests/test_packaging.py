"""What is published: four wheels in one version, two of them names alone, and the rest."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from scripts import versions
from scripts.serve_versions import serve

ROOT = Path(__file__).resolve().parents[1]
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NAMES = ("langchain-skr", "llama-index-query-engines-skr")


def test_one_version_stands_everywhere() -> None:
    found = list(versions.found())
    assert {name for name, _ in found} == set(versions.PLACES)
    assert {version for _, version in found} == {DECLARED["version"]}
    assert len(found) == len(versions.PLACES) + 3  # and that of skr-rag which three bring


def test_a_tag_that_is_not_the_version_ends_a_release() -> None:
    versions.main(["--check", f"v{DECLARED['version']}"])
    with pytest.raises(SystemExit, match=r"the tag is v9\.9\.9, .*lab/pyproject\.toml"):
        versions.main(["--check", "v9.9.9"])


def test_a_version_is_written_into_each_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in versions.PLACES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.setattr(versions, "ROOT", tmp_path)
    versions.main(["1.2.3"])
    versions.main(["--check", "v1.2.3"])
    text = (tmp_path / "CITATION.cff").read_text()
    assert text.startswith("cff-version: 1.2.0\n")  # that of the format


@pytest.mark.parametrize("name", NAMES)
def test_a_name_brings_skr_rag_with_its_extra_and_no_module(name: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT / "packaging" / name, check=True, capture_output=True)
    (built,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(built) as wheel:
        assert {Path(each).parent.suffix for each in wheel.namelist()} == {".dist-info"}
        (told,) = [each for each in wheel.namelist() if each.endswith("METADATA")]
        text = wheel.read(told).decode()
    (brought,) = [Requirement(each) for each in re.findall(r"^Requires-Dist: (.+)$", text, re.M)]
    assert brought.name == "skr-rag"
    assert str(brought.specifier) == f"=={DECLARED['version']}"
    assert brought.extras <= set(DECLARED["optional-dependencies"])
    assert len(brought.extras) == 1


def test_what_llamahub_reads_is_there() -> None:
    import llamaindex_skr

    about = tomllib.loads((ROOT / "packaging" / NAMES[1] / "pyproject.toml").read_text())
    hub = about["tool"]["llamahub"]
    assert hub["import_path"] == "llamaindex_skr"
    assert all(hasattr(llamaindex_skr, name) for name in hub["class_authors"])


def test_what_langchain_asks_for_is_there() -> None:
    import langchain_skr

    listed = yaml.safe_load((ROOT / "packaging" / "listings" / "langchain.yaml").read_text())
    entries = [each for several in listed["python"].values() for each in several]
    assert all(hasattr(langchain_skr, each["name"]) for each in entries)
    assert {each["pypi"] for each in entries} == {NAMES[0]}


@pytest.mark.parametrize("name", NAMES)
def test_the_page_of_a_name_runs_as_it_is_printed(name: str) -> None:
    text = (ROOT / "packaging" / name / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, name, "exec"), {})


def test_no_job_may_write_or_sign_but_those_of_the_release() -> None:
    workflows = ROOT / ".github" / "workflows"
    held = {}
    for path in workflows.glob("*.yml"):
        workflow = yaml.safe_load(path.read_text())
        assert workflow["permissions"] == {"contents": "read"}, path.name
        for name, job in workflow["jobs"].items():
            more = {each for each, may in job.get("permissions", {}).items() if may == "write"}
            if more:
                held[path.stem, name] = more
    assert held == {
        ("release", "build"): {"id-token", "attestations"},
        ("release", "pypi"): {"id-token"},
        ("release", "notes"): {"contents"},
        ("release", "site"): {"contents"},
    }


def test_issue_forms_can_be_read() -> None:
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(path.read_text())
        assert path.name == "config.yml" or {"name", "description", "body"} <= form.keys()


def test_the_site_of_a_version_is_laid_beside_the_earlier_ones(tmp_path: Path) -> None:
    site, pages = tmp_path / "site", tmp_path / "pages"
    site.mkdir()
    pages.mkdir()
    for version in ("0.1.0", "0.2.0", "0.2.0"):
        (site / "index.html").write_text(version)
        serve(site, pages, version)
    listed = json.loads((pages / "versions.json").read_text())
    assert [(each["version"], each["aliases"]) for each in listed] == [
        ("0.2.0", ["latest"]),
        ("0.1.0", []),
    ]
    served = {each: (pages / each / "index.html").read_text() for each in ("0.1.0", "latest")}
    assert served == {"0.1.0": "0.1.0", "latest": "0.2.0"}
