"""A reply that is wrapped up: in JSON, or in one fence around all of it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from skr_core.patterns import lazy_pattern
from skr_core.replies.tokens import read_verdict

_FENCED = lazy_pattern(r"\s*(?:`{3,}|~{3,})[^\n`]{0,20}\n(?P<inside>.*)", re.DOTALL)
_FENCE_LINE = lazy_pattern(r"^[ \t]*(?:`{3,}|~{3,}).*$", re.MULTILINE)
_LAST_FENCE = lazy_pattern(r"\n?[ \t]*(?:`{3,}|~{3,})\s*\Z")
_VERDICT = ("verdict", "sufficient", "sufficiency", "status", "judgement", "judgment", "decision")
_ANSWER = (
    "answer",
    "text",
    "response",
    "partial_answer",
    "partial",
    "supported",
    "content",
    "reply",
)
_QUERIES = (
    *("queries", "query", "search", "searches", "search_queries", "searchqueries", "follow_ups"),
    *("follow_up_queries", "followups", "follow_up", "next_queries", "search_query"),
)
_MISSING = ("missing", "what_is_missing", "missing_information", "lacks", "gap")
_STRING = r'"(?P<value>(?:[^"\\]|\\.)*+)'
# Only such objects are replies; others are what was asked for.
_OPENS = lazy_pattern(
    rf'\{{\s*"(?:{"|".join((*_VERDICT, *_ANSWER, *_QUERIES))})"\s*:', re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class JsonReply:
    """A reply in JSON; a text that it does not give is empty, and so is the verdict's None."""

    sufficient: bool | None
    text: str
    queries: tuple[str, ...]
    missing: str


def unfenced(text: str) -> str:
    """A reply without the fence around it, or around its verdict alone; else as it is.

    Example:
        >>> unfenced("```text\\nSUFFICIENT\\nParis [1].\\n```")
        'SUFFICIENT\\nParis [1].'
        >>> unfenced("```\\nSUFFICIENT\\n```\\nParis [1].")
        'SUFFICIENT\\nParis [1].'
    """
    fenced = _FENCED.match(text)
    if fenced is None:
        return text
    inside = fenced.group("inside")
    first, _, rest = inside.lstrip().partition("\n")
    if read_verdict(first) is not None:
        beside = _FENCE_LINE.match(rest)
        if beside is not None and not beside.group().strip(" \t`~"):
            return f"{first}\n{rest[beside.end() :].removeprefix(chr(10))}"
    elif not inside.lstrip().startswith("{"):
        return text
    if len(_FENCE_LINE.findall(inside)) % 2:
        inside = _LAST_FENCE.sub("", inside, count=1)
    return inside


def json_reply(text: str) -> JsonReply | None:
    """A reply in JSON, whole or cut off; None where it is none.

    Example:
        >>> json_reply('{"verdict": "SUFFICIENT", "answer": "Paris [1]."}').text
        'Paris [1].'
        >>> json_reply('{"verdict": "INSUFFICIENT", "answer": "Par').text
        'Par'
    """
    opening = _OPENS.search(text)
    if opening is None or text[: opening.start()].count("\n") > 20:
        return None
    start, end = opening.start(), text.rfind("}") + 1
    try:
        told: Any = json.loads(text[start:end], strict=False)
        if not isinstance(told, dict):
            return None
    except (ValueError, RecursionError):
        told = _cut_off(text[start:])
    given = {str(key).lower().replace(" ", "_"): value for key, value in told.items()}
    if not given.keys() & {*_VERDICT, *_QUERIES}:
        return None
    return JsonReply(
        _sufficient(given),
        "\n".join(_texts(_first(given, _ANSWER))),
        tuple(_texts(_first(given, _QUERIES))),
        "; ".join(_texts(_first(given, _MISSING))),
    )


def _sufficient(given: dict[str, Any]) -> bool | None:
    for key in _VERDICT:
        value = given.get(key)
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and (verdict := read_verdict(value)):
            return verdict.sufficient
    return None


def _first(given: dict[str, Any], names: tuple[str, ...]) -> object:
    return next((given[name] for name in names if given.get(name)), "")


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value] if value else []
    if isinstance(value, list):
        return [each for each in value if isinstance(each, str)]
    return []


def _cut_off(text: str) -> dict[str, Any]:
    """What can be read of an object that is not closed, or not quite JSON."""
    told: dict[str, Any] = {}
    for name in (*_VERDICT, *_ANSWER, *_QUERIES, *_MISSING):
        found = re.search(
            rf'"{name}"\s*:\s*(?:{_STRING}|(?P<word>true|false)|\[(?P<list>[^\]]*))',
            text,
            re.IGNORECASE,
        )
        if found is None:
            continue
        if found.group("list") is not None:
            told[name] = [
                _decoded(each) for each in re.findall(r'"((?:[^"\\]|\\.)*+)"', found.group("list"))
            ]
        elif found.group("word"):
            told[name] = found.group("word").lower() == "true"
        else:
            told[name] = _decoded(found.group("value"))
    return told


def _decoded(value: str) -> str:
    try:
        decoded: str = json.loads(f'"{value}"', strict=False)
    except ValueError:
        return value
    return decoded
