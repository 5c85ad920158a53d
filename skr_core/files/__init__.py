"""Files that survive: JSON Lines, a file replaced whole, a log that is appended to."""

from skr_core.files.changing import AppendOnlyFile, cut_torn_line, replace_file, sync_folder
from skr_core.files.jsonl import encodable_json, json_line, read_jsonl, read_lines
from skr_core.files.keyed_log import KeyedLog

__all__ = [
    "AppendOnlyFile",
    "KeyedLog",
    "cut_torn_line",
    "encodable_json",
    "json_line",
    "read_jsonl",
    "read_lines",
    "replace_file",
    "sync_folder",
]
