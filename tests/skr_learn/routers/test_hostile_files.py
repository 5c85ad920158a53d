"""What is loaded of a router, an arbiter or a reflector runs nothing, and is refused in a line."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from skr_core import SKRError, load_router
from skr_core.errors import DataError
from skr_core.routers.saving import ARRAYS_FILE, ROUTER_FILE, SavedPart, read_saved
from skr_learn import Arbiter, Ladder, LearnedReflector
from skr_learn.routers import (
    ClassifierRouter,
    KNNRouter,
)
from tests.skr_learn.arbiters.test_ladder import RECORDS
from tests.skr_learn.routers.facts import records

pytestmark = pytest.mark.usefixtures("few_trees")

LOADED: dict[str, tuple[Callable[[], Any], Callable[[Path], Any]]] = {
    "knn": (lambda: KNNRouter.fit(records(6)), load_router),
    "classifier": (lambda: ClassifierRouter.fit(records(6)), load_router),
    "ladder": (lambda: Ladder.fit(RECORDS[::8]), load_router),
    "arbiter": (lambda: Arbiter.fit(RECORDS[::8]), Arbiter.load),
    "reflector": (lambda: LearnedReflector.fit(RECORDS[::8]), LearnedReflector.load),
}
WRONG = [None, -1, 1e308, "x", [], {}, [[[]]], {"a": 1}, True, "x" * 1000, [1e400], ["x", None]]


class Evil:
    def __reduce__(self):
        return os.system, ("touch executed",)


def write_arrays(folder: Path, packed: bytes) -> None:
    """Arrays that the JSON file vouches for, as whoever wrote both would."""
    (folder / ARRAYS_FILE).write_bytes(packed)
    row = orjson.loads((folder / ROUTER_FILE).read_bytes())
    row["arrays"] = hashlib.blake2b(packed, digest_size=16).hexdigest()
    (folder / ROUTER_FILE).write_bytes(orjson.dumps(row))


def header(shape: str, dtype: str = "'<f4'") -> bytes:
    said = f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(118)
    return b"\x93NUMPY\x01\x00" + len(said).to_bytes(2, "little") + said


def archive(content: bytes, compression: int = zipfile.ZIP_STORED, name: str = "a.npy") -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compression) as file:
        file.writestr(name, content)
    return packed.getvalue()


def saved_arrays() -> bytes:
    packed = io.BytesIO()
    np.savez(packed, a=np.zeros(64, np.float32))
    return packed.getvalue()


BOMBS = {
    "inflates": archive(header("(250000000,)") + bytes(10**8), zipfile.ZIP_DEFLATED),
    "huge shape": archive(header("(1000000000000,)")),
    "huge shapes": archive(header(f"({2**62}, {2**62})")),
    "negative": archive(header("(-1,)") + bytes(8)),
    "another size": archive(header("(3,)") + bytes(8)),
    "a pickle of objects": archive(header("(1,)", "'|O'") + pickle.dumps([Evil()])),
    "a pickle": pickle.dumps(Evil()),
    "a pickle within": archive(pickle.dumps(Evil())),
    "code in the header": archive(header("(__import__('os').system('touch executed'),)")),
    "nested": archive(header("(" * 100 + ")" * 100)),
    "no array": archive(b"text", name="../../x.npy"),
    "nothing": b"",
    "zeros": bytes(1000),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_hostile_arrays_are_refused_before_they_take_memory(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    SavedPart("knn", {}, {}, {"a": np.zeros(2)}).write(tmp_path / "router")
    write_arrays(tmp_path / "router", BOMBS[kind])
    with pytest.raises(DataError, match=rf"{ARRAYS_FILE}: these are not arrays") as caught:
        read_saved(tmp_path / "router")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "executed").exists()


def test_a_truncated_archive_is_refused_wherever_it_ends(tmp_path: Path):
    SavedPart("knn", {}, {}, {"a": np.zeros(64, np.float32)}).write(tmp_path)
    whole = saved_arrays()
    for end in range(0, len(whole), 37):
        write_arrays(tmp_path, whole[:end])
        with pytest.raises(DataError):
            read_saved(tmp_path)
    write_arrays(tmp_path, whole)
    assert read_saved(tmp_path).arrays["a"].shape == (64,)


def test_a_pipe_is_not_waited_for(tmp_path: Path):
    SavedPart("knn", {}, {}, {"a": np.zeros(2)}).write(tmp_path)
    (tmp_path / ARRAYS_FILE).unlink()
    os.mkfifo(tmp_path / ARRAYS_FILE)
    with pytest.raises(SKRError):
        read_saved(tmp_path)


@pytest.fixture(scope="module", params=LOADED)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    made, load = LOADED[request.param]
    path = tmp_path_factory.mktemp(request.param)
    made().save(path)
    load(path)
    return path, load


def refused_or_loaded(load: Callable[[Path], Any], path: Path) -> None:
    try:
        load(path)
    except SKRError as error:
        told = str(error)
    else:
        told = "loaded"
    assert told
    assert "\n" not in told


def test_any_value_in_its_text_is_loaded_or_refused_in_a_line(folder, tmp_path: Path):
    source, load = folder
    (text,) = source.glob("*.json")
    row = orjson.loads(text.read_bytes())
    for file in source.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    places = [row, row["stamp"], row["parameters"]]
    for place in places:
        for key, before in list(place.items()):
            for wrong in WRONG:
                place[key] = wrong
                (tmp_path / text.name).write_bytes(orjson.dumps(row))
                refused_or_loaded(load, tmp_path)
            del place[key]
            (tmp_path / text.name).write_bytes(orjson.dumps(row))
            refused_or_loaded(load, tmp_path)
            place[key] = before


def test_any_other_array_is_loaded_or_refused_in_a_line(folder, tmp_path: Path):
    source, load = folder
    (text,), (arrays,) = source.glob("*.json"), source.glob("*.npz")
    row = orjson.loads(text.read_bytes())
    with np.load(arrays) as loaded:
        whole = {name: loaded[name] for name in loaded.files}
    for name in list(whole)[:: 1 + len(whole) // 12]:  # a ladder's rungs are alike
        array = whole[name]
        for wrong in (
            np.zeros((0,)),
            np.zeros((0, 0), array.dtype),
            array.reshape(-1)[:1],
            np.array("text"),
            np.array(1 + 2j),
            np.full(array.shape, np.nan),
            array[..., None],
            None,
        ):
            changed = {**whole, name: wrong}
            if wrong is None:
                del changed[name]
            packed = io.BytesIO()
            np.savez(packed, **changed)
            (tmp_path / arrays.name).write_bytes(packed.getvalue())
            row["arrays"] = hashlib.blake2b(packed.getvalue(), digest_size=16).hexdigest()
            (tmp_path / text.name).write_bytes(orjson.dumps(row))
            refused_or_loaded(load, tmp_path)


def test_text_that_is_cut_deep_or_foreign_is_refused_in_a_line(folder, tmp_path: Path):
    source, load = folder
    (text,) = source.glob("*.json")
    whole = text.read_bytes()
    cuts = [whole[:end] for end in range(0, len(whole) - 2, max(1, len(whole) // 20))]
    for content in (*cuts, b"[" * 100_000, b'{"kind":' * 5_000, whole[::-1], b"\x00" * 100):
        (tmp_path / text.name).write_bytes(content)
        with pytest.raises(DataError) as caught:
            load(tmp_path)
        assert "\n" not in str(caught.value)


def test_places_outside_of_the_rows_are_refused_and_crash_nothing(tmp_path: Path):
    KNNRouter.fit(records(6)).save(tmp_path)
    saved = read_saved(tmp_path)
    (name,) = (each for each in saved.arrays if each.endswith("_indices"))
    outside = np.full_like(saved.arrays[name], 2**30)
    replace(saved, arrays={**saved.arrays, name: outside}).write(tmp_path)
    with pytest.raises(DataError):
        load_router(tmp_path)
