"""Files of arrays that are mapped into memory: opened at once, however large they are."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from skr_core.errors import DataError
from skr_core.files import replace_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALIGNMENT = 64
"""Bytes; where the first array begins, and so every other, the widest numbers first."""
LONGEST_HEADER = 65_536


def write_mapped(path: Path, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays of whole numbers, all at once.

    Args:
        path: The file; replaced where there is one.
        about: What is kept beside them, as JSON takes it.
        arrays: Of one dimension each.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "squares")
        >>> write_mapped(path, {"power": 2}, {"squares": np.arange(3) ** 2})
        >>> about, arrays = map_arrays(path)
        >>> about, arrays["squares"].tolist()
        ({'power': 2}, [0, 1, 4])
    """
    widest_first = sorted(arrays.items(), key=lambda each: -each[1].itemsize)
    parts = [np.ascontiguousarray(array).view(np.uint8) for _, array in widest_first]
    shapes = [[name, array.dtype.str, len(array)] for name, array in widest_first]
    header = orjson.dumps({"about": about, "arrays": shapes, "check": _checksum(parts)})
    padding = b" " * (-(len(header) + 1) % ALIGNMENT)

    def content() -> Iterator[bytes]:
        yield header + padding + b"\n"
        yield from (part.data for part in parts if len(part))  # type: ignore[misc]  # as a file takes

    replace_file(path, content())


def map_arrays(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Open what `write_mapped` has written, without a copy of it.

    Returns:
        What is kept beside the arrays, and the arrays, which cannot be written to.

    Raises:
        DataError: The file is another, or was changed.
    """
    try:
        whole = np.memmap(path, np.uint8, mode="r").view(np.ndarray)
        line, end, _ = whole[:LONGEST_HEADER].tobytes().partition(b"\n")
        header = orjson.loads(line)
        start = len(line) + len(end)
        arrays = {}
        for name, kind, length in header["arrays"]:
            dtype = np.dtype(kind)
            stop = start + dtype.itemsize * length
            if dtype.kind not in "iu" or length < 0 or stop > len(whole):
                raise ValueError(f"{name} is not of the size that it says")
            arrays[name] = whole[start:stop].view(dtype)
            start = stop
        if start != len(whole) or header["check"] != _checksum([whole[len(line) + len(end) :]]):
            raise ValueError("its checksum is another")
        return dict(header["about"]), arrays
    except (OSError, LookupError, TypeError, ValueError) as error:
        raise DataError(
            path, None, f"these are not the arrays that were saved ({error})"
        ) from error


def _checksum(parts: list[NDArray[np.uint8]]) -> int:
    value = 0
    for part in parts:
        value = zlib.crc32(part.data if len(part) else b"", value)
    return value
