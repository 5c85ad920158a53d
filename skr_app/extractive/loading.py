"""Making the extractive model by its name: ``extractive``, or ``extractive:FILE`` with a memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from skr_core.errors import InputError
from skr_core.files import read_jsonl
from skr_core.types import Reference

if TYPE_CHECKING:
    from skr_app.extractive.model import ExtractiveModel

NAME = "extractive"


def is_extractive(spec: str) -> bool:
    """Whether a model's name is that of the extractive model.

    Example:
        >>> is_extractive("extractive:memory.jsonl"), is_extractive("openai:gpt-4.1-mini")
        (True, False)
    """
    return spec.partition(":")[0] == NAME


def load_extractive(spec: str) -> ExtractiveModel:
    """Make the extractive model.

    Args:
        spec: ``extractive``, or ``extractive:`` and a JSONL file of what it knows, a line with
            ``text`` and perhaps ``title`` for each passage.

    Raises:
        InputError: There is no such file, or nothing in it.
        DataError: A line is broken.

    Example:
        >>> load_extractive("extractive").name
        'extractive'
    """
    from skr_app.extractive.model import ExtractiveModel  # which others' models do not need

    _, has_memory, file = spec.partition(":")
    if not has_memory:
        return ExtractiveModel()
    if not file:
        raise InputError(f"{spec} names no file: give extractive:FILE, or extractive alone")
    rows = [row for _, row in read_jsonl(Path(file)) if str(row.get("text") or "").strip()]
    if not rows:
        raise InputError(f"there is nothing to know in {file}: give a line with text a passage")
    return ExtractiveModel(
        [Reference.of(str(row["text"]), str(row.get("title") or "")) for row in rows]
    )
