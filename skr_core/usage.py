"""Counting tokens where the provider does not.

tiktoken downloads its encodings. Where it is installed and its data is at hand (a filled cache
folder, or the copy that ships inside llama-index-core) the count is exact for OpenAI's models;
elsewhere it is an estimate and marked as one. Nothing fails for want of a download.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from skr_core.texts import encodable
from skr_core.types import Prompt, Usage

ENCODING = "o200k_base"
# The cache file of an encoding is named by the SHA-1 of its address.
_CACHE_NAME = "fb374d419588a4632f3f557e76b4b70aebbca790"
# English prose in o200k_base: 4 to 4.5 characters a token; 4 errs on the side of counting more.
CHARACTERS_PER_TOKEN = 4
# A long run without spaces takes the tokeniser quadratic time: a hostile megabyte, minutes.
LONGEST_COUNTED = 100_000


@dataclass(frozen=True, slots=True)
class TokenCount:
    """A number of tokens, and whether it was estimated from the length of the text."""

    tokens: int
    estimated: bool


def count_tokens(text: str) -> TokenCount:
    """Count the tokens of a text, or estimate them where tiktoken's data is not at hand.

    Example:
        >>> count_tokens("").tokens
        0
    """
    encode = _encoder()
    if encode is None or len(text) > LONGEST_COUNTED:
        return tokens_by_length(text)
    return TokenCount(encode(text), estimated=False)


def tokens_by_length(text: str) -> TokenCount:
    """Estimate the tokens of a text without tiktoken, whose data takes a quarter second to load.

    Example:
        >>> tokens_by_length("It is a tower in Paris.")
        TokenCount(tokens=6, estimated=True)
    """
    return TokenCount(-(-len(text) // CHARACTERS_PER_TOKEN), estimated=True)


def estimate_usage(
    prompt: Prompt, reply: str, count: Callable[[str], TokenCount] = count_tokens
) -> Usage:
    """Usage of one call whose provider gave no figures; always marked as an estimate."""
    sent = sum(count(turn).tokens for turn in (prompt.system, *prompt.history, prompt.text))
    return Usage(sent, count(reply).tokens, calls=1, estimated=True)


@cache
def _encoder() -> Callable[[str], int] | None:
    folder = _folder_of_encodings()
    if folder is None:
        return None
    with suppress(ImportError, OSError, ValueError):
        import tiktoken

        before = os.environ.get("TIKTOKEN_CACHE_DIR")
        os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
        try:
            encoding = tiktoken.get_encoding(ENCODING)
        finally:
            if before is None:
                del os.environ["TIKTOKEN_CACHE_DIR"]
            else:
                os.environ["TIKTOKEN_CACHE_DIR"] = before
        return lambda text: len(
            # A lone surrogate cannot be encoded; it counts as the replacement character.
            encoding.encode_ordinary(encodable(text))
        )
    return None


def _folder_of_encodings() -> Path | None:
    """The first folder that already holds the encoding; looking never downloads."""
    candidates = [Path(folder) for folder in (os.environ.get("TIKTOKEN_CACHE_DIR"),) if folder]
    package = find_spec("llama_index")
    for root in (package.submodule_search_locations or []) if package else []:
        candidates.append(Path(root) / "core" / "_static" / "tiktoken_cache")
    return next((folder for folder in candidates if (folder / _CACHE_NAME).is_file()), None)
