"""A reply to a prompt with references, read whole or as it arrives: verdict, answer, queries.

A model is asked to begin with SUFFICIENT or INSUFFICIENT on a line of its own. Where it does not,
its reply is read for a refusal in its own words, and for citations.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from skr_core.references.resolver import MarkerResolver
from skr_core.replies.opening import (
    HEAD,
    ThoughtFilter,
    VerdictLine,
    leading_verdict,
    read_verdict,
    translated_verdict,
    verdict_behind,
    without_thoughts,
)
from skr_core.replies.queries import FENCE, clean_queries, is_bullet, split_queries, without_bullet
from skr_core.replies.refusals import Gaps, begins_with_refusal, find_gaps, is_refusal
from skr_core.replies.unwrapping import AnswerFilter, answer_text, json_reply, unfenced
from skr_core.replies.wording import ASKS_FOR_MORE, CITATION, compiled
from skr_core.texts import is_json

LONGEST_MISSING = 300
"""Characters of the missing information, as it goes into the next prompt."""

MOST_BARE_WORDS = 14
"""Words of the longest line that may be a query without a label."""

_SETTLING = 8  # characters behind a token on its line, after which they are known to be an answer
_MISSING = re.compile(
    r"[ \t]*(?:[-*•>#]+[ \t]*)?[*_`]{0,3}(?:what is (?:still )?|still )?missing"
    r"(?: information| so far)?[*_`]{0,3}[ \t]*[:：][*_` \t]*"
    r"|[ \t]*[*_`]{0,3}(?:es fehlt|fehlend|manquant|faltante?|缺失|缺少|不足)"
    r"[^\n:：]{0,12}[:：][*_` \t]*",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"\W*(?:none|nothing|n/?a|no (?:partial )?answer|nothing (?:is )?supported|keine?s?|nichts|rien"
    r"|aucune?|nada|ningun[oa]|无|無|没有|なし)?\W*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply in its parts.

    Attributes:
        sufficient: Whether the references suffice; None where the reply does not tell.
        text: The answer, or the part of it that is supported, as written; may be empty.
        queries: The queries to search next, in order, each once.
        missing: The missing information, in words; may be empty.
        stated: Whether the reply states the verdict in its token.
        cites: Whether the text names a reference that was given.
        citations: The numbers that stand beside the text, where it is an object's.
    """

    sufficient: bool | None
    text: str
    queries: tuple[str, ...] = ()
    missing: str = ""
    stated: bool = False
    cites: bool = False
    citations: tuple[int, ...] = ()


