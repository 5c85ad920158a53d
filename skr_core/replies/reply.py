"""One reading of a reply to a prompt with references: verdict, answer, queries.

A model is asked to begin with SUFFICIENT or INSUFFICIENT on a line of its own. Where it does not,
its reply is read for a refusal in its own words, and for citations.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from skr_core.patterns import lazy_pattern
from skr_core.references.resolver import MarkerResolver
from skr_core.replies.answer_text import answer_text
from skr_core.replies.enclosed import json_reply, unfenced
from skr_core.replies.lists import is_bullet, without_bullet
from skr_core.replies.queries import clean_queries, take_queries
from skr_core.replies.refusal import Gaps, begins_with_refusal, find_gaps, is_refusal
from skr_core.replies.thoughts import without_thoughts
from skr_core.replies.tokens import Verdict, leading_verdict, read_verdict, verdict_behind
from skr_core.replies.wording import CITATION

LONGEST_MISSING = 300
"""Characters of what is missing, as it goes into the next prompt."""

MOST_BARE_WORDS = 14
"""Words of a line that may be a query without a label."""

_FENCE = lazy_pattern(r"[ \t]*(?:`{3}|~{3})")
_MISSING = lazy_pattern(
    r"[ \t]*(?:[-*•>#]+[ \t]*)?[*_`]{0,3}(?:what is (?:still )?|still )?missing"
    r"(?: information| so far)?[*_`]{0,3}[ \t]*[:：][*_` \t]*"
    r"|[ \t]*[*_`]{0,3}(?:es fehlt|fehlend|manquant|faltante?|缺失|缺少|不足)"
    r"[^\n:：]{0,12}[:：][*_` \t]*",
    re.IGNORECASE,
)
_NOTHING = lazy_pattern(
    r"\W*(?:none|nothing|n/?a|no (?:partial )?answer|nothing (?:is )?supported|keine?s?|nichts|rien"
    r"|aucune?|nada|ningun[oa]|无|無|没有|なし)?\W*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a reply says.

    Attributes:
        sufficient: Whether the references suffice; None where the reply does not tell.
        text: The answer, or what is supported of it, as written; empty where there is none.
        queries: What to search next, in order, none twice.
        missing: What is missing, in words; may be empty.
        stated: Whether the reply states the verdict in its token.
        cites: Whether the text names a reference that was given.
    """

    sufficient: bool | None
    text: str
    queries: tuple[str, ...] = ()
    missing: str = ""
    stated: bool = False
    cites: bool = False


def read_reply(text: str, n_references: int) -> Reply:
    """Read a reply to a prompt with references; never raises.

    Where a verdict is stated, it counts, but for an answer that begins with a refusal or is empty:
    such references do not suffice. Where none is stated, a reply is sufficient that cites a
    reference and names no gap, and insufficient that refuses, asks for more, or cites and names a
    gap; any other does not tell.

    Args:
        text: The reply, thoughts included.
        n_references: How many references the prompt numbered, from 1.

    Example:
        >>> read_reply("SUFFICIENT\\nParis [1].", 2).text
        'Paris [1].'
        >>> reply = read_reply("INSUFFICIENT\\nIt is by Spielberg [1].\\nSearch: Spielberg born", 1)
        >>> reply.sufficient, reply.text, reply.queries
        (False, 'It is by Spielberg [1].', ('Spielberg born',))
        >>> read_reply("The references do not mention it.", 2).sufficient
        False
        >>> read_reply("Paris.", 2).sufficient is None
        True
    """
    said = unfenced(without_thoughts(text))
    leading = leading_verdict(said)
    if leading is None and (told := json_reply(said)) is not None:
        queries, answer = clean_queries(told.queries), answer_text(told.text)
        if told.sufficient is None:
            return _unstated(answer, queries, n_references)
        return _stated(told.sufficient, answer, queries, told.missing, n_references)
    found = _find_verdict(said, leading, n_references)
    if found is None:
        taken = take_queries(said, announced=False)
        return _unstated(answer_text(taken.text), clean_queries(taken.queries), n_references)
    sufficient, behind = found
    if sufficient:
        return _stated(True, answer_text(behind), (), "", n_references)
    partial = _body(behind)
    return _stated(False, partial.text, partial.queries, partial.missing, n_references)


def cited_numbers(text: str, n_references: int) -> frozenset[int]:
    """The references that a text cites, of those that were given; code cites nothing.

    Example:
        >>> sorted(cited_numbers("It is so [1, 3][9], as `x[2]` shows.", 4))
        [1, 3]
    """
    resolver = MarkerResolver(n_references)
    resolver.write(text)
    resolver.finish()
    return frozenset(number for _, number in resolver.markers)


