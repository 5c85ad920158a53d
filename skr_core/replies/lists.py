"""The items of a list in a reply: bulleted, numbered or one a line."""

from __future__ import annotations

import re

from skr_core.patterns import lazy_pattern

_BULLET = lazy_pattern(
    r"\s*(?:(?:[-*–—]\s+|[•·]|\(?\d{1,2}[.):](?!\d))\s*"
    r"|(?:(?:search )?query|question|key-?\s?fact|fact)\s*\d*\s*:\s*)+",
    re.IGNORECASE,
)


def list_items(text: str) -> list[str]:
    """The items of a list, in order, each on one line and without its bullet or number.

    Where some lines have a bullet, the others are remarks and left out; so is a line that
    announces others and ends with a colon.

    Args:
        text: A reply, or a part of one.

    Example:
        >>> list_items("Here they are:\\n- one\\n- two\\nI hope this helps.")
        ['one', 'two']
        >>> list_items("one\\ntwo")
        ['one', 'two']
    """
    lines = [line for line in text.replace("**", "").splitlines() if line.strip()]
    marked = [line for line in lines if _BULLET.match(line)]
    bare = (" ".join(without_bullet(line).split()) for line in marked or lines)
    return [each for each in bare if each and (marked or not each.endswith(":"))]


def has_bullets(text: str) -> bool:
    """Whether any line of a text begins with a bullet or a number.

    Example:
        >>> has_bullets("1. one"), has_bullets("-5 degrees")
        (True, False)
    """
    return any(map(_BULLET.match, text.replace("**", "").splitlines()))


def is_bullet(line: str) -> bool:
    """Whether one line begins with a bullet or a number.

    Example:
        >>> is_bullet("* one"), is_bullet("one")
        (True, False)
    """
    return _BULLET.match(line) is not None


def without_bullet(line: str) -> str:
    """A line without the bullet, the number or the label in front of it.

    Example:
        >>> without_bullet("(3) three"), without_bullet("Query 1: who?")
        ('three', 'who?')
    """
    return _BULLET.sub("", line, count=1) if _BULLET.match(line) else line


def parse_facts(reply: str) -> tuple[str, ...]:
    """The key-facts of a reply (RaLLM §3): the items of its list, none twice.

    Example:
        >>> parse_facts("Here they are:\\n- Paris is in France.\\n- It is old.")
        ('Paris is in France.', 'It is old.')
    """
    return tuple(dict.fromkeys(list_items(reply)))
