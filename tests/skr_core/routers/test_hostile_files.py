"""What the file of a router holds is never run, and is refused in a line without much memory."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from skr_core import SKRError, load_router
from skr_core.errors import DataError
from skr_core.routers import AlwaysRetrieve, CertaintyLevelRouter, PromptRouter, UncertaintyRouter
from skr_core.routers.saving import SavedRouter
from skr_core.testing import ScriptedModel

MODEL = ScriptedModel(["No."], name="m")
SAVED: dict[str, Callable[[], Any]] = {
    "always": lambda: AlwaysRetrieve(max_rounds=2),
    "prompt": lambda: PromptRouter(MODEL),
    "certainty_level": lambda: CertaintyLevelRouter(MODEL),
    "uncertainty": lambda: UncertaintyRouter(MODEL),
}
GOOD = {
    "format": 1,
    "kind": "always",
    "stamp": {},
    "embedder": {},
    "parameters": {},
    "questions": [],
    "arrays": [],
}
WRONG = [None, -1, 1e308, "x", [], {}, [[[]]], {"a": 1}, True, "x" * 1000, ["x", None]]


class Evil:
    def __reduce__(self):
        return os.system, ("touch executed",)


def header(shape: str, dtype: str = "'<f4'") -> bytes:
    said = f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(118)
    return b"\x93NUMPY\x01\x00" + len(said).to_bytes(2, "little") + said


def archive(
    *members: tuple[str, bytes], text: bytes = orjson.dumps(GOOD), compression: int = 0
) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compression) as file:
        for name, content in (("router.json", text), *members):
            file.writestr(name, content)
    return packed.getvalue()


def array(content: bytes) -> bytes:
    return archive(("a.npy", content))


def sharing(times: int) -> bytes:
    """A file whose members are all the same bytes of it."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("router.json", orjson.dumps(GOOD))
        file.writestr("a.npy", header("(25000,)") + bytes(100_000))
        for number in range(times):
            twin = zipfile.ZipInfo(f"b{number}.npy")
            one = file.getinfo("a.npy")
            twin.header_offset, twin.CRC = one.header_offset, one.CRC
            twin.file_size = twin.compress_size = one.file_size
            file.filelist.append(twin)
    return packed.getvalue()


def lying(member: str, size: int) -> bytes:
    """A file whose list of members says another size than there is."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("router.json", orjson.dumps(GOOD))
        file.writestr("a.npy", header("(2,)") + bytes(8))
        file.getinfo(member).file_size = file.getinfo(member).compress_size = size
    return packed.getvalue()


ZIPPED = zipfile.ZIP_DEFLATED
HOSTILE = {
    "inflates": archive(("a.npy", header("(25000000,)") + bytes(10**8)), compression=ZIPPED),
    "an inflating text": archive(text=b'{"kind": "' + b" " * 10**8 + b'"}', compression=ZIPPED),
    "shared bytes": sharing(1000),
    "larger than it is": lying("a.npy", 2**31),
    "a larger text": lying("router.json", 2**31),
    "smaller than it is": lying("a.npy", 130),
    "huge shape": array(header("(1000000000000,)")),
    "huge shapes": array(header(f"({2**62}, {2**62})")),
    "huge and empty": array(header(f"({2**62}, 0)")),
    "many axes": array(header(f"({'1, ' * 99})") + bytes(4)),
    "negative": array(header("(-1,)") + bytes(8)),
    "twice negative": array(header("(-1, -2)") + bytes(8)),
    "another size": array(header("(3,)") + bytes(8)),
    "no bytes each": array(header("(1000000000000,)", "'<U0'")),
    "neither true nor false": array(header("(2,)", "'|b1'") + b"\x02\xff"),
    "a pickle of objects": array(header("(1,)", "'|O'") + pickle.dumps([Evil()])),
    "fields of objects": array(header("(1,)", "[('a', '|O')]") + bytes(8)),
    "a pickle": pickle.dumps(Evil()),
    "a pickle within": array(pickle.dumps(Evil())),
    "code in the header": array(header("(__import__('os').system('touch executed'),)")),
    "a nested header": array(header("(" * 100 + ")" * 100)),
    "another version": array(header("(2,)").replace(b"\x01\x00", b"\x07\x07", 1) + bytes(8)),
    "a path": archive(("../../x.npy", header("(2,)") + bytes(8))),
    "a full path": archive(("/etc/x.npy", header("(2,)") + bytes(8))),
    "something else": archive(("run.py", b"import os")),
    "no text": zipfile.ZipFile(empty := io.BytesIO(), "w").close() or empty.getvalue(),
    "nothing": b"",
    "zeros": bytes(1000),
    "deep text": archive(text=b"[" * 100_000),
    "deep objects": archive(text=b'{"kind":' * 5_000),
    "not a number": archive(text=orjson.dumps(GOOD).replace(b"{}", b'{"a":NaN}')),
    "too large a number": archive(text=orjson.dumps(GOOD).replace(b"{}", b'{"a":1e400}')),
    "no object": archive(text=b"[]"),
    "no UTF-8": archive(text=b'{"kind": "\xff"}'),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_files_are_refused_before_they_take_memory(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    resource = pytest.importorskip("resource")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "router").write_bytes(HOSTILE[kind])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DataError, match="router: ") as caught:
        load_router(tmp_path / "router")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kilobytes
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "executed").exists()


def test_members_of_one_name_are_refused(tmp_path: Path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        content = archive(*[("a.npy", header("(2,)") + bytes(8))] * 2)
    (tmp_path / "router").write_bytes(content)
    with pytest.raises(DataError, match="overlap"):
        SavedRouter.read(tmp_path / "router")


def test_a_truncated_or_damaged_file_is_refused_wherever_it_is(tmp_path: Path):
    path = tmp_path / "router"
    SavedRouter("knn", {"k": 5}, {"a": np.arange(64.0)}, questions=("ab",)).write(path)
    whole, saved = path.read_bytes(), SavedRouter.read(path)
    for end in range(0, len(whole) - 1, 7):
        path.write_bytes(whole[:end])
        with pytest.raises(DataError):
            SavedRouter.read(path)
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            read = SavedRouter.read(path)
        except DataError:
            continue  # else it was a byte that says nothing, such as a date's
        assert read.parameters == saved.parameters
        assert np.array_equal(read.arrays["a"], saved.arrays["a"])


def test_a_pipe_is_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "router")
    with pytest.raises(SKRError, match="pipe"):
        SavedRouter.read(tmp_path / "router")


@pytest.mark.parametrize("kind", SAVED)
def test_any_value_in_its_text_is_loaded_or_refused_in_a_line(kind: str, tmp_path: Path):
    path = tmp_path / "router"
    SAVED[kind]().save(path)
    with zipfile.ZipFile(path) as file:
        row = orjson.loads(file.read("router.json"))
    told = []
    for changed in changes(row):
        path.write_bytes(archive(text=orjson.dumps(changed)))
        try:
            load_router(path, model=MODEL)
        except SKRError as error:
            told.append(str(error))
    assert len(told) > len(WRONG)
    assert not [each for each in told if "\n" in each]


def changes(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The text with each value replaced by each wrong one, or missing."""
    found = []
    for key in row:
        found += [{**row, key: wrong} for wrong in WRONG]
        found.append({name: value for name, value in row.items() if name != key})
        if isinstance(row[key], dict):
            found += [{**row, key: each} for each in changes(row[key])]
    return found
