"""Files of arrays: written without a pickle, and read as what they say they are."""

from __future__ import annotations

import hashlib
import math
import struct
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from skr_core.errors import DataError, InputError
from skr_core.files.reading import regular_file
from skr_core.files.writing import replace_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

BROKEN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What code meets that is given values of another kind, or of another size, than were saved."""

_NUMBERS = "biufU"
"""Kinds of arrays that are saved: numbers, and short texts."""

MAPPED = 2**24
"""Bytes from which an array stays in its file, and is read where it is needed."""
PART = 2**22
"""Bytes that are written at a time."""
ALIGNED = 64
"""Bytes to whose multiples an array begins, so that it can be computed with where it is."""

_DIGEST = 16
_LOCAL_HEADER = 30
_ZIP64 = 20
_PADDING = 0xD935
"""The id of an extra field that means nothing, as Android packages are aligned by it."""

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_arrays(path: Path, digest: str) -> dict[str, NDArray[Any]]:
    """Read a file of arrays, if it is the one that was meant.

    Large arrays are mapped: they take no memory until they are read, which several processes share.

    Args:
        path: The file.
        digest: The digest of its content, as `write_arrays` returned it.

    Raises:
        DataError: It is another file, or holds anything else than numbers and short texts.
    """
    try:
        packed = np.asarray(np.memmap(regular_file(path), dtype=np.uint8, mode="r"))
        if hashlib.blake2b(packed.data, digest_size=_DIGEST).hexdigest() != digest:
            raise DataError(path, None, "this file does not belong to the JSON file beside it")
        return dict(_unpacked(path, packed))
    except DataError:
        raise
    except (*BROKEN, EOFError, MemoryError, OSError, RuntimeError, zipfile.BadZipFile) as error:
        raise DataError(path, None, f"these are not arrays that were saved ({error})") from error


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Write a file of arrays all at once, and return the digest of its content.

    Raises:
        InputError: One holds objects.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "arrays.npz")
        >>> read_arrays(path, write_arrays(path, {"a": np.eye(2)}))["a"].tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise InputError(f"the array {name!r} holds objects, which only a pickle could store")
    # A crash between the two files leaves the arrays of one save beside the text of another.
    digest = hashlib.blake2b(digest_size=_DIGEST)

    def parts() -> Iterator[bytes]:
        for part in _packed(arrays):
            digest.update(part)
            yield part

    replace_file(path, parts())
    return digest.hexdigest()


class _Written:
    """A file that only goes forward, whose content is taken as it grows."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, part: bytes) -> int:
        self._parts.append(bytes(part))
        return len(part)

    def flush(self) -> None:
        """Nothing waits."""

    def taken(self) -> bytes:
        """What was written since."""
        parts, self._parts = self._parts, []
        return b"".join(parts)


def _packed(arrays: Mapping[str, NDArray[Any]]) -> Iterator[bytes]:
    """The content of a file of arrays, as `numpy.savez` writes it, but aligned."""
    written, place = _Written(), 0
    with zipfile.ZipFile(written, "w") as archive:  # type: ignore[call-overload]  # needs no seek
        for name, array in arrays.items():
            info = zipfile.ZipInfo(f"{name}.npy")
            before = place + _LOCAL_HEADER + len(info.filename.encode()) + _ZIP64
            padding = 4 + -(before + 4) % ALIGNED
            info.extra = struct.pack("<HH", _PADDING, padding - 4) + bytes(padding - 4)
            with archive.open(info, "w", force_zip64=True) as entry:
                np.lib.format.write_array_header_1_0(
                    entry, np.lib.format.header_data_from_array_1_0(array)
                )
                flat = array.reshape(-1, order="F" if array.flags.fnc else "C")
                step = max(1, PART // max(1, array.itemsize))
                for start in range(0, flat.size, step):
                    entry.write(flat[start : start + step].tobytes())
                    part = written.taken()
                    place += len(part)
                    yield part
            part = written.taken()
            place += len(part)
            yield part
    yield written.taken()


def _unpacked(path: Path, packed: NDArray[np.uint8]) -> Iterator[tuple[str, NDArray[Any]]]:
    """Each array with its name, by what it says of itself; memory is taken for none that is large.

    Raises:
        ValueError: They are compressed, or say that they are of another size than they are.
    """
    with zipfile.ZipFile(path) as archive:
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
                shape, by_columns, dtype = _HEADERS[version](file)
                size = math.prod(shape) * dtype.itemsize
                if dtype.kind not in _NUMBERS or min(shape, default=0) < 0:
                    raise ValueError(f"{entry.filename} holds no numbers")
                if file.tell() + size != entry.file_size:
                    raise ValueError(f"{entry.filename} is not of the shape that it says")
                begin = _begin_of(packed, entry) + file.tell()
            found = packed[begin : begin + size].view(dtype)
            found = found.reshape(shape, order="F" if by_columns else "C")
            is_mapped = size >= MAPPED and found.flags.aligned
            yield entry.filename.removesuffix(".npy"), found if is_mapped else found.copy("K")


def _begin_of(packed: NDArray[np.uint8], entry: zipfile.ZipInfo) -> int:
    """Where the content of an entry begins."""
    header = packed[entry.header_offset : entry.header_offset + _LOCAL_HEADER].tobytes()
    name, extra = struct.unpack("<HH", header[-4:])
    return entry.header_offset + _LOCAL_HEADER + int(name) + int(extra)
