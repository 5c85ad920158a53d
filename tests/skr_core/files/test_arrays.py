"""Files of arrays: what was written comes back, large arrays without taking memory."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from skr_core.errors import DataError, InputError
from skr_core.files.arrays import ALIGNED, MAPPED, PART, read_arrays, write_arrays

LARGE = np.arange(MAPPED // 8 + 3, dtype=np.float64)


def is_mapped(array: np.ndarray) -> bool:
    while array.base is not None and not isinstance(array, np.memmap):
        array = array.base  # type: ignore[assignment]
    return isinstance(array, np.memmap)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(0),
        np.zeros((0, 3), np.float32),
        np.array(2.5),
        np.array(["a", "bé"]),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(24).reshape(4, 6)[::2, 1:],
        np.array([True, False]),
        np.arange(PART // 2 + 1, dtype=np.int32),
    ],
    ids=["nothing", "no rows", "a number", "texts", "by columns", "a part", "truth", "in parts"],
)
def test_what_was_written_comes_back(array: np.ndarray, tmp_path: Path):
    path = tmp_path / "arrays.npz"
    digest = write_arrays(path, {"first": np.arange(3), "ünïcode.name": array})
    found = read_arrays(path, digest)
    assert np.array_equal(found["ünïcode.name"], array)
    assert found["ünïcode.name"].dtype == array.dtype
    with np.load(path) as loaded:  # it is numpy's own format
        assert np.array_equal(loaded["ünïcode.name"], array)


def test_large_arrays_stay_in_their_file(tmp_path: Path):
    path = tmp_path / "arrays.npz"
    columns = np.asfortranarray(LARGE[: LARGE.size // 2 * 2].reshape(2, -1))
    digest = write_arrays(path, {"a": np.arange(3), "large": LARGE, "columns": columns})
    found = read_arrays(path, digest)
    assert np.array_equal(found["large"], LARGE)
    assert np.array_equal(found["columns"], columns)
    assert is_mapped(found["large"])
    assert is_mapped(found["columns"])
    assert not is_mapped(found["a"])
    assert found["large"].ctypes.data % ALIGNED == 0
    assert not found["large"].flags.writeable


def test_what_is_mapped_outlives_a_file_that_is_written_anew(tmp_path: Path):
    path = tmp_path / "arrays.npz"
    found = read_arrays(path, write_arrays(path, {"large": LARGE}))["large"]
    write_arrays(path, {"large": np.zeros_like(LARGE)})
    assert np.array_equal(found, LARGE)


def test_an_archive_that_is_not_aligned_is_read_too(tmp_path: Path):
    path = tmp_path / "arrays.npz"
    np.savez(path, a=np.arange(3), large=LARGE)
    found = read_arrays(path, hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest())
    assert np.array_equal(found["large"], LARGE)
    assert found["large"].flags.aligned


def test_another_file_is_refused(tmp_path: Path):
    digest = write_arrays(tmp_path / "a.npz", {"a": np.arange(3)})
    write_arrays(tmp_path / "b.npz", {"a": np.arange(4)})
    with pytest.raises(DataError, match="does not belong"):
        read_arrays(tmp_path / "b.npz", digest)


def test_objects_are_refused(tmp_path: Path):
    with pytest.raises(InputError, match="only a pickle could store"):
        write_arrays(tmp_path / "arrays.npz", {"a": np.array([object()])})
    assert not list(tmp_path.iterdir())
