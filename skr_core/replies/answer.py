"""Reading what a model wrote. Model output is untrusted: anything may come, nothing raises."""

from __future__ import annotations

import re

from skr_core.prompts.templates import MAX_QUERIES, QUERY_LEAD
from skr_core.replies.certainty import Certainty as Certainty
from skr_core.replies.certainty import parse_certainty as parse_certainty

MAX_QUERY_CHARACTERS = 300
"""A longer query is a model that rambles; search engines cut there too."""

_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "`": "'"})
_GIVEN = r"\b(?:references|information|passages|sources|context)\b"
# The sentence that was asked for, and the two ways in which models put it in words of their own.
_REFUSAL = re.compile(
    r"\b(?:cannot|can\s?not|can't|could not|couldn't|unable to)\s+(?:fully\s+)?answer\b[^.\n]{0,80}"
    r"\b(?:provided|given|available|current|these|the)\s+(?:references|information|passages)"
    rf"|{_GIVEN}[^.\n]{{0,30}}\b(?:do|does)(?: not|n't)\s+"
    r"(?:contain|provide|include|have|give|offer)\b[^.\n]{0,60}\b(?:enough|sufficient|to answer)\b"
    rf"|{_GIVEN}\s+(?:is|are)\s+(?:insufficient|not sufficient|not enough)\b",
    re.IGNORECASE,
)
# What is said in place of a query by a model that has none.
_NO_QUERY = re.compile(
    r"(?:\(?none\)?|nothing|n/a|i don'?t know|no (?:further|more|additional|other|new)\b.*"
    r"|i (?:do not|don'?t) (?:need|have)\b.*)[.!]?",
    re.IGNORECASE,
)
# How refusals begin in practice; whether such a sentence is one is known at its end.
_REFUSAL_OPENERS = (
    "i'm sorry",
    "i am sorry",
    "sorry",
    "unfortunately",
    "i cannot",
    "i can't",
    "i could",
    "i am unable",
    "i'm unable",
    "based on the",
    "the references",
    "the provided",
    "the given",
)
LONGEST_OPENING = 400
"""Characters in which a first sentence is expected to end."""
_SENTENCE_ENDED = re.compile(r"[.!?](?:\s|$)")
_LEAD = re.compile(re.escape(QUERY_LEAD.rstrip(":")) + r"\s*[:\-–]?", re.IGNORECASE)
_NEGATION = re.compile(r"(?:\bnot|n['’]t)\s+(?:\w+\s+)?$", re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[-*•–]+|\(?\d{1,2}[.):](?!\d))\s*")
_WRAPPING = " \t\"'“”‘’`<>*_"


def is_refusal(text: str) -> bool:
    """Whether a reply says that the references are insufficient (RaLLM §5.1).

    Example:
        >>> is_refusal("I’m sorry, I cannot answer the question based on the provided references.")
        True
        >>> is_refusal("Paris [1].")
        False
    """
    return not text.strip() or _REFUSAL.search(text.translate(_APOSTROPHES)) is not None


def may_become_refusal(beginning: str) -> bool:
    """Whether a reply that begins like this refuses, or may yet do so in its first sentence.

    An opening of more than `LONGEST_OPENING` characters that does not refuse is taken for an
    answer.

    Example:
        >>> may_become_refusal("I am sorry, but"), may_become_refusal("Paris is")
        (True, False)
    """
    said = " ".join(beginning.translate(_APOSTROPHES).lower().split()).lstrip(_WRAPPING)
    if is_refusal(said):
        return True
    if len(said) > LONGEST_OPENING:
        return False
    opens = any(said.startswith(each) or each.startswith(said) for each in _REFUSAL_OPENERS)
    return opens and not _SENTENCE_ENDED.search(said)


def parse_queries(text: str, limit: int = MAX_QUERIES) -> tuple[str, ...]:
    """The follow-up queries of a reply (RaLLM §5.2), in order, none twice.

    Queries follow the lead "I further need to ask the search engine:", on its line or on those
    after it; a reply without the lead counts line by line. "None" and its like are no query.

    Args:
        text: The reply.
        limit: How many are taken at most.

    Example:
        >>> parse_queries("I further need to ask the search engine: 1. who directed Jaws?")
        ('who directed Jaws?',)
    """
    pieces = _LEAD.split(text)
    lines = "\n".join(pieces[1:] if len(pieces) > 1 else pieces).splitlines()
    queries: dict[str, str] = {}
    for line in lines:
        query = " ".join(_BULLET.sub("", line).strip(_WRAPPING).split())
        if len(query) > MAX_QUERY_CHARACTERS or not any(map(str.isalnum, query)):
            continue
        if not _NO_QUERY.fullmatch(query.translate(_APOSTROPHES)):
            queries.setdefault(query.casefold(), query)
    return tuple(queries.values())[:limit]


def parse_verdict(text: str) -> tuple[bool, str] | None:
    """A judge's reply as (sufficient, what is missing); None where it says neither.

    Example:
        >>> parse_verdict("Insufficient: the director's birthplace")
        (False, "the director's birthplace")
    """
    match = re.search(r"\b(in)?sufficient\b\s*[:,.\-–]*\s*(.*)", text, re.IGNORECASE)
    if match is None:
        return None
    negated = match.group(1) or _NEGATION.search(text[: match.start()])
    return (False, match.group(2).strip()) if negated else (True, "")