def read_reply(text: str, n_references: int) -> Reply:
    """Read a reply to a prompt with references; never raises.

    Where a verdict is stated, it counts, but for an answer that begins with a refusal or is empty:
    such references do not suffice. Where none is stated, a reply is sufficient that cites a
    reference and names no gap, and insufficient that refuses, asks for more, or cites and names a
    gap; any other does not tell.

    Args:
        text: The reply, without its thoughts.
        n_references: The number of references in the prompt.

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
    said = unfenced(text)
    if said is not text and said.lstrip().startswith("{") and json_reply(said) is None:
        said = text  # a fence around data belongs to the answer
    leading = leading_verdict(said)
    if leading is None and (in_json := json_reply(said)) is not None:
        queries, answer = clean_queries(in_json.queries), answer_text(in_json.text)
        if in_json.sufficient is None:
            return _unstated(answer, queries, n_references)
        return _stated(in_json.sufficient, answer, queries, in_json.missing, n_references)
    if leading is None and is_json(said):
        return _unstated(said.strip(), (), n_references)
    found = _find_verdict(said, leading, n_references)
    if found is None and (translated := translated_verdict(said)):
        verdict, said = translated
        found = None if verdict is None else (verdict, said)
    if found is None:
        split = split_queries(said, announced=False)
        return _unstated(answer_text(split.text), clean_queries(split.queries), n_references)
    sufficient, behind = found
    if sufficient:
        return _stated(True, answer_text(behind), (), "", n_references)
    return _stated(False, *_insufficient_parts(behind), n_references)


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
    said: str, leading: tuple[VerdictLine, int] | None, n_references: int
) -> tuple[bool, str] | None:
    """The verdict, and the text that belongs to it; None where no verdict is stated.

    The first line decides. Without a verdict there, the last line that states one does: the answer
    stands behind it, or before it where that text has the citations.

    Args:
        said: The reply.
        leading: The verdict that it begins with, see `leading_verdict`.
        n_references: The number of references in the prompt.
    """
    if leading is not None:
        verdict, end = leading
        rest = f"{verdict.rest}\n" if verdict.rest else ""
        return verdict.sufficient, f"{rest}{said[end:]}"
    if "SUFFICIENT" not in said.upper():
        return None
    place, fenced = 0, False
    found: tuple[VerdictLine, int, int] | None = None
    for line in said.splitlines(keepends=True):
        if FENCE.match(line):
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
    answers = split_queries(behind).text if not verdict.sufficient else answer_text(behind)
    if not answers.strip() or (
        cited_numbers(before, n_references) and not cited_numbers(answers, n_references)
    ):
        return verdict.sufficient, f"{before}\n{behind}" if not verdict.sufficient else before
    return verdict.sufficient, behind


def _insufficient_parts(behind: str) -> tuple[str, tuple[str, ...], str]:
    """The partial answer, the queries and what is missing, behind the verdict INSUFFICIENT."""
    split = split_queries(behind)
    kept, lacks, bare = list[str](), list[str](), list[str]()
    fenced = False
    for line in split.text.splitlines(keepends=True):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced and (label := _MISSING.match(line)):
            lacks.append(line[label.end() :].strip())
            continue
        elif not fenced and not split.queries and _is_bare_query(line):
            bare.append(without_bullet(line.strip()))
            continue
        kept.append(line)
    queries = clean_queries(split.queries or bare)
    text = answer_text("".join(kept))
    if _NOTHING.fullmatch(text[:60]):
        text = ""
    if not lacks and _names_gap(text):
        lacks, text = [text], ""
    return text, queries, "; ".join(filter(None, lacks))[:LONGEST_MISSING]


def _names_gap(text: str) -> bool:
    """Whether a text that stands alone behind the verdict says what is missing.

    A sentence is the part of the answer that the references support, cited or not; words that are
    none, such as "the birthplace of the designer", or that ask for more, are not.
    """
    if not text or "\n" in text or CITATION.search(text) or is_refusal(text):
        return False
    ends = text.rstrip("*_\"'”»)」").endswith((".", "!", "。", "！"))
    return not ends or compiled(ASKS_FOR_MORE).search(text) is not None


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


class VerdictStream:
    """Passes on the answer of a sufficient reply piece by piece, and takes nothing back.

    The pieces add up to a beginning of the reply's text. Nothing is passed on of a reply that does
    not begin with SUFFICIENT, because only its end tells whether it is the answer, nor of an answer
    whose first sentence may refuse. How the reply is cut makes no difference.

    Args:
        n_references: The number of references in the prompt.

    Attributes:
        verdict: The verdict that the reply's first line states, as soon as it is known; None
            before, and where it states none.
        undecided: Whether the verdict's line, or its absence, is still to come.

    Example:
        >>> stream = VerdictStream(1)
        >>> list(map(stream.write, ["SUFF", "ICIENT\\nLy", "on [1].", "\\n"]))
        ['', 'Ly', 'on [1].', '']
        >>> stream.verdict, stream.finish().text
        (True, 'Lyon [1].')
    """

    def __init__(self, n_references: int) -> None:
        self.verdict: bool | None = None
        self.undecided = True
        self._count = n_references
        self._raw: list[str] = []
        self._thoughts = ThoughtFilter()
        self._head = ""
        self._answer = AnswerFilter()
        self._opening = ""  # the answer's beginning, while it may refuse
        self._passes: bool | None = None

    def write(self, piece: str) -> str:
        """Take the next piece, and return what is to be passed on."""
        self._raw.append(piece)
        said = self._thoughts.write(piece)
        if self.undecided or self.verdict is None:
            said = self._decide(said)
        if not self.verdict or not said or self._passes is False:
            return ""
        answer = self._answer.write(said)
        if self._passes:
            return answer
        self._opening += answer
        refuses = begins_with_refusal(self._opening)
        if refuses is not None and self._opening:
            self._passes = not refuses
        if not self._passes:
            return ""
        answer, self._opening = self._opening, ""
        return answer

    def finish(self) -> Reply:
        """Read the whole reply, which has ended; its text ends with what was not passed on."""
        self.undecided = False
        return read_reply(without_thoughts("".join(self._raw)), self._count)

    def _decide(self, said: str) -> str:
        """Look for the verdict in the reply's first lines, and return the text behind it."""
        if self._thoughts.restarted:
            self._head, self.undecided = "", True
        if not self.undecided:
            return ""
        self._head = (self._head + said).lstrip()
        leading = leading_verdict(self._head)
        if leading is None:
            self.undecided = len(self._head) <= HEAD and not _is_settled(self._head)
            return ""
        verdict, end = leading
        is_ended = self._head[:end].endswith("\n")
        if not is_ended and len(verdict.rest) < _SETTLING:
            return ""
        self.verdict, self.undecided = verdict.sufficient, False
        line = f"{verdict.rest}\n" if is_ended and verdict.rest else verdict.rest
        return f"{line}{self._head[end:]}"


def _is_settled(head: str) -> bool:
    """Whether a beginning without a verdict has a whole line that is none."""
    return "\n" in head and leading_verdict(f"{head}\nSUFFICIENT\n") is None
