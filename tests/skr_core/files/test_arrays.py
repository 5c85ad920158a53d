"""Files of arrays: what was written comes back, and nothing else is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from skr_core.errors import DataError, InputError
from skr_core.files.arrays import read_arrays, write_arrays


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
    ],
    ids=["nothing", "no rows", "a number", "texts", "by columns", "a part", "truth"],
)
def test_what_was_written_comes_back(array: np.ndarray, tmp_path: Path):
    path = tmp_path / "arrays.npz"
    digest = write_arrays(path, {"first": np.arange(3), "ünïcode.name": array})
    found = read_arrays(path, digest)
    assert np.array_equal(found["ünïcode.name"], array)
    assert found["ünïcode.name"].dtype == array.dtype
    with np.load(path) as loaded:  # it is numpy's own format
        assert np.array_equal(loaded["ünïcode.name"], array)


def test_another_file_is_refused(tmp_path: Path):
    digest = write_arrays(tmp_path / "a.npz", {"a": np.arange(3)})
    write_arrays(tmp_path / "b.npz", {"a": np.arange(4)})
    with pytest.raises(DataError, match="does not belong"):
        read_arrays(tmp_path / "b.npz", digest)


def test_objects_are_refused(tmp_path: Path):
    with pytest.raises(InputError, match="only a pickle could store"):
        write_arrays(tmp_path / "arrays.npz", {"a": np.array([object()])})
    assert not list(tmp_path.iterdir())
