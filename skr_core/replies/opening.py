"""How a reply opens: with a model's thoughts, and with the line that states its verdict.

The verdict's token, SUFFICIENT or INSUFFICIENT, is the same in every language, and it is read
wherever a model would set it: bold, in quotes or brackets, as a heading, in lower case, behind a
label. In running prose the words say nothing.

Models that think put it between ``<think>`` and ``</think>`` or their kin, and servers let some of
it through: without the closing tag where the reply was cut off, without the opening one where the
chat template had written it, or as the raw channels of a reply. A tag counts where a model would
set it. An opening tag begins a line; one that is quoted in the middle of a sentence, in a code span
or in a fence is text, and so is the tag that closes it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from skr_core.texts import straight_quotes

LONGEST_LINE = 100
"""Characters of a line that may be a verdict, up to the token's end."""

MOST_LINES_BEFORE = 8
"""Blank lines and announcements that may stand before the verdict."""

HEAD = 400
"""Characters in which a verdict is expected."""

LONGEST_TAG = 120
"""Characters; more than any tag of a thought has."""

_LABELS = (
    r"(?:(?:the |my |final |overall )*(?:verdict|judge?ment|assessment|status|conclusion|decision"
    r"|evaluation|sufficiency|result|token|first line|references)|urteil|bewertung|ergebnis"
    r"|veredicto|conclusión|juicio|jugement|résultat|判定|判断|判斷|结论|結論|结果|評価|verdetto)"
)
_MARKS = r"(?:[\W_](?<!\n)){0,12}(?:\d{1,2}[.)]\s(?:[\W_](?<!\n)){0,6})?"
_CLOSE = r"[*_`\"'”’»」』】\])>}.,!。！✅❌✔✘ \t]{0,8}"
# The token in capitals may stand behind any short label, in small letters behind a known one.
_VERDICT = re.compile(
    rf"{_MARKS}(?:\\(?:boxed|text|textbf)\{{|<verdict>)?"
    rf"(?:{_LABELS}(?:\s+(?:is|ist|est|es))?[*_\"'`]*\s?[:：=–—-]?{_MARKS}"
    r"|[^\W\d](?:[^\n:：.!?。]{0,28})[:：][\W]{0,6}(?=(?-i:IN|NOT |)(?-i:SUFFICIENT)))?"
    r"(?P<token>(?:(?P<denied>in|(?:not|partly|partially|only partially)[ _-])?sufficient))"
    r"(?![^\W_]|'\w)",
    re.IGNORECASE,
)
_REST_OF_LINE = re.compile(rf"(?:{_CLOSE}|</verdict>)\s*\Z")
_JSON = re.compile(r"\s*[{\[]\s*\"\w+\"\s*[:,]")
# What may stand between the token and an answer on the same line.
_SEPARATOR = re.compile(
    r"[*_`\"'”’»」』】\])>}]{0,4}(?:\s*[:：.。—–]|\s+-)[*_`\"']{0,3}(?=\s|$|\S)\s*"
)
_BEHIND = re.compile(r"[*_`\"'”’»」』】\])>}]{0,4}\s+(?=[^\W\da-z_]|\d|[\[(*「“\"])")
_ALTERNATIVES = re.compile(
    r"\W*(?:/|\bor\b|\band\b|\boder\b|\bou\b|\bo\b|或|または)", re.IGNORECASE
)
_SAME_LINE_END = re.compile(
    r"(?:[.!?。！？\])][*_\"'`]*)\s*(?P<line>(?:\*\*|[(\[`_])*(?:(?i:"
    + _LABELS
    + r")\s*[:：]\W{0,4})?"
    r"(?P<token>(?P<denied>IN|NOT )?SUFFICIENT)\W{0,6})\Z"
)
# A line that only announces the verdict, such as "### Verdict".
_LABEL_LINE = re.compile(rf"{_MARKS}{_LABELS}{_MARKS}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class VerdictLine:
    """A line that states a verdict.

    Attributes:
        sufficient: Whether it says that the references suffice.
        rest: The text that follows the token on its line.
    """

    sufficient: bool
    rest: str = ""


def read_verdict(line: str) -> VerdictLine | None:
    """The verdict that a line states; None where it states none.

    Args:
        line: One line of a reply.

    Example:
        >>> read_verdict("**INSUFFICIENT**")
        VerdictLine(sufficient=False, rest='')
        >>> read_verdict("Verdict: sufficient.")
        VerdictLine(sufficient=True, rest='')
        >>> read_verdict("SUFFICIENT: Paris [1].").rest
        'Paris [1].'
        >>> read_verdict("The cash was sufficient [2].") is None
        True
    """
    token = _VERDICT.match(straight_quotes(line[: LONGEST_LINE * 2]))
    if token is None or token.start("token") > LONGEST_LINE or _JSON.match(line[:LONGEST_LINE]):
        return None
    rest = line[token.end() :]
    sufficient = token.group("denied") is None
    if _REST_OF_LINE.fullmatch(rest[:40]):
        return VerdictLine(sufficient, rest[40:].lstrip().rstrip("\n"))
    said = token.group("token")
    if _ALTERNATIVES.match(rest):
        return None
    between = _SEPARATOR.match(rest)
    if between is None and said.isupper():
        between = _BEHIND.match(rest)
    return None if between is None else VerdictLine(sufficient, rest[between.end() :].rstrip("\n"))


def leading_verdict(text: str) -> tuple[VerdictLine, int] | None:
    """The verdict that a text begins with, and the place where the next line begins.

    Blank lines and lines that only announce the verdict may stand before.

    Args:
        text: A reply, or the beginning of one.

    Example:
        >>> leading_verdict("### Verdict\\nSUFFICIENT\\nParis [1].")
        (VerdictLine(sufficient=True, rest=''), 23)
    """
    start = 0
    for _ in range(MOST_LINES_BEFORE):
        end = text.find("\n", start) + 1 or len(text)
        line = text[start:end]
        if verdict := read_verdict(line):
            return verdict, end
        if line.strip() and not _LABEL_LINE.fullmatch(line[:LONGEST_LINE].strip()):
            return None
        start = end
    return None


def verdict_behind(text: str) -> tuple[str, VerdictLine] | None:
    """The verdict that a text ends with on its last line, and the text before it.

    Example:
        >>> verdict_behind("Paris [1]. SUFFICIENT")
        ('Paris [1].', VerdictLine(sufficient=True, rest=''))
    """
    tail = _SAME_LINE_END.search(text, max(0, len(text) - LONGEST_LINE))
    if tail is None:
        return None
    return text[: tail.start("line")].rstrip(), VerdictLine(tail.group("denied") is None)


_TRANSLATED = {
    True: "ausreichend genügend suffisant suffisantes suficiente suficientes sufficiente"
    " sufficienti voldoende достаточно 充分 足够 足夠 十分 충분",
    False: "unzureichend ungenügend insuffisant insuffisantes insuficiente insuficientes"
    " insufficiente insufficienti onvoldoende недостаточно 不充分 不足 不够 不夠 不十分 불충분",
}
_VERDICTS = {word: verdict for verdict, said in _TRANSLATED.items() for word in said.split()}
_DENIES = re.compile(r"(?:nicht|pas|no|non|não|niet|не|not)\s+(?=\S)")
_CAPITALS = re.compile(r"[\W_]{0,8}(?P<words>[^\W\d_]{2,}(?:[ _-][^\W\d_]+){0,2})[\W_]{0,8}")
_LEAST_CAPITALS = 6  # an answer such as "NASA" is no verdict


def translated_verdict(text: str) -> tuple[bool | None, str] | None:
    """The verdict that a text begins with in another language, and the text behind its line.

    Args:
        text: A reply that does not state the verdict in its token.

    Returns:
        None where its first line is none; the verdict is None where the line is one word or a few
        in capitals that are not known, which are no part of the answer before it.

    Example:
        >>> translated_verdict("UNZUREICHEND\\nEs fehlt: sein Lohn")
        (False, 'Es fehlt: sein Lohn')
    """
    line, _, behind = text.strip().partition("\n")
    said = _CAPITALS.fullmatch(line.strip()) if len(line) <= LONGEST_LINE else None
    if said is None or not behind.strip():
        return None
    words = said["words"]
    denied = _DENIES.match(words.lower())
    verdict = _VERDICTS.get(words.lower()[denied.end() if denied else 0 :])
    if verdict is not None:
        return verdict and not denied, behind
    return (None, behind) if words.isupper() and len(words) >= _LEAST_CAPITALS else None


_NAMES = (
    r"(?:[a-z]{1,12}:)?(?:think|thinking|thoughts?|reason|reasoning|reflection|analysis"
    r"|inner_monologue|scratchpad)"
)
_TAG = (
    rf"(?P<open><{_NAMES}>|\[THINK\]|◁think▷|<\|begin_of_thought\|>"
    r"|<\|channel\|>(?!final)\w{1,20}[^\n<>|]{0,60}<\|message\|>)"
    rf"|(?P<close></{_NAMES}>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>"
    r"|<\|channel\|>final[^\n<>|]{0,60}<\|message\|>|assistantfinal(?=\S))"
    r"|(?P<mark><\|(?:start|end)\|>(?:assistant)?|<\|return\|>"
    r"|<\|(?:begin|end)_of_solution\|>)"
)
_TAG_OR_LINE = re.compile(rf"{_TAG}|(?P<fence>`{{3}}|~{{3}})|(?P<line>\n+)", re.IGNORECASE)
_WORD = "assistantfinal"
_IN_A_TAG = ("<", "◁", "think]", _WORD)  # each tag holds one of these
# The end of a text that may become a tag when more text follows.
_UNSETTLED = re.compile(
    r"(?:</?[a-z_:]{0,32}|\[/?[a-z]{0,5}|◁/?[a-z]{0,5}|<\|[^\n<>|]{0,24}\|?|<\|start\|>[a-z]{0,9}"
    r"|<\|channel\|>[^\n<>|]{0,80}(?:<\|?[a-z]{0,8}\|?)?|`{1,2}|~{1,2}"
    rf"|{'|'.join(_WORD[:end] for end in range(1, len(_WORD) + 1))})\Z",
    re.IGNORECASE,
)
_BEFORE_TAG = " \t*>#"


def strip_thoughts(text: str) -> str:
    """A reply without its thoughts and without the space around it; never raises.

    Args:
        text: The reply. Where a thought is not closed, all of it goes from its beginning on.

    Example:
        >>> strip_thoughts("<think>Is it Lyon? No.</think> Paris [1].")
        'Paris [1].'
        >>> strip_thoughts("Is it Lyon? No.</think>Paris [1].")
        'Paris [1].'
        >>> strip_thoughts("<think>Is it Ly")
        ''
    """
    return without_thoughts(text).strip()


def without_thoughts(text: str) -> str:
    """A reply without its thoughts, and with the space around it.

    Example:
        >>> without_thoughts("<think>Is it Lyon? No.</think>    x = arr[0]")
        '    x = arr[0]'
    """
    said = text.casefold()
    if not any(each in said for each in _IN_A_TAG):
        return text
    thoughts = ThoughtFilter()
    said = thoughts.write(text)
    behind = thoughts.finish()
    return behind if thoughts.restarted else said + behind


class ThoughtFilter:
    """Passes on what is no thought as the pieces of a reply arrive; any cut gives the same.

    Text that was passed on may turn out to have been a thought: a closing tag without an opening
    one says so. `restarted` is then true, and the text that `write` returns begins anew. A caller
    that shows nothing before the verdict's line has nothing to take back.

    Attributes:
        restarted: Whether the last `write` or `finish` found that all the text before was a
            thought; it returned the text behind it.

    Example:
        >>> thoughts = ThoughtFilter()
        >>> "".join(map(thoughts.write, ["<thi", "nk>Lyon?</th", "ink>Par", "is"]))
        'Paris'
        >>> thoughts.finish()
        ''
    """

    def __init__(self) -> None:
        self.restarted = False
        self._waiting = ""  # what may be the beginning of a tag
        self._thinking = False
        self._fence = ""
        self._is_begun = False  # whether the current line has more than marks before a tag
        self._last = ""  # character of the current line
        self._head = ""  # the beginning of what is passed on
        self._quoted = 0  # opening tags that are text

    def write(self, piece: str) -> str:
        """Take the next piece, and return what is known to be no thought."""
        self.restarted = False
        return self._read(self._waiting + piece, is_end=False)

    def finish(self) -> str:
        """Return what waited and is no thought; the reply has ended."""
        self.restarted = False
        return self._read(self._waiting, is_end=True)

    def _read(self, text: str, *, is_end: bool) -> str:
        waits = None if is_end else _UNSETTLED.search(text, max(0, len(text) - LONGEST_TAG))
        end = waits.start() if waits else len(text)
        passed: list[str] = []
        place = 0
        for token in _TAG_OR_LINE.finditer(text):
            if token.start() >= end:
                break
            self._pass(text[place : token.start()], passed)
            place = token.end()
            self._take(token, passed)
        if place < end:
            self._pass(text[place:end], passed)
            place = end
        self._waiting = text[place:]
        return "".join(passed)

    def _take(self, token: re.Match[str], passed: list[str]) -> None:
        kind, said = token.lastgroup, token.group()
        if self._thinking:
            self._thinking = kind != "close" and said.lower() != "<|end|>"
        elif kind == "line":
            self._pass(said, passed)
            self._is_begun, self._last = False, ""
        elif kind == "fence":
            if not self._is_begun and not self._fence:
                self._fence = said
            elif not self._is_begun and said.startswith(self._fence):
                self._fence = ""
            self._pass(said, passed)
        elif self._fence or self._last == "`":
            self._pass(said, passed)
        elif kind == "open":
            self._thinking = not self._is_begun
            if not self._thinking:
                self._quoted += 1
                self._pass(said, passed)
        elif kind == "close" and self._quoted:
            self._quoted -= 1
            self._pass(said, passed)
        elif kind == "close" and leading_verdict(self._head) is None:
            passed.clear()
            self.restarted, self._is_begun, self._last, self._head = True, False, "", ""

    def _pass(self, text: str, passed: list[str]) -> None:
        if text and not self._thinking:
            passed.append(text)
            if len(self._head) < HEAD:
                self._head += text[: HEAD - len(self._head)]
            self._is_begun = self._is_begun or bool(text.strip(_BEFORE_TAG))
            self._last = text[-1]
