"""Routers are saved as text and arrays, and loaded only for what they were made with."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from skr_core import load_router
from skr_core.errors import DataError, InputError, StampMismatch
from skr_core.files.arrays import write_archive
from skr_core.prompts.routing import ROUTING_VERSION
from skr_core.routers import (
    CertaintyLevelRouter,
    ConfidenceRouter,
    ModelRouter,
    PromptRouter,
    UncertaintyRouter,
)
from skr_core.routers.saving import SavedRouter
from skr_core.testing import ScriptedModel
from skr_core.types import Stamp

MODEL = ScriptedModel(["Yes."], name="m")
MAKERS: dict[str, Callable[[], ModelRouter]] = {
    "prompt": lambda: PromptRouter(MODEL, template="can_solve"),
    "confidence": lambda: ConfidenceRouter(MODEL, strategy="challenge"),
    "certainty_level": lambda: CertaintyLevelRouter(MODEL, threshold=0.2),
    "uncertainty": lambda: UncertaintyRouter(MODEL, threshold=0.25, samples=3),
}
every = pytest.mark.parametrize("kind", MAKERS)


@every
def test_what_is_saved_is_loaded(tmp_path: Path, kind: str):
    router = MAKERS[kind]()
    router.save(tmp_path / "router")
    loaded = load_router(tmp_path / "router", model=MODEL)
    assert type(loaded) is type(router)
    assert loaded.decide("Who?") == router.decide("Who?")
    assert os.listdir(tmp_path) == ["router"]


@every
def test_another_model_is_refused_unless_forced(tmp_path: Path, kind: str):
    router = MAKERS[kind]()
    router.save(tmp_path / "router")
    other = ScriptedModel(["Yes."], name="other")
    with pytest.raises(StampMismatch, match="model 'm', not 'other'"):
        load_router(tmp_path / "router", model=other)
    assert isinstance(load_router(tmp_path / "router", model=other, force=True), type(router))


@every
def test_another_wording_is_refused(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch):
    MAKERS[kind]().save(tmp_path / "router")
    monkeypatch.setattr("skr_core.routers.model_routers.ROUTING_VERSION", "later")
    with pytest.raises(StampMismatch, match="wording"):
        load_router(tmp_path / "router", model=MODEL)


@every
def test_a_router_that_asks_needs_a_model(tmp_path: Path, kind: str):
    MAKERS[kind]().save(tmp_path / "router")
    with pytest.raises(InputError, match="model="):
        load_router(tmp_path / "router")


def test_a_router_of_another_kind_is_refused(tmp_path: Path):
    PromptRouter(MODEL).save(tmp_path / "router")
    with pytest.raises(InputError, match="holds the router 'prompt', not 'confidence'"):
        ConfidenceRouter.load(tmp_path / "router", model=MODEL)


def test_all_of_it_comes_back(tmp_path: Path):
    arrays = {"vectors": np.eye(3, dtype=np.float32), "labels": np.array([1, 0, 1])}
    saved = SavedRouter(
        "knn",
        {"k": 5, "names": ["é", None]},
        arrays,
        Stamp("m", "r", "c", "s", "contains"),
        {"name": "hashing"},
        ("0a1b", "2c3d"),
    )
    saved.write(tmp_path / "router")
    read = SavedRouter.read(tmp_path / "router")
    assert replace(read, arrays={}) == replace(saved, arrays={})
    assert {name: array.tolist() for name, array in read.arrays.items()} == {
        name: array.tolist() for name, array in arrays.items()
    }
    assert SavedRouter.read(read) is read


def test_saving_again_replaces_what_was_there(tmp_path: Path):
    SavedRouter("knn", {}, {"a": np.zeros(2)}).write(tmp_path / "router")
    SavedRouter("knn", {}, {"b": np.ones(2)}).write(tmp_path / "router")
    assert list(SavedRouter.read(tmp_path / "router").arrays) == ["b"]
    assert os.listdir(tmp_path) == ["router"]


def test_what_is_read_is_in_memory(tmp_path: Path):
    SavedRouter("knn", {}, {"a": np.ones(2)}).write(tmp_path / "router")
    read = SavedRouter.read(tmp_path / "router")
    (tmp_path / "router").write_bytes(bytes(1000))  # in place, as nobody should
    assert read.arrays["a"].tolist() == [1.0, 1.0]


def test_permissions_are_those_of_any_file(tmp_path: Path):
    before = os.umask(0o027)
    try:
        SavedRouter("knn", {}).write(tmp_path / "router")
    finally:
        os.umask(before)
    assert (tmp_path / "router").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"format": 2}, "format 2 and only 1 can be read: make it anew with skr calibrate"),
        ({"kind": "os:system"}, "no router of kind 'os:system' is known here"),
        ({"parameters": {"unheard_of": 1, "wording": ROUTING_VERSION}}, "no saved prompt router"),
        ({"parameters": {"template": 0}}, "it lacks 'wording'"),
        ({"stamp": {"colour": "red"}}, "no saved prompt router"),
    ],
)
def test_broken_files_are_named(tmp_path: Path, changed: dict[str, Any], said: str):
    row = {"kind": "prompt", "stamp": {}, "parameters": {"wording": ROUTING_VERSION}}
    row |= {"format": 1, "embedder": {}, "questions": [], "arrays": [], **changed}
    write_archive(tmp_path / "router", "router.json", row, {})
    with pytest.raises(DataError, match=f"router: .*{re.escape(said)}"):
        load_router(tmp_path / "router", model=MODEL)


def test_no_router_is_an_error(tmp_path: Path):
    with pytest.raises(InputError, match="no saved router"):
        load_router(tmp_path / "router", model=MODEL)
    with pytest.raises(InputError, match="folder"):
        load_router(tmp_path, model=MODEL)
