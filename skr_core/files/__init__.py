"""Files that survive, and others' files read safely: JSON Lines, whole files, a log."""

from skr_core.files.changing import AppendOnlyFile, cut_torn_line, replace_file, sync_folder
from skr_core.files.jsonl import encodable_json, json_line, read_jsonl
from skr_core.files.keyed_log import KeyedLog
from skr_core.files.reading import in_utf8, read_lines, read_whole, regular_file

__all__ = [
    "AppendOnlyFile",
    "KeyedLog",
    "cut_torn_line",
    "encodable_json",
    "in_utf8",
    "json_line",
    "read_jsonl",
    "read_lines",
    "read_whole",
    "regular_file",
    "replace_file",
    "sync_folder",
]
