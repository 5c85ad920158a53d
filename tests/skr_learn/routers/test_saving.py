"""Routers are saved as text and arrays, and loaded only for what they were made with."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import orjson
import pytest

from skr_core import load_router
from skr_core.errors import DataError, InputError, StampMismatch
from skr_core.routers import (
    CertaintyLevelRouter,
    ConfidenceRouter,
    ModelRouter,
    PromptRouter,
    UncertaintyRouter,
)
from skr_core.routers.saving import ARRAYS_FILE, ROUTER_FILE, SavedPart, read_saved
from skr_core.testing import ScriptedModel
from skr_learn.routers import InContextRouter

MODEL = ScriptedModel(["Yes."], name="m")
MAKERS: dict[str, Callable[[], ModelRouter]] = {
    "prompt": lambda: PromptRouter(MODEL, template="can_solve"),
    "in_context": lambda: InContextRouter(MODEL, known=["a?"], unknown=["b?", "c?"]),
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
    assert [path.name for path in (tmp_path / "router").iterdir()] == [ROUTER_FILE]


@every
def test_another_model_is_refused_unless_forced(tmp_path: Path, kind: str):
    router = MAKERS[kind]()
    router.save(tmp_path)
    other = ScriptedModel(["Yes."], name="other")
    with pytest.raises(StampMismatch, match="model 'm', not 'other'"):
        load_router(tmp_path, model=other)
    assert isinstance(load_router(tmp_path, model=other, force=True), type(router))


@every
def test_another_wording_is_refused(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch):
    MAKERS[kind]().save(tmp_path)
    monkeypatch.setattr("skr_core.routers.model_routers.ROUTING_VERSION", "later")
    with pytest.raises(StampMismatch, match="wording"):
        load_router(tmp_path, model=MODEL)


@every
def test_a_router_that_asks_needs_a_model(tmp_path: Path, kind: str):
    MAKERS[kind]().save(tmp_path)
    with pytest.raises(InputError, match="model="):
        load_router(tmp_path)


def test_a_router_of_another_kind_is_refused(tmp_path: Path):
    PromptRouter(MODEL).save(tmp_path)
    with pytest.raises(InputError, match="holds a prompt router"):
        ConfidenceRouter.load(tmp_path, model=MODEL)


def test_arrays_come_back(tmp_path: Path):
    arrays = {"vectors": np.eye(3, dtype=np.float32), "labels": np.array([1, 0, 1])}
    SavedPart("knn", {"embedder": "hashing"}, {"k": 5}, arrays).write(tmp_path)
    saved = read_saved(tmp_path)
    assert (saved.kind, saved.stamp, saved.parameters) == ("knn", {"embedder": "hashing"}, {"k": 5})
    assert {name: array.tolist() for name, array in saved.arrays.items()} == {
        name: array.tolist() for name, array in arrays.items()
    }


def test_saving_again_replaces_what_was_there(tmp_path: Path):
    SavedPart("knn", {}, {}, {"a": np.zeros(2)}).write(tmp_path)
    SavedPart("knn", {}, {}, {"a": np.ones(2)}).write(tmp_path)
    assert read_saved(tmp_path).arrays["a"].tolist() == [1.0, 1.0]


def test_objects_are_not_stored(tmp_path: Path):
    with pytest.raises(InputError, match="pickle"):
        SavedPart("knn", {}, {}, {"a": np.array([{}], dtype=object)}).write(tmp_path)


def test_arrays_of_another_save_are_noticed(tmp_path: Path):
    SavedPart("knn", {}, {}, {"a": np.zeros(2)}).write(tmp_path / "one")
    SavedPart("knn", {}, {}, {"a": np.ones(2)}).write(tmp_path / "two")
    (tmp_path / "two" / ARRAYS_FILE).replace(tmp_path / "one" / ARRAYS_FILE)
    with pytest.raises(DataError, match="does not belong"):
        read_saved(tmp_path / "one")


def test_a_pickle_is_never_opened(tmp_path: Path):
    folder = tmp_path / "router"
    SavedPart("knn", {}, {}, {"a": np.zeros(2)}).write(folder)
    (folder / ARRAYS_FILE).write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(DataError):
        read_saved(folder)
    (folder / ARRAYS_FILE).unlink()
    with pytest.raises(DataError):
        read_saved(folder)


GOOD = {"kind": "prompt", "version": 2, "stamp": {}, "parameters": {"template": 0}, "arrays": ""}


@pytest.mark.parametrize(
    "row",
    [
        b"not json",
        b"[]",
        b"{}",
        orjson.dumps({**GOOD, "version": 1}),
        orjson.dumps({**GOOD, "stamp": []}),
        orjson.dumps({**GOOD, "parameters": 3}),
        orjson.dumps({**GOOD, "kind": "os:system"}),
        orjson.dumps({**GOOD, "parameters": {"unheard_of": 1}}),
    ],
    ids=lambda row: row.decode()[:60],
)
def test_broken_files_are_named(tmp_path: Path, row: bytes):
    (tmp_path / ROUTER_FILE).write_bytes(row)
    with pytest.raises(DataError, match=ROUTER_FILE):
        load_router(tmp_path, model=MODEL)


def test_no_router_is_an_error(tmp_path: Path):
    with pytest.raises(InputError, match="no saved router"):
        load_router(tmp_path, model=MODEL)
