"""One file of a JSON text and plain arrays: a zip that holds no pickle, and is not trusted.

Nothing in it is compressed, so that what is read never takes more memory than the file has bytes.
The same content always makes the same bytes.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from tokenize import TokenError
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from skr_core.errors import DataError, InputError
from skr_core.files.reading import encodable_json, regular_file
from skr_core.files.writing import make_folder, replace_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

BROKEN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What code meets that is given values of another kind, or of another size, than were saved."""

_UNREADABLE = (
    *(EOFError, MemoryError, OSError, RuntimeError, zipfile.BadZipFile),
    *(SyntaxError, TokenError),  # of the header of an array, which is Python
)

MOST_BYTES = 1_000_000_000
"""Bytes of a file that is read."""
MOST_TEXT = 50_000_000
"""Bytes of its JSON text, which takes more memory than that once it is read."""

_NUMBERS = "biufU"
"""Kinds of arrays that are saved: numbers, and short texts."""
_NAME = re.compile(r"\w[\w.-]*")
_EPOCH = (1980, 1, 1, 0, 0, 0)


def write_archive(
    path: Path, text: str, row: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a JSON object and arrays as one file, which replaces what is there as a whole.

    Args:
        path: The file; its folder is made if missing.
        text: The name of the JSON text within the file.
        row: The object, of plain JSON values.
        arrays: The arrays by their names; of numbers or short texts.

    Raises:
        InputError: A value is none that JSON holds (NaN is none), an array holds objects, all of
            it is too large to be read again, or the file cannot be written.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "saved")
        >>> write_archive(path, "about.json", {"k": 5}, {"a": np.eye(2)})
        >>> row, arrays = read_archive(path, "about.json")
        >>> row, arrays["a"].tolist()
        ({'k': 5}, [[1.0, 0.0], [0.0, 1.0]])
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(zipfile.ZipInfo(text, _EPOCH), _as_json(row))
        for name in sorted(arrays):
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", _EPOCH), _as_npy(name, arrays[name]))
    if packed.tell() > MOST_BYTES:
        raise InputError(f"{path} would have more than {MOST_BYTES:,} bytes: save less")
    if path.is_dir():
        raise InputError(f"{path} is a folder: name a file")
    try:
        make_folder(path.parent)
        replace_file(path, packed.getvalue())
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error}") from error


def read_archive(path: Path, text: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read into memory what `write_archive` wrote, and close the file.

    Args:
        path: The file.
        text: The name of the JSON text within it.

    Raises:
        InputError: There is no such file.
        DataError: It holds anything else than one JSON object and arrays of numbers and short
            texts, or is not as large as it says.
    """
    try:
        with regular_file(path).open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            if size > MOST_BYTES:
                raise ValueError(f"it has more than {MOST_BYTES:,} bytes")
            with zipfile.ZipFile(file) as archive:
                return _unpacked(archive, text, size)
    except (*BROKEN, *_UNREADABLE) as error:
        if isinstance(error, InputError):
            raise
        problem = " ".join(str(error).split())[:200]
        raise DataError(path, None, f"this file is broken, or of another kind ({problem})") from (
            error
        )


def _as_json(row: Mapping[str, Any]) -> bytes:
    try:
        text = json.dumps(encodable_json(row), allow_nan=False, ensure_ascii=False, indent=2)
    except (TypeError, ValueError) as error:
        raise InputError(f"only plain JSON values can be saved: {error}") from error
    return text.encode()


def _as_npy(name: str, array: NDArray[Any]) -> bytes:
    if not _NAME.fullmatch(name):
        raise InputError(f"an array cannot be saved as {name!r}: name it by letters and digits")
    if array.dtype.hasobject:
        raise InputError(f"the array {name!r} holds objects, which only a pickle could store")
    if array.dtype.kind not in _NUMBERS:
        raise InputError(f"the array {name!r} holds {array.dtype}: save numbers or short texts")
    packed = io.BytesIO()
    np.lib.format.write_array(packed, array, version=(1, 0), allow_pickle=False)
    return packed.getvalue()


def _unpacked(
    archive: zipfile.ZipFile, text: str, size: int
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    members = archive.infolist()
    names = [member.filename for member in members]
    # Neither compressed parts nor parts that share their bytes: all are as large as the file.
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise ValueError("a part is compressed")
    if sum(member.file_size for member in members) > size or len(set(names)) < len(names):
        raise ValueError("its parts overlap")
    if text not in names:
        raise ValueError(f"there is no {text} in it")
    if archive.getinfo(text).file_size > MOST_TEXT:
        raise ValueError(f"{text} has more than {MOST_TEXT:,} bytes")
    row = orjson.loads(archive.read(text))
    if not isinstance(row, dict):
        raise ValueError(f"{text} is no object")
    arrays = {}
    for name in names:
        stem, ending = name[:-4], name[-4:]
        if name == text:
            continue
        if ending != ".npy" or not _NAME.fullmatch(stem):
            raise ValueError(f"it holds {name!r}")
        arrays[stem] = _from_npy(stem, archive.read(name))
    return row, arrays


def _from_npy(name: str, content: bytes) -> NDArray[Any]:
    """Return the array, once its header is found to say the truth."""
    file = io.BytesIO(content)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError(f"{name} is of another format")
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.hasobject or dtype.kind not in _NUMBERS or not dtype.itemsize:
        raise ValueError(f"{name} holds no numbers")
    if any(length < 0 for length in shape) or (
        math.prod(shape) * dtype.itemsize != len(content) - file.tell()
    ):
        raise ValueError(f"{name} is not as large as it says")
    array: NDArray[Any] = (
        np.frombuffer(content, dtype, offset=file.tell())
        if math.prod(shape)
        else np.empty(0, dtype)
    )
    if dtype.kind == "b" and (array.view(np.uint8) > 1).any():  # numpy itself trusts these bytes
        raise ValueError(f"{name} holds values that are neither true nor false")
    return array.reshape(shape, order="F" if by_columns else "C").copy(order="K")
