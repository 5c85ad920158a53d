"""The special tokens of many served models, and the places they were read from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from skr_core import cleaning

_DATA = json.loads((Path(__file__).parent / "data/chat_tokens.json").read_text(encoding="utf-8"))

MODELS: dict[str, list[str]] = {each["model"]: each["tokens"] for each in _DATA["models"]}
"""The tokens of each model."""

PLACES: dict[str, str] = {each["model"]: each["read_from"] for each in _DATA["models"]}
"""Where they were read."""

TOKENS = sorted({token for tokens in MODELS.values() for token in tokens})
"""Each token once."""


@contextmanager
def broken(tokens: Iterable[str]) -> Iterator[None]:
    """Break tokens of one's own for a while."""
    kept = cleaning._OPENING, cleaning._OPENERS, {*cleaning._OWN}
    cleaning.break_tokens(tokens)
    yield
    cleaning._OPENING, cleaning._OPENERS, cleaning._OWN = kept
    cleaning._cleaned_passage.cache_clear()
