"""Files that survive, and others' files read safely: rows of any format, whole files, a log."""

from skr_core.files.reading import (
    encodable_json,
    in_utf8,
    json_line,
    read_jsonl,
    read_lines,
    read_whole,
    regular_file,
)
from skr_core.files.rows import (
    Place,
    frame_of,
    kind_of,
    read_rows,
    rows_of_columns,
    write_rows,
)
from skr_core.files.writing import (
    AppendOnlyFile,
    KeyedLog,
    cut_torn_line,
    make_folder,
    replace_file,
    sync_folder,
)

__all__ = [
    "AppendOnlyFile",
    "KeyedLog",
    "Place",
    "cut_torn_line",
    "encodable_json",
    "frame_of",
    "in_utf8",
    "json_line",
    "kind_of",
    "make_folder",
    "read_jsonl",
    "read_lines",
    "read_rows",
    "read_whole",
    "regular_file",
    "replace_file",
    "rows_of_columns",
    "sync_folder",
    "write_rows",
]
