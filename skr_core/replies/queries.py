"""The follow-up queries of a reply, and the reply without them.

A query stands behind a label ("Search: ..."), behind RaLLM's lead (§5.2), in a list, or in JSON.
What models say around queries, and in place of one, is no query.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from skr_core.patterns import lazy_pattern
from skr_core.prompts.templates import MAX_QUERIES, QUERY_LEAD
from skr_core.replies.lists import has_bullets, is_bullet, list_items, without_bullet
from skr_core.replies.refusal import is_refusal
from skr_core.replies.thoughts import strip_thoughts
from skr_core.replies.wording import CITATION
from skr_core.texts import straight_quotes

MAX_QUERY_CHARACTERS = 300
"""A longer query is a model that rambles; search engines cut there too."""

MOST_LINES = 100
"""Lines that are looked at for queries; a model that writes more rambles."""

QUERY_LABELS = (
    *("search", "query", "queries", "follow-up", "follow up", "followup", "next search"),
    *("next query", "next queries", "further search", "further quer", "additional quer"),
    *("i further need to ask the search engine", "suche", "suchanfrage", "recherche", "requête"),
    *("búsqueda", "consulta", "buscar", "busca", "ricerca", "pesquisa"),
    *("搜索", "搜尋", "查询", "查詢", "检索", "検索", "クエリ"),
)
"""How a line that names a query begins, in small letters."""

_LABEL = lazy_pattern(
    r"[ \t]*(?:[-*•>#–]+[ \t]*|\(?\d{1,2}[.)][ \t]*)?[*_`\"'\[ ]{0,4}"
    rf"(?P<lead>{re.escape(QUERY_LEAD.rstrip(':'))}"
    r"|(?:(?:next|further|additional|new|more|suggested|my) )?"
    r"(?:search(?:es| quer(?:y|ies)| terms?| for| engine quer(?:y|ies))?|quer(?:y|ies)"
    r"|follow[- ]?up(?: (?:quer(?:y|ies)|questions?|search(?:es)?))?)"
    r"|such(?:e|anfragen?|begriffe?)|(?:recherches?|requêtes?)(?: de recherche)?"
    r"|búsquedas?|consultas?|buscar|busca|ricerca|pesquisa|(?:搜索|搜尋|查询|查詢|检索)(?:词|查询|詞)?"
    r"|検索(?:クエリ|語)?|クエリ)"
    r"[ \t]*(?:#?\d{1,2})?(?: needed)?[*_`\"'\] ]{0,4}[:：][*_ \t]*",
    re.IGNORECASE,
)
_LEAD = lazy_pattern(re.escape(QUERY_LEAD.rstrip(":")) + r"\s*[:\-–]?", re.IGNORECASE)
# A line that announces a list: "To answer this, I would search for:".
_ANNOUNCES = lazy_pattern(
    r"[^\n]{0,160}\b(?:search(?:es|ed|ing)?|quer(?:y|ies)|look up|follow-up|suche\w*|suchanfragen?"
    r"|requêtes?|recherches?|búsquedas?|consultas?|搜索|查询|検索)\b[^\n]{0,80}[:：][*_ \t]*",
    re.IGNORECASE,
)
_BLANK_LINE = lazy_pattern(r"\n[^\S\n]*\n")
_WRAPPING = " \t\"'“”‘’`<>*_[]「」『』«»,"
_FENCE = lazy_pattern(r"[ \t]*(?:`{3}|~{3})")
# What is said in place of a query by a model that has none.
_NO_QUERY = lazy_pattern(
    r"(?:\(?none\)?(?: (?:is |are )?(?:needed|required|necessary))?"
    r"|nothing(?: (?:else|more|further))?"
    r"|n/?a|not (?:applicable|needed|necessary)|null|(?:end|stop|done)"
    r"|keine?|aucune?|ningun[oa]|无|無|なし"
    r"|i (?:do not|don'?t) know"
    r"|no (?:further|more|additional|other|new|follow-?up|search|quer(?:y|ies))\b.*"
    r"|i (?:do not|don'?t) (?:need|have)\b.*)[.!。]?",
    re.IGNORECASE,
)
# What is said around queries.
_REMARK = lazy_pattern(
    r"(?:sure|certainly|of course|okay|ok|absolutely|great|alright|thanks?(?: you)?)\b[!,.].*"
    r"|(?:here|these|those|below|the following) (?:is|are|would|should|will|queries|search)\b.*"
    r"|(?:i hope|let me know|hope|please let|i would search"
    r"|i will search|i'll search|note that|with these)\b.*"
    r"|(?:based on|given) the\b.*[:.]"
    r"|(?:this|that|it|they|these) (?:would|will|should|could|can|may|might)\b.*"
    r"|(?:hier|voici|aquí|以下|以下是).{0,80}[:：]",
    re.IGNORECASE,
)


def parse_queries(text: str, limit: int = MAX_QUERIES) -> tuple[str, ...]:
    """The follow-up queries of a reply that is asked for nothing else, in order, none twice.

    Queries follow a lead or a label, on its line or on those after it, up to a blank line; a reply
    with neither counts line by line. Where lines have bullets, the others are remarks. "None" and
    its like are no query, nor is a refusal or a thought.

    Args:
        text: The reply.
        limit: How many are taken at most.

    Example:
        >>> parse_queries("I further need to ask the search engine: 1. who directed Jaws?")
        ('who directed Jaws?',)
        >>> parse_queries("Some queries:\\n1. who directed Jaws?\\nI hope this helps.")
        ('who directed Jaws?',)
        >>> parse_queries('Sure! ["who directed Jaws?", "where is Amity?"]')
        ('who directed Jaws?', 'where is Amity?')
    """
    text = strip_thoughts(text)
    listed = json_queries(text)
    if listed is not None:
        return clean_queries(listed, limit)
    _, *led = _LEAD.split(text)
    if led:
        return clean_queries((line for piece in led for line in _after_lead(piece)), limit)
    found = take_queries(text)
    return clean_queries(found.queries or list_items(found.text), limit)


def clean_queries(lines: Iterable[str], limit: int = MAX_QUERIES) -> tuple[str, ...]:
    """The lines that are queries, each without its wrapping, none twice.

    Example:
        >>> clean_queries(['"one"', "One", "None needed.", "Sure! Here are the queries:"])
        ('one',)
    """
    queries: dict[str, str] = {}
    looked_at: set[str] = set()
    for line in lines:
        if len(queries) >= limit or len(looked_at) >= MOST_LINES:
            break
        if len(line) > 4 * MAX_QUERY_CHARACTERS:
            continue
        query = " ".join(line.strip(_WRAPPING).split())
        if query.casefold() not in looked_at and 0 < len(query) <= MAX_QUERY_CHARACTERS:
            looked_at.add(query.casefold())
            if _is_query(query):
                queries[query.casefold()] = query
    return tuple(queries.values())


def _is_query(query: str) -> bool:
    said = straight_quotes(query)
    if not any(map(str.isalnum, said)) or _NO_QUERY.fullmatch(said) or _REMARK.fullmatch(said):
        return False
    return said.endswith(("?", "？")) or not is_refusal(said)


def json_queries(text: str) -> list[str] | None:
    """The texts of a JSON list, where a reply is one, with or without words before it."""
    start, end = text.find("["), text.rfind("]")
    if not 0 <= start < end or '"' not in text[start : start + 20]:
        return None
    try:
        listed = json.loads(text[start : end + 1])
    except (ValueError, RecursionError):
        return None
    return [each for each in listed if isinstance(each, str)] if listed else None


@dataclass(slots=True)
class Taken:
    """A text, and the queries that were taken out of it.

    Attributes:
        text: The lines that name no query, as they were.
        queries: The others, as written, without label and bullet.
    """

    text: str = ""
    queries: list[str] = field(default_factory=list)


def query_label(line: str) -> str | None:
    """What stands behind a query's label; None where a line has none, or cites.

    Example:
        >>> query_label("**Search:** who directed Jaws?"), query_label("Search is hard.")
        ('who directed Jaws?', None)
    """
    label = _LABEL.match(line[: MAX_QUERY_CHARACTERS * 2])
    if label is None or CITATION.search(line):
        return None
    return line[label.end() :].strip()


def take_queries(text: str, *, announced: bool = True) -> Taken:
    """Take the queries out of a text: labelled lines, and the lists below a label.

    Nothing is taken out of fenced code. A line that cites is no query. A remark below queries goes
    with them.

    Args:
        text: A reply, or a part of one.
        announced: Whether a line such as "I would search for:" is a label too.

    Example:
        >>> take_queries("Jaws is by Spielberg [1].\\nSearch: Spielberg born")
        Taken(text='Jaws is by Spielberg [1].\\n', queries=['Spielberg born'])
    """
    taken, kept = Taken(), list[str]()
    fenced = listing = is_bare = False
    waiting: list[str] = []  # an announcement, until it is known to announce queries
    for line in _lines(text):
        bare = line.strip()
        query = None if fenced else query_label(line)
        if query is not None:
            listing, is_bare, waiting = True, not query, []
            taken.queries += _items(query)
            continue
        if listing and not fenced and not bare:
            is_bare = is_bare and not taken.queries
            if waiting:
                waiting.append(line)
            continue
        if listing and not fenced and not CITATION.search(line) and (is_bullet(line) or is_bare):
            taken.queries += _items(without_bullet(bare))
            waiting = []
            continue
        kept += waiting
        waiting = []
        if taken.queries and not fenced and _is_remark(bare):
            continue
        listing = announced and not fenced and _announces(line)
        is_bare = False
        if _FENCE.match(line):
            fenced = not fenced
        (waiting if listing else kept).append(line)
    taken.text = "".join([*kept, *waiting])
    return taken


def _lines(text: str) -> Iterator[str]:
    """The lines of a text; RaLLM's lead begins one wherever it stands."""
    begins = [lead.start() for lead in _LEAD.finditer(text)]
    for start, end in pairwise([0, *begins, len(text)]):
        yield from text[start:end].splitlines(keepends=True)


