"""One file of text and arrays: what was written comes back, and nothing else is read."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from skr_core.errors import DataError, InputError
from skr_core.files import arrays
from skr_core.files.arrays import read_archive, write_archive

TEXT = "about.json"


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
        np.arange(3, dtype=">i4"),
    ],
    ids=["nothing", "no rows", "a number", "texts", "by columns", "a part", "truth", "big end"],
)
def test_what_was_written_comes_back(array: np.ndarray, tmp_path: Path):
    path = tmp_path / "in" / "a folder" / "saved"
    write_archive(path, TEXT, {"k": ["é", 1, None]}, {"first": np.arange(3), "ünïcode.name": array})
    row, found = read_archive(path, TEXT)
    assert row == {"k": ["é", 1, None]}
    assert np.array_equal(found["ünïcode.name"], array)
    assert found["ünïcode.name"].dtype == array.dtype
    found["ünïcode.name"][...] = 0  # it belongs to whoever reads it
    with np.load(path) as loaded:  # it is numpy's own format
        assert np.array_equal(loaded["ünïcode.name"], array)


def test_the_same_content_is_the_same_bytes(tmp_path: Path):
    one, other = {"a": np.zeros(2), "b": np.ones(1)}, {"b": np.ones(1), "a": np.zeros(2)}
    write_archive(tmp_path / "one", TEXT, {"k": 1}, one)
    write_archive(tmp_path / "other", TEXT, {"k": 1}, other)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.array([object()]), "only a pickle could store"),
        (np.array([1 + 2j]), "holds complex128: save numbers"),
        (np.zeros(1, [("a", "<f4")]), "save numbers"),
        (np.array(["2026-11-22"], dtype="datetime64[D]"), "save numbers"),
    ],
)
def test_what_is_no_plain_array_is_refused(array: np.ndarray, said: str, tmp_path: Path):
    with pytest.raises(InputError, match=said):
        write_archive(tmp_path / "saved", TEXT, {}, {"a": array})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), np.float32(1), b"bytes"])
def test_what_json_does_not_hold_is_refused(value: object, tmp_path: Path):
    with pytest.raises(InputError, match="only plain JSON values can be saved"):
        write_archive(tmp_path / "saved", TEXT, {"price": value}, {})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["../up", "a/b", "", ".hidden", "a\nb", "c:d"])
def test_names_that_are_paths_are_refused(name: str, tmp_path: Path):
    with pytest.raises(InputError, match="name it by letters and digits"):
        write_archive(tmp_path / "saved", TEXT, {}, {name: np.zeros(1)})


def test_what_could_not_be_read_again_is_not_written(tmp_path: Path, monkeypatch):
    write_archive(tmp_path / "saved", TEXT, {}, {"a": np.zeros(100)})
    monkeypatch.setattr(arrays, "MOST_BYTES", 500)
    with pytest.raises(DataError, match="more than 500 bytes"):
        read_archive(tmp_path / "saved", TEXT)
    with pytest.raises(InputError, match="more than 500 bytes"):
        write_archive(tmp_path / "saved", TEXT, {}, {"a": np.zeros(100)})
    monkeypatch.undo()
    monkeypatch.setattr(arrays, "MOST_TEXT", 1)
    with pytest.raises(DataError, match=r"about\.json has more than 1 bytes"):
        read_archive(tmp_path / "saved", TEXT)


def test_a_place_that_takes_no_file_is_told(tmp_path: Path):
    with pytest.raises(InputError, match="is a folder: name a file"):
        write_archive(tmp_path, TEXT, {}, {})
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="cannot be written"):
        write_archive(tmp_path / "file" / "saved", TEXT, {}, {})
    with pytest.raises(InputError, match="there is no file"):
        read_archive(tmp_path / "missing", TEXT)


@pytest.mark.parametrize("header", [b"{'descr': '''", b"{'descr': (", b"{1: 2L, (", b"\xff" * 9])
def test_a_header_that_is_no_python_is_refused(header: bytes, tmp_path: Path):
    path = tmp_path / "saved"
    array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(TEXT, "{}")
        archive.writestr("a.npy", array)
    with pytest.raises(DataError, match="this file is broken"):
        read_archive(path, TEXT)