def _stated(
    sufficient: bool, text: str, queries: tuple[str, ...], missing: str, n_references: int
) -> Reply:
    """A reply whose verdict is stated, in agreement with what it says."""
    if sufficient and begins_with_refusal(text, is_whole=True) and is_refusal(text):
        sufficient = False
    if sufficient and text:
        cites = bool(cited_numbers(text, n_references))
        return Reply(True, text, (), "", stated=True, cites=cites)
    gaps = find_gaps(text)
    if not text or (gaps.opens and not gaps.answers):
        text = ""
    cites = bool(cited_numbers(text, n_references))
    return Reply(False, text, queries, missing or _missing(gaps), stated=True, cites=cites)


def _unstated(text: str, queries: tuple[str, ...], n_references: int) -> Reply:
    """A reply without a verdict, by what it says and cites."""
    gaps = find_gaps(text)
    cites = bool(cited_numbers(text, n_references))
    if gaps.opens and not gaps.answers:
        return Reply(False, "", queries, _missing(gaps))
    if cites and gaps.answers:
        sufficient: bool | None = not (gaps.sentences or queries)
    else:
        sufficient = False if gaps.refuses or queries else None
    return Reply(sufficient, text, queries, _missing(gaps), cites=cites)


def _missing(gaps: Gaps) -> str:
    return " ".join(gaps.sentences[:2])[:LONGEST_MISSING]


def _find_verdict(
    said: str, leading: tuple[Verdict, int] | None, n_references: int
) -> tuple[bool, str] | None:
    """The verdict, and the text that belongs to it; None where no verdict is stated.

    The first line decides. Without a verdict there, the last line that states one does: what stands
    behind it is the answer, or before it where that has the citations.

    Args:
        said: The reply.
        leading: What `leading_verdict` says of it.
        n_references: How many references the prompt numbered.
    """
    if leading is not None:
        verdict, end = leading
        rest = f"{verdict.rest}\n" if verdict.rest else ""
        return verdict.sufficient, f"{rest}{said[end:]}"
    if "SUFFICIENT" not in said.upper():
        return None
    place, fenced = 0, False
    found: tuple[Verdict, int, int] | None = None
    for line in said.splitlines(keepends=True):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and "UFFICIEN" in line.upper() and (stated := read_verdict(line)):
            is_last = not said[place + len(line) :].strip()
            if "SUFFICIENT" in line or ":" in line or (is_last and not stated.rest):
                found = stated, place, place + len(line)
        place += len(line)
    if found is None:
        last = verdict_behind(said.rstrip())
        return None if last is None else (last[1].sufficient, last[0])
    verdict, start, end = found
    before, behind = said[:start], f"{verdict.rest}\n{said[end:]}"
    answers = take_queries(behind).text if not verdict.sufficient else answer_text(behind)
    if not answers.strip() or (
        cited_numbers(before, n_references) and not cited_numbers(answers, n_references)
    ):
        return verdict.sufficient, f"{before}\n{behind}" if not verdict.sufficient else before
    return verdict.sufficient, behind


@dataclass(frozen=True, slots=True)
class _Body:
    """What an insufficient reply says behind its verdict."""

    text: str
    queries: tuple[str, ...]
    missing: str


def _body(behind: str) -> _Body:
    taken = take_queries(behind)
    kept, lacks = list[str](), list[str]()
    bare: list[str] = []
    fenced = False
    for line in taken.text.splitlines(keepends=True):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and (label := _MISSING.match(line)):
            lacks.append(line[label.end() :].strip())
            continue
        elif not fenced and not taken.queries and _is_bare_query(line):
            bare.append(without_bullet(line.strip()))
            continue
        kept.append(line)
    queries = clean_queries(taken.queries or bare)
    text = answer_text("".join(kept))
    if _NOTHING.fullmatch(text[:60]):
        text = ""
    if not CITATION.search(text) and "\n" not in text and not is_refusal(text):
        # On the verdict's line, or alone: what is missing, since it rests on nothing.
        lacks, text = [*lacks, text], ""
    return _Body(text, queries, "; ".join(filter(None, lacks))[:LONGEST_MISSING])


def _is_bare_query(line: str) -> bool:
    """Whether a line without a label is a query: a question, or an item that is no sentence."""
    said = line.strip()
    if CITATION.search(said) or not said or len(said.split()) > MOST_BARE_WORDS * 2:
        return False
    if said.rstrip("*_\"'”»」").endswith(("?", "？")):
        return True
    ends = said.rstrip("*_\"'").endswith((".", "!", "。", "！", ":", "：", "|"))
    is_short = len(said.split()) <= MOST_BARE_WORDS
    return not ends and is_short and is_bullet(line)
