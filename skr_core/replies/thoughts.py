"""Taking a model's thoughts out of its reply, in one piece or as the reply comes.

Models that think put it between ``<think>`` and ``</think>`` or their kin, and servers let some of
it through: without the closing tag where the reply was cut off, without the opening one where the
chat template had written it, or as the raw channels of a reply.

A tag counts where a model would set it. An opening tag begins a line; one that is quoted in the
middle of a sentence, in a code span or in a fence is text, and so is the tag that closes it.
"""

from __future__ import annotations

import re

from skr_core.patterns import lazy_pattern
from skr_core.replies.tokens import leading_verdict

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
_TOKEN = lazy_pattern(rf"{_TAG}|(?P<fence>`{{3}}|~{{3}})|(?P<line>\n+)", re.IGNORECASE)
_WORD = "assistantfinal"
_IN_A_TAG = ("<", "◁", "think]", _WORD)  # each tag holds one of these
# An end of a text that more text may make a tag of.
_UNSETTLED = lazy_pattern(
    r"(?:</?[a-z_:]{0,32}|\[/?[a-z]{0,5}|◁/?[a-z]{0,5}|<\|[^\n<>|]{0,24}\|?|<\|start\|>[a-z]{0,9}"
    r"|<\|channel\|>[^\n<>|]{0,80}(?:<\|?[a-z]{0,8}\|?)?|`{1,2}|~{1,2}"
    rf"|{'|'.join(_WORD[:end] for end in range(1, len(_WORD) + 1))})\Z",
    re.IGNORECASE,
)
HEAD = 400
"""Characters in which a verdict is expected."""

LONGEST_TAG = 120
"""Characters; more than any tag has."""
_BEFORE_TAG = " \t*>#"


def strip_thoughts(text: str) -> str:
    """A reply without its thoughts and without the space around it; never raises.

    Args:
        text: The reply. Where a thought is not closed, nothing behind its beginning is left.

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
    """Passes on what is no thought, as the pieces of a reply come; any cut gives the same.

    What was passed on may turn out to have been a thought: a closing tag without an opening one
    says so. `restarted` is then true, and what `write` returns begins anew. A caller that shows
    nothing before the verdict's line has nothing to take back.

    Attributes:
        restarted: Whether the last `write` or `finish` found that all before was a thought; what
            it returned is what came behind.

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
        """Take the next piece, and give what is known to be no thought."""
        self.restarted = False
        return self._read(self._waiting + piece, is_end=False)

    def finish(self) -> str:
        """What was held back and is no thought; the reply has ended."""
        self.restarted = False
        return self._read(self._waiting, is_end=True)

    def _read(self, text: str, *, is_end: bool) -> str:
        held = None if is_end else _UNSETTLED.search(text, max(0, len(text) - LONGEST_TAG))
        end = held.start() if held else len(text)
        passed: list[str] = []
        place = 0
        for token in _TOKEN.finditer(text):
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
            if not self._is_begun:
                self._turn_fence(said)
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

    def _turn_fence(self, said: str) -> None:
        if not self._fence:
            self._fence = said
        elif said.startswith(self._fence):
            self._fence = ""

    def _pass(self, text: str, passed: list[str]) -> None:
        if text and not self._thinking:
            passed.append(text)
            if len(self._head) < HEAD:
                self._head += text[: HEAD - len(self._head)]
            self._is_begun = self._is_begun or bool(text.strip(_BEFORE_TAG))
            self._last = text[-1]
