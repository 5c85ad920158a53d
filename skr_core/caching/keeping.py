"""Keys, and what is kept under them: JSON of a dataclass.

A cache that fails, or that holds something else, is a cache that does not hold it: the question is
answered all the same, and the log says so once.
"""

from __future__ import annotations

import hashlib
import json
import logging
from typing import Any, TypeVar

from skr_core.cleaning import redact
from skr_core.errors import InputError
from skr_core.flow import Flow, call
from skr_core.plain import from_plain, to_plain
from skr_core.ports import Cache
from skr_core.texts import encodable

T = TypeVar("T")

_LOG = logging.getLogger(__name__)
_TOLD: set[type] = set()


def key_of(*parts: Any) -> str:
    """A hash of parts that JSON can hold.

    Example:
        >>> key_of("a", ["b"]) == key_of("a", ["b"]) != key_of("a", "b")
        True
    """
    joined = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.blake2b(encodable(joined).encode(), digest_size=16).hexdigest()


def look_up(cache: Cache, key: str, kind: type[T]) -> Flow[T | None]:
    """What is kept under a key; None where nothing is, or nothing that can be read."""
    try:
        kept = yield from call(cache.get, cache.aget, key)
        return None if kept is None else from_plain(kind, json.loads(kept), strict=True)
    except (ValueError, TypeError, InputError):  # of another kind, or damaged
        return None
    except Exception as error:
        _tell(cache, error)
        return None


def keep(cache: Cache, key: str, value: Any) -> Flow[None]:
    """Keep a dataclass under a key."""
    try:
        kept = json.dumps(to_plain(value), allow_nan=False)
        yield from call(cache.put, cache.aput, key, kept)
    except Exception as error:
        _tell(cache, error)


def _tell(cache: Cache, error: Exception) -> None:
    if type(cache) not in _TOLD:
        _TOLD.add(type(cache))
        line = " ".join(redact(str(error)).split())
        _LOG.warning(
            "%s fails, so it is passed over (told once): %s: %s",
            type(cache).__name__,
            type(error).__name__,
            line,
        )