def _is_remark(line: str) -> bool:
    """Whether a line only speaks of the queries above it."""
    said = straight_quotes(line.strip("()*_ "))
    return len(line) < MAX_QUERY_CHARACTERS and _REMARK.fullmatch(said) is not None


def _announces(line: str) -> bool:
    said = line.rstrip()
    return said.rstrip("*_ ").endswith((":", "：")) and _ANNOUNCES.fullmatch(said) is not None


def _items(query: str) -> Iterator[str]:
    """A line's queries: one, or those of a JSON list."""
    listed = json_queries(query) if query.startswith("[") else None
    if listed is not None:
        yield from listed
    elif query:
        yield without_bullet(query.replace("**", ""))


def _after_lead(piece: str) -> list[str]:
    """The lines behind one lead: what stands on its own line, and the list below it."""
    beside, _, below = piece.partition("\n")
    items = [without_bullet(beside.replace("**", ""))] if beside.strip() else []
    if has_bullets(below):
        return items + list_items(below)
    below = below if items else below.strip()
    paragraph = _BLANK_LINE.split(f"\n{below}" if items else below, maxsplit=1)[0]
    return items + list_items(paragraph)


def not_asked(queries: Sequence[str], asked: Sequence[str]) -> tuple[str, ...]:
    """The queries that have not been asked yet, whatever their case.

    Example:
        >>> not_asked(["Ada born", "her town"], ["ADA BORN"])
        ('her town',)
    """
    known = {query.casefold() for query in asked}
    return tuple(query for query in queries if query.casefold() not in known)
