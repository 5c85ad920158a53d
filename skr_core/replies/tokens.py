"""The verdict's token: a line that says SUFFICIENT or INSUFFICIENT, and nothing else.

The token is the same in every language, and it is read wherever a model would set it: bold, in
quotes or brackets, as a heading, in lower case, behind a label. In running prose the words say
nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from skr_core.patterns import lazy_pattern
from skr_core.texts import straight_quotes

LONGEST_LINE = 100
"""Characters of a line that may be a verdict; what follows the token is not counted."""

MOST_LINES_BEFORE = 8
"""Blank lines and announcements before the verdict."""

_LABELS = (
    r"(?:(?:the |my |final |overall )*(?:verdict|judge?ment|assessment|status|conclusion|decision"
    r"|evaluation|sufficiency|result|token|first line|references)|urteil|bewertung|ergebnis"
    r"|veredicto|conclusión|juicio|jugement|résultat|判定|判断|判斷|结论|結論|结果|評価|verdetto)"
)
_MARKS = r"(?:[\W_](?<!\n)){0,12}(?:\d{1,2}[.)]\s(?:[\W_](?<!\n)){0,6})?"
_CLOSE = r"[*_`\"'”’»」』】\])>}.,!。！✅❌✔✘ \t]{0,8}"
# The token in capitals may stand behind any short label, in small letters behind a known one.
_TOKEN = lazy_pattern(
    rf"{_MARKS}(?:\\(?:boxed|text|textbf)\{{|<verdict>)?"
    rf"(?:{_LABELS}(?:\s+(?:is|ist|est|es))?[*_\"'`]*\s?[:：=–—-]?{_MARKS}"
    r"|[^\W\d](?:[^\n:：.!?。]{0,28})[:：][\W]{0,6}(?=(?-i:IN|NOT |)(?-i:SUFFICIENT)))?"
    r"(?P<token>(?:(?P<denied>in|(?:not|partly|partially|only partially)[ _-])?sufficient))"
    r"(?![^\W_]|'\w)",
    re.IGNORECASE,
)
_REST_OF_LINE = lazy_pattern(rf"(?:{_CLOSE}|</verdict>)\s*\Z")
_JSON = lazy_pattern(r"\s*[{\[]\s*\"\w+\"\s*[:,]")
# What may stand between the token and an answer on the same line.
_SEPARATOR = lazy_pattern(
    r"[*_`\"'”’»」』】\])>}]{0,4}(?:\s*[:：.。—–]|\s+-)[*_`\"']{0,3}(?=\s|$|\S)\s*"
)
_BEHIND = lazy_pattern(r"[*_`\"'”’»」』】\])>}]{0,4}\s+(?=[^\W\da-z_]|\d|[\[(*「“\"])")
_ALTERNATIVES = lazy_pattern(
    r"\W*(?:/|\bor\b|\band\b|\boder\b|\bou\b|\bo\b|或|または)", re.IGNORECASE
)
_SAME_LINE_END = lazy_pattern(
    r"(?:[.!?。！？\])][*_\"'`]*)\s*(?P<line>(?:\*\*|[(\[`_])*(?:(?i:"
    + _LABELS
    + r")\s*[:：]\W{0,4})?"
    r"(?P<token>(?P<denied>IN|NOT )?SUFFICIENT)\W{0,6})\Z"
)
LABEL_LINE = lazy_pattern(rf"{_MARKS}{_LABELS}{_MARKS}", re.IGNORECASE)
"""A line that only announces the verdict, such as "### Verdict"."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict's line.

    Attributes:
        sufficient: What it says.
        rest: What follows the token on its line.
    """

    sufficient: bool
    rest: str = ""


def read_verdict(line: str) -> Verdict | None:
    """The verdict that a line states; None where it states none.

    Args:
        line: One line of a reply.

    Example:
        >>> read_verdict("**INSUFFICIENT**")
        Verdict(sufficient=False, rest='')
        >>> read_verdict("Verdict: sufficient.")
        Verdict(sufficient=True, rest='')
        >>> read_verdict("SUFFICIENT: Paris [1].").rest
        'Paris [1].'
        >>> read_verdict("The cash was sufficient [2].") is None
        True
    """
    token = _TOKEN.match(straight_quotes(line[: LONGEST_LINE * 2]))
    if token is None or token.start("token") > LONGEST_LINE or _JSON.match(line[:LONGEST_LINE]):
        return None
    rest = line[token.end() :]
    sufficient = token.group("denied") is None
    if _REST_OF_LINE.fullmatch(rest[:40]):
        return Verdict(sufficient, rest[40:].lstrip().rstrip("\n"))
    said = token.group("token")
    if _ALTERNATIVES.match(rest):
        return None
    between = _SEPARATOR.match(rest)
    if between is None and said.isupper():
        between = _BEHIND.match(rest)
    return None if between is None else Verdict(sufficient, rest[between.end() :].rstrip("\n"))


def leading_verdict(text: str) -> tuple[Verdict, int] | None:
    """The verdict that a text begins with, and the place where the next line begins.

    Blank lines and lines that only announce the verdict may stand before.

    Args:
        text: A reply, or the beginning of one.

    Example:
        >>> leading_verdict("### Verdict\\nSUFFICIENT\\nParis [1].")
        (Verdict(sufficient=True, rest=''), 23)
    """
    start = 0
    for _ in range(MOST_LINES_BEFORE):
        end = text.find("\n", start) + 1 or len(text)
        line = text[start:end]
        if verdict := read_verdict(line):
            return verdict, end
        if line.strip() and not LABEL_LINE.fullmatch(line[:LONGEST_LINE].strip()):
            return None
        start = end
    return None


def verdict_behind(text: str) -> tuple[str, Verdict] | None:
    """The verdict that a text ends with on its last line, and the text before it.

    Example:
        >>> verdict_behind("Paris [1]. SUFFICIENT")
        ('Paris [1].', Verdict(sufficient=True, rest=''))
    """
    tail = _SAME_LINE_END.search(text, max(0, len(text) - LONGEST_LINE))
    if tail is None:
        return None
    return text[: tail.start("line")].rstrip(), Verdict(tail.group("denied") is None)
