"""Files of arrays: written without a pickle, and read as what they say they are."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping
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


def read_arrays(path: Path, digest: str) -> dict[str, NDArray[Any]]:
    """Read a file of arrays, if it is the one that was meant.

    Args:
        path: The file.
        digest: The digest of its content, as `write_arrays` returned it.

    Raises:
        DataError: It is another file, or holds anything else than numbers and short texts.
    """
    try:
        content = regular_file(path).read_bytes()
        if _digest(content) != digest:
            raise DataError(path, None, "this file does not belong to the JSON file beside it")
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if any(each.compress_type != zipfile.ZIP_STORED for each in archive.infolist()):
                raise ValueError("they are compressed")  # and may take any memory
        with np.load(io.BytesIO(content), allow_pickle=False) as archived:
            arrays = dict(archived)
        for name, array in arrays.items():
            if not isinstance(array, np.ndarray) or array.dtype.kind not in _NUMBERS:
                raise ValueError(f"{name} holds no numbers")
    except DataError:
        raise
    except (*BROKEN, EOFError, MemoryError, OSError, RuntimeError, zipfile.BadZipFile) as error:
        raise DataError(path, None, f"these are not arrays that were saved ({error})") from error
    return arrays


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
    packed = io.BytesIO()
    np.savez(packed, **arrays)  # type: ignore[arg-type]  # names of arrays, not options
    content = packed.getvalue()
    replace_file(path, content)
    return _digest(content)


def _digest(content: bytes) -> str:
    # A crash between the two files leaves the arrays of one save beside the text of another.
    return hashlib.blake2b(content, digest_size=16).hexdigest()
