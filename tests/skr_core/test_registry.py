"""What packages announce is found by name, and nothing else is ever imported for a folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from skr_core import load_router, names_of, registered
from skr_core.errors import DataError, InputError
from skr_core.models.adapting import named_model
from skr_core.registry import _announced
from skr_core.routers import AlwaysRetrieve
from skr_core.routers.saving import SavedRouter
from skr_core.settings import as_reflector

POLITE = """
from skr_core.routers import NeverRetrieve
from skr_core.testing import ScriptedModel

class PoliteRouter(NeverRetrieve):
    kind = "polite"

def make(name):
    return ScriptedModel(name=name)
"""
ANNOUNCED = """
[skr_rag.routers]
polite = polite_routers:PoliteRouter

[skr_rag.models]
polite = polite_routers:make
"""


@pytest.fixture
def another_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "polite_routers.py").write_text(POLITE)
    about = tmp_path / "polite_routers-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: polite-routers\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ANNOUNCED)
    monkeypatch.syspath_prepend(tmp_path)
    _announced.cache_clear()
    yield
    _announced.cache_clear()
    sys.modules.pop("polite_routers", None)


def test_ours_are_announced() -> None:
    assert registered("routers", "always") is AlwaysRetrieve
    assert {"always", "never", "prompt", "confidence", "knn"} <= {*names_of("routers")}
    assert names_of("nothing") == []
    with pytest.raises(InputError, match="no routers are registered as 'os': known are always"):
        registered("routers", "os")


@pytest.mark.usefixtures("another_package")
def test_those_of_another_package_are_found(tmp_path: Path) -> None:
    registered("routers", "polite")().save(tmp_path / "saved")
    loaded = load_router(tmp_path / "saved")
    assert type(loaded).__name__ == "PoliteRouter"
    assert not loaded.decide("Who?").retrieve
    named = named_model("polite:very")
    assert named is not None
    assert named.name == "polite:very"


@pytest.mark.parametrize("kind", ["os:system", "../../evil", "evil", "", "skr_core.routers"])
@pytest.mark.parametrize("part", ["router", "reflector"])
def test_what_a_file_says_is_never_imported(
    part: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    SavedRouter(kind, {}).write(tmp_path / "saved")
    load = {"router": load_router, "reflector": as_reflector}[part]
    with pytest.raises(DataError, match=f"no {part} of kind '.*' is known here"):
        load(tmp_path / "saved")
    assert "evil" not in sys.modules


def test_a_name_that_nobody_announces_is_a_frameworks() -> None:
    assert named_model("openai:gpt-4.1-mini") is None
    assert named_model("") is None
