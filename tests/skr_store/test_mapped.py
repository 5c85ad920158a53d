import numpy as np
import orjson
import pytest

from skr_core.errors import DataError
from skr_store.mapped import ALIGNMENT, map_arrays, write_mapped

ARRAYS = {
    "small": np.arange(7, dtype=np.uint8),
    "none": np.zeros(0, np.uint32),
    "wide": np.arange(5, dtype=np.uint64) << 40,
    "signed": np.array([-3, 4], np.int16),
}


def test_what_is_written_is_read_and_cannot_be_changed(tmp_path):
    path = tmp_path / "arrays"
    write_mapped(path, {"name": "größer"}, ARRAYS)
    about, arrays = map_arrays(path)
    assert about == {"name": "größer"}
    assert {name: array.tolist() for name, array in arrays.items()} == {
        name: array.tolist() for name, array in ARRAYS.items()
    }
    assert all(arrays[name].dtype == array.dtype for name, array in ARRAYS.items())
    assert all(array.flags.aligned for array in arrays.values())
    assert path.read_bytes().index(b"\n") % ALIGNMENT == ALIGNMENT - 1
    with pytest.raises(ValueError, match="read-only"):
        arrays["small"][0] = 1


def test_every_changed_byte_and_every_cut_is_noticed(tmp_path):
    path = tmp_path / "arrays"
    write_mapped(path, {}, ARRAYS)
    whole = path.read_bytes()
    start = whole.index(b"\n") + 1
    for place in range(start, len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(DataError, match="checksum"):
            map_arrays(path)
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(DataError):
            map_arrays(path)


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"[]",
        b"text",
        {"about": {}, "arrays": [["a", "<u4", -1]], "check": 0},
        {"about": {}, "arrays": [["a", "<u4", 2**60]], "check": 0},
        {"about": {}, "arrays": [["a", "O", 1]], "check": 0},
        {"about": {}, "arrays": [["a", "<U8", 1]], "check": 0},
        {"about": {}, "arrays": [["a", 7, 1]], "check": 0},
        {"about": {}, "arrays": [["a", "<u4", "8"]], "check": 0},
        {"about": 3, "arrays": [], "check": 0},
    ],
)
def test_what_is_no_file_of_arrays_is_refused(tmp_path, header):
    line = header if isinstance(header, bytes) else orjson.dumps(header) + b"\n"
    path = tmp_path / "arrays"
    path.write_bytes(line)
    with pytest.raises(DataError):
        map_arrays(path)
    with pytest.raises(DataError):
        map_arrays(tmp_path / "missing")
