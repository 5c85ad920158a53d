"""Whether numbers in brackets are a citation, an array index, a year, or something else.

Example:
    >>> inside = read_marker("Ref 2, 4-5")
    >>> inside.numbers, inside.named
    ((2, 4, 5), True)
    >>> read_marker("10-K") is None
    True
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

LONGEST_MARKER = 300
"""Characters between the brackets of a marker."""

LONGEST_RANGE = 20
"""Numbers of a range that is filled in; a longer one is read as its two ends."""

LONGEST_NUMBER = 3
"""Digits of a number that may be an invented citation; years have four."""

LARGEST_IN_LIST = 30
"""Several numbers, one of them larger than this, that name no reference are no citation."""

Standing = Literal["free", "glued", "index", "code", "literal"]
"""How brackets stand behind the text before them.

Free: behind space or punctuation. Glued: right behind a word that no programmer would index, such
as Paris or 2019. Index: behind a word or a bracket that may be prose or code. Code: behind
something that is indexed, without doubt. Literal: where code writes a list.
"""

_NAMES = (
    r"ref(?:erence)?s?|sources?|src|cit(?:ation|e)s?|passages?|doc(?:ument)?s?|footnotes?|notes?"
    r"|quellen?|referenz(?:en)?|beleg|réf(?:érence)?s?|fuentes?|referencias?|fonti|fonte"
    r"|参考文献|参考|文献|来源|來源|出典|資料|资料"
)
_NAME = re.compile(_NAMES, re.IGNORECASE)
_LEAD = rf"(?:(?:{_NAMES})\.?[ \t]*[:#]?[ \t]*|\^)"
_LONGEST_DIGITS = 9
_NUMBER = rf"-?[0-9]{{1,{_LONGEST_DIGITS}}}"
_JOIN = r"[ \t\u00a0]*(?:[,;&–—-]|and\b|und\b|et\b|y\b|to\b)[ \t\u00a0]*"
_MARKER = re.compile(
    rf"[ \t\u00a0]*(?P<lead>{_LEAD})?(?P<numbers>{_NUMBER}(?:{_JOIN}{_LEAD}?{_NUMBER})*)"
    # Behind the number a remark may say where: "1, p. 5", "1†source", "4:0†source", "1: Title".
    r"[ \t\u00a0]*(?P<remark>(?P<dagger>(?::[0-9]+)?[†‡].{0,80})"
    r"|,[ \t]*(?:pp?|pages?|sec(?:tion)?s?|lines?|ch(?:apter)?|§+|S)\.?[ \t]*\w[\w.–-]{0,12}"
    r"|:[ \t]+[^\W\d_].{0,80})?[ \t\u00a0]*",
    re.IGNORECASE,
)
_PART = re.compile(rf"({_NUMBER})(?:[ \t]*[–—-][ \t]*{_LEAD}?({_NUMBER}))?", re.IGNORECASE)
_WIDE = str.maketrans("０１２３４５６７８９，；：－～、＆", "0123456789,;:--,&")

_SENTENCE_MARKS = frozenset(".,;:!?…。，、；：！？·([{（「『«‹“‘-–—|>~")
_IDENTIFIER = re.compile(r"\w+\Z")
_CALL = re.compile(r"\w\([^()]*\)\Z")
_CODE_BEFORE = re.compile(r"(?:[^=\s]\s?[=+]|\w\(|\b(?:self|this)\.|->|::|[$@])\s?\Z")
_CODE_WORD = re.compile(
    r"[a-z]|_+\w+|[a-z]+[0-9]+|[a-z]{2,}[A-Z][a-z]\w*|\w*[^\W_]_+[^\W_]\w*"
    r"|(?:arr|array|lst|argv|args|kwargs|nums|vec|tmp|buf|ptr|idx|df|str|dict|tuple|obj|mat|matrix"
    r"|iloc|loc)s?"
)
# The text before a list of numbers in code: "array([1, 2])", "x = [1, 2]".
_LITERAL_BEFORE = re.compile(r"\w\(\Z|[\w\])] ?=\s?\Z")
_INTERVAL = re.compile(r"(?:\bin|∈|\binterval|\brange|\bbetween|=)\s*\Z", re.IGNORECASE)
LONGEST_BEFORE = 40
"""Characters before brackets that are looked at."""


@dataclass(frozen=True, slots=True)
class Marker:
    """Numbers in brackets.

    Attributes:
        numbers: The numbers in order, with ranges filled in.
        named: Whether a lead, wide brackets or a dagger says that they name references.
        span: The first and the last number as written, where they are one range.
        titled: Whether words follow that name the reference.
    """

    numbers: tuple[int, ...]
    named: bool
    span: tuple[int, int] | None
    titled: bool

    def cited(
        self, count: int, before: str, standing: Standing, following: str
    ) -> tuple[int, ...] | None:
        """The numbers that are citations here; None where the brackets stay as they are.

        Args:
            count: The number of references that may be cited. Other numbers are inventions.
            before: The text before the brackets, at most `LONGEST_BEFORE` characters.
            standing: How the brackets stand behind that text.
            following: The character behind the brackets; empty at the end.
        """
        if following == "(" or standing == "literal" or (standing == "code" and not self.named):
            return None  # a link, a list or an index
        invented = [number for number in self.numbers if not 1 <= number <= count]
        if not invented:
            return self.numbers
        if any(abs(number) >= 10**LONGEST_NUMBER for number in invented):
            return None
        if standing in ("glued", "index") and min(self.numbers) < 1 and not self.named:
            return None
        if len(invented) < len(self.numbers) and not _is_interval(self, before):
            return self.numbers
        # Nothing is named, so whatever is no citation without doubt stays.
        if would_join(following):
            return None
        return self.numbers if self._invented(before, standing) else None

    def _invented(self, before: str, standing: Standing) -> bool:
        """Whether numbers that name nothing are an invented citation."""
        if self.named:
            return True
        if standing == "index" or self.titled or (self.span and max(self.span) > 9):
            return False
        if len(self.numbers) > 1 and max(self.numbers) > LARGEST_IN_LIST:
            return False
        return not _is_interval(self, before)


def read_marker(inside: str, *, wide: bool = False) -> Marker | None:
    """Read what stands in brackets; None where it is no list of numbers.

    Args:
        inside: The text between the brackets.
        wide: Whether the brackets are 【】, which enclose a number only in citations.
    """
    if inside.isascii() and inside.isdecimal() and len(inside) <= _LONGEST_DIGITS:
        return Marker((int(inside),), wide, None, titled=False)  # as most are
    if len(inside) > LONGEST_MARKER:
        return None
    found = _MARKER.fullmatch(inside.translate(_WIDE))
    if found is None:
        return None
    lead, said = found["lead"] or "", found["numbers"]
    numbers: list[int] = []
    span = None
    parts = _PART.findall(said)
    for first, last in parts:
        start, end = int(first), int(last or first)
        if last and start < 1:
            return None  # "[0-9]" is a class of characters, and references count from 1
        if last:
            span = (start, end) if len(parts) == 1 else span
        filled = last and start < end <= start + LONGEST_RANGE
        numbers += range(start, end + 1) if filled else ((start, end) if last else (start,))
    if lead == "^" and span is not None:
        return None  # so is "[^1-9]"
    named = bool(lead) or wide or found["dagger"] is not None or _NAME.search(said) is not None
    titled = found["dagger"] is None and (found["remark"] or "").startswith(":")
    return Marker(tuple(numbers), named, span, titled)


def numbers_between(first: int, marker: Marker) -> tuple[int, ...] | None:
    """The numbers that "[1]-[3]" cites behind its first; None where the two are no range."""
    last = marker.numbers[0]
    if len(marker.numbers) > 1 or not first < last <= first + LONGEST_RANGE:
        return None
    return tuple(range(first + 1, last + 1))


def standing_behind(before: str) -> Standing:
    """How brackets stand behind a text that is no marker.

    Example:
        >>> [standing_behind(each) for each in ("It is ", "Paris", "values", "x = items")]
        ['free', 'glued', 'index', 'code']
    """
    last = before[-1:]
    if before.rstrip().endswith(("(", "=")) and _LITERAL_BEFORE.search(before):
        return "literal"
    if not last or last.isspace() or last in _SENTENCE_MARKS:
        return "free"
    if last in ")]}":
        return "code" if _CALL.search(before) else "index"
    if not (last.isalnum() or last == "_"):
        return "code" if last in "=/\\@&<" else "glued"
    word = _IDENTIFIER.search(before)
    name = word.group() if word else last
    if name.startswith("_") and name.endswith("_") and len(name) > 2 and "__" not in name:
        return "glued"  # emphasis
    if not name.isascii() or name.isdigit():
        return "glued"
    if _CODE_WORD.fullmatch(name):
        return "code"
    if not name[0].islower():
        return "glued"
    return "code" if _CODE_BEFORE.search(before[: len(before) - len(name)]) else "index"


def would_join(following: str) -> bool:
    """Whether words or backticks would grow together where brackets before this are taken out."""
    return following.isascii() and (following.isalnum() or following in ("_", "`", "~"))


def _is_interval(marker: Marker, before: str) -> bool:
    """Whether two numbers are the ends of an interval, such as "in [0, 1]"."""
    return (
        len(marker.numbers) == 2
        and marker.numbers[0] < 1
        and not marker.named
        and _INTERVAL.search(before) is not None
    )
