"""Files of arrays: written without a pickle, and read as what they say they are."""

from __future__ import annotations

import hashlib
import math
import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from skr_core.errors import DataError, InputError
from skr_core.files.reading import regular_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

BROKEN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What code meets that is given values of another kind, or of another size, than were saved."""

_NUMBERS = "biufU"
"""Kinds of arrays that are saved: numbers, and short texts."""

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_arrays(path: Path, digest: str) -> dict[str, NDArray[Any]]:
    """Read a file of arrays, if it is the one that was meant.

    Args:
        path: The file.
        digest: What `digest_of` said of its content.

    Raises:
        DataError: It is another file, or holds anything else than numbers and short texts.
    """
    try:
        packed = regular_file(path).read_bytes()
        if digest_of(packed) != digest:
            raise DataError(path, None, "this file does not belong to the JSON file beside it")
        _check(packed)
        with np.load(BytesIO(packed), allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except DataError:
        raise
    except (*BROKEN, EOFError, MemoryError, OSError, RuntimeError, zipfile.BadZipFile) as error:
        raise DataError(path, None, f"these are not arrays that were saved ({error})") from error


def _check(packed: bytes) -> None:
    """Read what each array says of itself before any memory is taken for it.

    Raises:
        ValueError: They are compressed, or say that they are of another size than they are.
    """
    with zipfile.ZipFile(BytesIO(packed)) as archive:
        entries = archive.infolist()
        if sum(entry.file_size for entry in entries) > len(packed):
            raise ValueError("they are larger than the file that holds them")
        for entry in entries:
            if entry.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"{entry.filename} is compressed")
            with archive.open(entry) as file:
                version = np.lib.format.read_magic(file)
                if version not in _HEADERS:
                    raise ValueError(f"{entry.filename} is of another version")
                shape, _, dtype = _HEADERS[version](file)
                end = file.tell() + math.prod(shape) * dtype.itemsize
                if dtype.kind not in _NUMBERS or min(shape, default=0) < 0:
                    raise ValueError(f"{entry.filename} holds no numbers")
                if end != entry.file_size:
                    raise ValueError(f"{entry.filename} is not of the shape that it says")


def pack_arrays(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The content of a file of arrays.

    Raises:
        InputError: One holds objects.

    Example:
        >>> pack_arrays({"a": np.eye(2)})[:2]
        b'PK'
    """
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise InputError(f"the array {name!r} holds objects, which only a pickle could store")
    packed = BytesIO()
    np.savez(packed, **dict(arrays))  # type: ignore[arg-type]  # the stub takes flags for arrays
    return packed.getvalue()


def digest_of(packed: bytes) -> str:
    """What tells the content of one file from that of another."""
    # A crash between the two files leaves the arrays of one save beside the text of another.
    return hashlib.blake2b(packed, digest_size=16).hexdigest()
