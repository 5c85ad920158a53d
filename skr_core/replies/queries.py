"""The follow-up queries of a reply, the reply without them, and the items of lists.

A query stands behind a label ("Search: ..."), behind RaLLM's lead (§5.2), in a list, or in JSON.
Remarks around queries, and what stands in place of one, are no queries.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from inspect import iscoroutine, iscoroutinefunction
from itertools import pairwise

from skr_core.cleaning import cleaned
from skr_core.errors import InputError
from skr_core.prompts.templates import MAX_QUERIES, QUERY_LEAD
from skr_core.replies.refusals import is_refusal
from skr_core.replies.wording import CITATION
from skr_core.texts import straight_quotes

AllowQuery = Callable[[str, str], bool]
"""Says whether a query may be searched: a sync function of the query and of the question that it
serves. It is called before every search, also the first one, whose query is the question."""

MAX_QUERY_CHARACTERS = 300
"""Characters of the longest query; a longer one is cut there, as search engines do."""

MOST_LINES = 100
"""Lines of a reply that are looked at for queries."""

QUERY_LABELS = (
    *("search", "query", "queries", "follow-up", "follow up", "followup", "next search"),
    *("next query", "next queries", "further search", "further quer", "additional quer"),
    *("i further need to ask the search engine", "suche", "suchanfrage", "recherche", "requête"),
    *("búsqueda", "consulta", "buscar", "busca", "ricerca", "pesquisa"),
    *("搜索", "搜尋", "查询", "查詢", "检索", "検索", "クエリ"),
)
"""How a line that names a query begins, in small letters."""

_LABEL = re.compile(
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
_LEAD = re.compile(re.escape(QUERY_LEAD.rstrip(":")) + r"\s*[:\-–]?", re.IGNORECASE)
# A line that announces a list: "To answer this, I would search for:".
_ANNOUNCES = re.compile(
    r"[^\n]{0,160}\b(?:search(?:es|ed|ing)?|quer(?:y|ies)|look up|follow-up|suche\w*|suchanfragen?"
    r"|requêtes?|recherches?|búsquedas?|consultas?|搜索|查询|検索)\b[^\n]{0,80}[:：][*_ \t]*",
    re.IGNORECASE,
)
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_WRAPPING = " \t\"'“”‘’`<>*_[]「」『』«»,"
FENCE = re.compile(r"[ \t]*(?:`{3}|~{3})")
"""How a line begins that opens or closes a block of code."""

# What a model without a query says in place of one.
_NO_QUERY = re.compile(
    r"(?:\(?none\)?(?: (?:is |are )?(?:needed|required|necessary))?"
    r"|nothing(?: (?:else|more|further))?"
    r"|n/?a|not (?:applicable|needed|necessary)|null|(?:end|stop|done)"
    r"|keine?|aucune?|ningun[oa]|无|無|なし"
    r"|i (?:do not|don'?t) know"
    r"|no (?:further|more|additional|other|new|follow-?up|search|quer(?:y|ies))\b.*"
    r"|i (?:do not|don'?t) (?:need|have)\b.*)[.!。]?",
    re.IGNORECASE,
)
# Remarks around queries.
_REMARK = re.compile(
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
    """The follow-up queries of a reply that was asked for nothing else, in order, each once.

    Queries follow a lead or a label, on its line or on those after it, up to a blank line; a reply
    with neither counts line by line. Where lines have bullets, the others are remarks. "None" and
    its like are no query, nor is a refusal.

    Args:
        text: The reply.
        limit: The most queries that are taken.

    Example:
        >>> parse_queries("I further need to ask the search engine: 1. who directed Jaws?")
        ('who directed Jaws?',)
        >>> parse_queries("Some queries:\\n1. who directed Jaws?\\nI hope this helps.")
        ('who directed Jaws?',)
        >>> parse_queries('Sure! ["who directed Jaws?", "where is Amity?"]')
        ('who directed Jaws?', 'where is Amity?')
    """
    text = text.strip()
    listed = json_queries(text)
    if listed is not None:
        return clean_queries(listed, limit)
    _, *led = _LEAD.split(text)
    if led:
        return clean_queries((line for piece in led for line in _after_lead(piece)), limit)
    found = split_queries(text)
    return clean_queries(found.queries or list_items(found.text), limit)


def clean_queries(lines: Iterable[str], limit: int = MAX_QUERIES) -> tuple[str, ...]:
    """The lines that are queries, cleaned, cut, without their wrapping, and each once.

    Example:
        >>> clean_queries(['"one"', "One", "None needed.", "Sure! Here are the queries:"])
        ('one',)
    """
    queries: dict[str, str] = {}
    looked_at: set[str] = set()
    for line in lines:
        if len(queries) >= limit or len(looked_at) >= MOST_LINES:
            break
        query = as_query(line)
        if query and query.casefold() not in looked_at:
            looked_at.add(query.casefold())
            if _is_query(query):
                queries[query.casefold()] = query
    return tuple(queries.values())


def as_query(text: str) -> str:
    """A text as a query: on one line, not too long, and without what nobody can see.

    Example:
        >>> as_query(' "Jaws\u200b  director" '), len(as_query("Jaws " * 100))
        ('Jaws director', 299)
    """
    said = cleaned(text[: 4 * MAX_QUERY_CHARACTERS]).strip(_WRAPPING)
    return " ".join(said.split())[:MAX_QUERY_CHARACTERS].rstrip()


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
class SplitReply:
    """A reply, or a part of one, split into its queries and the rest.

    Attributes:
        text: The lines that name no query, as they were.
        queries: The queries as written, without label and bullet.
    """

    text: str = ""
    queries: list[str] = field(default_factory=list)


def labelled_query(line: str) -> str | None:
    """The text behind a query's label; None where a line has no label, or cites.

    Example:
        >>> labelled_query("**Search:** who directed Jaws?"), labelled_query("Search is hard.")
        ('who directed Jaws?', None)
    """
    label = _LABEL.match(line[: MAX_QUERY_CHARACTERS * 2])
    if label is None or CITATION.search(line):
        return None
    return line[label.end() :].strip()


def split_queries(text: str, *, announced: bool = True) -> SplitReply:
    """Split a text into its queries, labelled lines and the lists below a label, and the rest.

    Fenced code holds no query, and a line that cites is none. A remark below queries is dropped.

    Args:
        text: A reply, or a part of one.
        announced: Whether a line such as "I would search for:" is a label too.

    Example:
        >>> split_queries("Jaws is by Spielberg [1].\\nSearch: Spielberg born")
        SplitReply(text='Jaws is by Spielberg [1].\\n', queries=['Spielberg born'])
    """
    found, kept = SplitReply(), list[str]()
    fenced = listing = is_bare = False
    waiting: list[str] = []  # an announcement, until it is known to announce queries
    for line in _lines(text):
        bare = line.strip()
        query = None if fenced else labelled_query(line)
        if query is not None:
            listing, is_bare, waiting = True, not query, []
            found.queries += _items(query)
            continue
        if listing and not fenced and not bare:
            is_bare = is_bare and not found.queries
            if waiting:
                waiting.append(line)
            continue
        if listing and not fenced and not CITATION.search(line) and (is_bullet(line) or is_bare):
            found.queries += _items(without_bullet(bare))
            waiting = []
            continue
        kept += waiting
        waiting = []
        if found.queries and not fenced and _is_remark(bare):
            continue
        listing = announced and not fenced and _announces(line)
        is_bare = False
        if FENCE.match(line):
            fenced = not fenced
        (waiting if listing else kept).append(line)
    found.text = "".join([*kept, *waiting])
    return found


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


def checked_rule(rule: object, *, has_model: bool = True) -> None:
    """Refuse what cannot say which queries are allowed.

    Args:
        rule: The rule; None where there is none.
        has_model: Whether a model writes queries.

    Raises:
        InputError: It is no function, or an async one, or it would rule nothing.
    """
    if rule is not None and not has_model:
        raise InputError(
            "allow_query says what self-completion may search, which needs a model: give one"
        )
    if rule is not None and (not callable(rule) or iscoroutinefunction(rule)):
        raise InputError(
            "allow_query is no sync function: give one that takes a query and its question, and "
            "returns whether the query may be searched"
        )


def is_allowed(rule: AllowQuery | None, query: str, question: str) -> bool:
    """Whether a query may be searched; without a rule every one may.

    Args:
        rule: The rule.
        query: The query.
        question: The question that it serves.

    Raises:
        InputError: The rule returned neither True nor False: anything else could let all out.

    Example:
        >>> is_allowed(lambda query, question: "password" not in query, "my password", "Who?")
        False
    """
    allowed: object = True if rule is None else rule(query, question)
    if not isinstance(allowed, bool):
        if iscoroutine(allowed):
            allowed.close()
        raise InputError(
            f"allow_query returned {type(allowed).__name__}: return True for a query that may be "
            "searched, and False for any other"
        )
    return allowed


_BULLET = re.compile(
    r"\s*(?:(?:[-*–—]\s+|[•·]|\(?\d{1,2}[.):](?!\d))\s*"
    r"|(?:(?:search )?query|question|key-?\s?fact|fact)\s*\d*\s*:\s*)+",
    re.IGNORECASE,
)


def list_items(text: str) -> list[str]:
    """The items of a list, in order, each on one line and without its bullet or number.

    Where some lines have a bullet, the others are remarks and left out; so is a line that announces
    others and ends with a colon.

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
    bullet = _BULLET.match(line)
    return line[bullet.end() :] if bullet else line


def parse_facts(reply: str) -> tuple[str, ...]:
    """The key-facts of a reply (RaLLM §3): the items of its list, each once.

    Example:
        >>> parse_facts("Here they are:\\n- Paris is in France.\\n- It is old.")
        ('Paris is in France.', 'It is old.')
    """
    return tuple(dict.fromkeys(list_items(reply)))
