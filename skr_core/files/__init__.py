"""Files that survive, and others' files read safely: JSON Lines, whole files, a log."""

from skr_core.files.reading import (
    encodable_json,
    in_utf8,
    json_line,
    read_jsonl,
    read_lines,
    read_whole,
    regular_file,
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
    "cut_torn_line",
    "encodable_json",
    "in_utf8",
    "json_line",
    "make_folder",
    "read_jsonl",
    "read_lines",
    "read_whole",
    "regular_file",
    "replace_file",
    "sync_folder",
]
