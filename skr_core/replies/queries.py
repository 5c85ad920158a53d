"""The follow-up queries of a reply (RaLLM §5.2)."""

from __future__ import annotations

import re

from skr_core.prompts.templates import MAX_QUERIES, QUERY_LEAD
from skr_core.replies.lists import has_bullets, list_items, without_bullet
from skr_core.texts import straight_quotes

MAX_QUERY_CHARACTERS = 300
"""A longer query is a model that rambles; search engines cut there too."""

_LEAD = re.compile(re.escape(QUERY_LEAD.rstrip(":")) + r"\s*[:\-–]?", re.IGNORECASE)
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_WRAPPING = " \t\"'“”‘’`<>*_"
# What is said in place of a query by a model that has none.
_NO_QUERY = re.compile(
    r"(?:\(?none\)?|nothing|n/a|i (?:do not|don'?t) know"
    r"|no (?:further|more|additional|other|new)\b.*|i (?:do not|don'?t) (?:need|have)\b.*)[.!]?",
    re.IGNORECASE,
)


def parse_queries(text: str, limit: int = MAX_QUERIES) -> tuple[str, ...]:
    """The follow-up queries of a reply, in order, none twice.

    Queries follow the lead "I further need to ask the search engine:", on its line or on those
    after it, up to a blank line; a reply without the lead counts line by line. Where lines have
    bullets, the others are remarks. "None" and its like are no query.

    Args:
        text: The reply.
        limit: How many are taken at most.

    Example:
        >>> parse_queries("I further need to ask the search engine: 1. who directed Jaws?")
        ('who directed Jaws?',)
        >>> parse_queries("Some queries:\\n1. who directed Jaws?\\nI hope this helps.")
        ('who directed Jaws?',)
    """
    _, *led = _LEAD.split(text)
    lines = [line for piece in led for line in _after_lead(piece)] if led else list_items(text)
    queries: dict[str, str] = {}
    for line in lines:
        query = " ".join(line.strip(_WRAPPING).split())
        if len(query) > MAX_QUERY_CHARACTERS or not any(map(str.isalnum, query)):
            continue
        if not _NO_QUERY.fullmatch(straight_quotes(query)):
            queries.setdefault(query.casefold(), query)
    return tuple(queries.values())[:limit]


def _after_lead(piece: str) -> list[str]:
    """The lines behind one lead: what stands on its own line, and the list below it."""
    beside, _, below = piece.partition("\n")
    items = [without_bullet(beside.replace("**", ""))] if beside.strip() else []
    if has_bullets(below):
        return items + list_items(below)
    below = below if items else below.strip()
    paragraph = _BLANK_LINE.split(f"\n{below}" if items else below, maxsplit=1)[0]
    return items + list_items(paragraph)
