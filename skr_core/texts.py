"""Plain text, read without a model: its words, its sentences, and forms to compare and to encode.

Nothing here raises, whatever the text, and each reading takes time in proportion to its length.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterable, Iterator

# A run of letters and digits is a word. Chinese and Japanese put no spaces between words, so
# there each character is one.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
WORD = f"(?u)[{_UNSPACED}]|[^\\W{_UNSPACED}]+"
"""The pattern of a word, for keyword search, for embedders and for everything else."""

MARKER = r"\[[0-9]+\]"
"""The pattern of a citation marker such as ``[1]``."""

_WORDS = re.compile(WORD)
_ASCII_WORDS = re.compile(r"\w+", re.ASCII)  # the same where all is ASCII, and quicker
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_MARKERS = re.compile(MARKER)
_TYPOGRAPHIC = (("’", "'"), ("‘", "'"), ("`", "'"), ("“", '"'), ("”", '"'))

_SENTENCE_END = re.compile(
    # One of these, taken first: a search goes on to the next of them without trying what follows.
    r"[.!?。！？\n](?:"
    # A full stop, the quotation marks and brackets that close behind it, its markers, then space.
    rf"(?<=[.!?])[\"'”’)\]]*(?P<markers>(?:[^\S\n]*{MARKER})*)(?P<space>\s+|$)"
    # Chinese and Japanese put no space behind theirs.
    rf"|(?<=[。！？])[”’」』）]*(?:[^\S\n]*{MARKER})*\s*"
    # A heading or an item of a list ends with its line, whatever its last character.
    r"|(?<=\n)\s*)"
)
# A full stop behind these ends no sentence: titles, initials, and abbreviations such as U.S.
_ABBREVIATED = (
    *("Mr", "Mrs", "Ms", "Dr", "St", "Mt", "Jr", "Sr", "Prof", "Gen", "Col", "Lt", "Capt", "Sgt"),
    *("Rev", "Hon", "Inc", "Ltd", "Co", "Corp", "vs", "etc", "ca", "cf", "al", "aft", "bef"),
    *("lit", "approx"),
)
_ABBREVIATION = re.compile(
    rf"(?:^|[\s(\"“])(?:[^\W\d_]|{'|'.join(_ABBREVIATED)}|(?:[^\W\d_]\.)+[^\W\d_])\.$"
)
# Neither behind these, where a number follows: "No. 5".
_NUMBERED = ("No", "Nos", "Vol", "Fig", "pp")
_BEFORE_NUMBER = re.compile(rf"(?:^|[\s(\"“])(?:{'|'.join(_NUMBERED)})\.$")
_SHORT = frozenset((*_ABBREVIATED, *_NUMBERED))
LONGEST_ABBREVIATION = 20
"""Characters looked at before a full stop; more than any abbreviation has."""


def words(text: str) -> list[str]:
    """All words, in lower case.

    Example:
        >>> words("The Eiffel Tower, 巴黎")
        ['the', 'eiffel', 'tower', '巴', '黎']
    """
    lower = text.lower()
    found: list[str] = (_ASCII_WORDS if lower.isascii() else _WORDS).findall(lower)
    return found


def split_sentences(text: str) -> list[str]:
    """Split a text into sentences, without the space around them.

    Abbreviations and initials do not end a sentence, a line break always does, and the citation
    markers behind a full stop stay with the sentence before them. No other character is lost.

    Example:
        >>> split_sentences("It was Dr. No. [1] He left for the U.S. Army.")
        ['It was Dr. No. [1]', 'He left for the U.S. Army.']
    """
    return [sentence for _, sentence in sentence_spans(text)]


def sentence_spans(text: str) -> Iterator[tuple[int, str]]:
    """Each sentence of `split_sentences` with the place of its first character.

    Example:
        >>> list(sentence_spans(" One. Two."))
        [(1, 'One.'), (6, 'Two.')]
    """
    start = 0
    for end in _SENTENCE_END.finditer(text):
        if _continues(text, start, end):
            continue
        if span := _stripped(start, text[start : end.end()]):
            yield span
        start = end.end()
    if span := _stripped(start, text[start:]):
        yield span


def _continues(text: str, start: int, end: re.Match[str]) -> bool:
    """Whether the sentence goes on behind what looks like its end."""
    if end.group("space") is None or "\n" in end.group("space") or end.end() == len(text):
        return False
    following = text[end.end() : end.end() + 1]
    if following.islower():
        return True
    if end.group("markers"):
        return False
    stop = end.start() + 1
    begin = max(start, stop - LONGEST_ABBREVIATION)
    word = text[begin : stop - 1].rpartition(" ")[2]
    if word.endswith("]") or (len(word) > 1 and word not in _SHORT and word.isalpha()):
        return False  # a marker, or as most words are
    if _BEFORE_NUMBER.search(text, begin, stop):
        return following.isdigit() or following == ""
    return _ABBREVIATION.search(text, begin, stop) is not None


def _stripped(start: int, piece: str) -> tuple[int, str] | None:
    """A sentence without the space around it, and its place; None where there is none."""
    sentence = piece.strip()
    return (start + len(piece) - len(piece.lstrip()), sentence) if sentence else None


def normalise(text: str) -> str:
    """Lower case, without punctuation, articles, citation markers and extra space, as SQuAD does.

    Typographic quotation marks count as punctuation too, for one model writes them and another
    does not.

    Example:
        >>> normalise("The Eiffel Tower, [1] in Paris!")
        'eiffel tower in paris'
    """
    bare = straight_quotes(_MARKERS.sub(" ", text.lower())).translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def straight_quotes(text: str) -> str:
    """The text with straight quotation marks and apostrophes in place of typographic ones.

    Example:
        >>> straight_quotes("I don’t know “it”.")
        'I don\\'t know "it".'
    """
    for typographic, straight in _TYPOGRAPHIC:
        text = text.replace(typographic, straight)
    return text


def beginnings(words: Iterable[str]) -> frozenset[str]:
    """Every text that one of some words begins with, the empty one among them.

    Example:
        >>> sorted(beginnings(["no", "not"]))
        ['', 'n', 'no', 'not']
    """
    return frozenset(word[:end] for word in words for end in range(len(word) + 1))


class JsonGuess:
    """Tells, while a text arrives, whether the whole of it may still be JSON.

    An object, a list or a quoted text may; what is no JSON without doubt is known at its first
    character that none of them has.

    Attributes:
        may_be: Whether it may; no white space has decided yet.

    Example:
        >>> guess = JsonGuess()
        >>> guess.write('{"sources": [1, 3'), guess.write("]}"), guess.write(" [1] says so.")
        (True, True, False)
    """

    def __init__(self) -> None:
        self.may_be = True
        self._open = 0
        self._begun = self._quoted = self._escaped = False

    @property
    def has_ended(self) -> bool:
        """Whether its last bracket or quotation mark is closed."""
        return self._begun and not self._open and not self._quoted

    def write(self, piece: str) -> bool:
        """Read on, and return whether it still may."""
        for each in piece if self.may_be else "":
            if self._escaped:
                self._escaped = False
            elif self._quoted:
                self._escaped, self._quoted = each == "\\", each != '"'
            elif not each.isspace():
                self.may_be = self._goes_on(each)
                if not self.may_be:
                    break
        return self.may_be

    def _goes_on(self, each: str) -> bool:
        if not self._open and (self._begun or each not in '{["'):
            return False
        self._begun = True
        self._quoted = each == '"'
        self._open += (each in "{[") - (each in "}]")
        return each in _OF_JSON


_OF_JSON = frozenset('{}[]",:+-.0123456789eE' + "truefalsenull" + "NaNInfinity")


def is_json(text: str) -> bool:
    """Whether a text is a JSON object, list or string as a whole: data, of which nothing is edited.

    A marker alone, such as ``[1]``, is none.

    Example:
        >>> is_json('{"sources": [1, 3]}'), is_json("[1] says so."), is_json("[1]")
        (True, False, False)
    """
    if not text.lstrip().startswith(("{", "[", '"')) or _MARKERS.fullmatch(text.strip()):
        return False
    try:
        json.loads(text, strict=False, parse_int=str)  # of any length
    except (ValueError, RecursionError):
        return False
    return True


def encodable(text: str) -> str:
    """The text as UTF-8 can encode it: each lone surrogate becomes U+FFFD.

    Example:
        >>> encodable("a" + chr(0xD800) + "b") == "a" + chr(0xFFFD) + "b"
        True
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
