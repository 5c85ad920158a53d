"""redact: keys of the outside, taken out of what is told of its failures.

A server may send back the header that it was sent, and what it says ends in errors, logs, traces,
checkpoints and records. Whoever holds a key says so with `remember`; those in the environment are
known, and so are the forms that keys and tokens commonly have.

Example:
    >>> remember("correct-horse-battery")
    >>> redact("401: no such key correct-horse-battery (Authorization: Bearer abcdefgh12345678)")
    '401: no such key [redacted] (Authorization: Bearer [redacted])'
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from skr_core.cleaning import cleaned
from skr_core.patterns import lazy_pattern

REDACTED = "[redacted]"
SHORTEST = 8
"""Shorter texts are no keys, but placeholders such as ``none``, and would be found in any word."""

_HELD: set[str] = set()
_NAMES = ("API_KEY", "APIKEY", "ACCESS_KEY", "_TOKEN", "_SECRET", "PASSWORD")
_FORMS = lazy_pattern(
    r"(?P<said>(?i:\bbearer\s+|\bauthorization\W{1,4}(?:basic\s+)?"
    r"|\b(?:api[-_]?key|access[-_]token)[\"']?\s*[=:]\s*[\"']?|://[^/\s:@]{1,64}:(?=[^/\s@]+@)))"
    r"(?!bearer\b)[\w.~+/=-]{8,}"
    r"|\b(?:sk|pk|gsk|hf|xai|ghp|pplx)[-_][A-Za-z0-9_-]{16,}"
    r"|\bAIza[\w-]{30,}"
)


def remember(secret: str | None) -> None:
    """Take a key out of all that is told from now on."""
    if secret and len(secret) >= SHORTEST:
        _HELD.add(secret)


def remember_keys(model: object) -> None:
    """`remember` the keys among the settings of a framework's model."""
    for name in getattr(type(model), "model_fields", ()):
        value = vars(model).get(name)
        # LangChain's keys are pydantic's secrets, LlamaIndex's plain texts under such a name.
        if (reveal := getattr(value, "get_secret_value", None)) is not None:
            remember(str(reveal()))
        elif isinstance(value, str) and name.upper().endswith(_NAMES):
            remember(value)


def redact(text: str) -> str:
    """A message without keys, those that are held and what looks like one; cleaned.

    What failed may quote a passage, and a message is shown in terminals and logs.
    """
    found = _FORMS.sub(lambda found: (found["said"] or "") + REDACTED, without_held(text))
    return cleaned(found)


def without_held(text: str) -> str:
    """A text without the keys that are held, and nothing else changed.

    Example:
        >>> remember("correct-horse-battery")
        >>> without_held("It is correct-horse-battery, sk-abcdefghijklmnopqrstuvwx.")
        'It is [redacted], sk-abcdefghijklmnopqrstuvwx.'
    """
    for secret in sorted({*_HELD, *_in_environment()}, key=len, reverse=True):
        if secret in text:
            text = text.replace(secret, REDACTED)
    return text


def redact_exception(error: BaseException) -> None:
    """Take keys out of another library's exception, and of what it was raised from: in place.

    Tracebacks show the messages of all of them.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        error.args = tuple(_redacted(each) for each in error.args)
        for name, value in list(vars(error).items()):
            if isinstance(value, str | Mapping) and (clean := _redacted(value)) != value:
                setattr(error, name, clean)
        error = error.__cause__ or error.__context__  # type: ignore[assignment]


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {name: _redacted(each) for name, each in value.items()}
    return [_redacted(each) for each in value] if isinstance(value, list) else value


def _in_environment() -> Iterator[str]:
    for name in os.environ:
        if name.endswith(_NAMES) and len(value := os.environ.get(name, "")) >= SHORTEST:
            yield value
