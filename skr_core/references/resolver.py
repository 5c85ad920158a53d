"""Reading an answer piece by piece: which of its brackets are citations, and what they cite."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from skr_core.references.markers import (
    LONGEST_BEFORE,
    Standing,
    numbers_between,
    read_marker,
    standing_behind,
    would_join,
)
from skr_core.texts import JsonGuess, is_json

# Markers stand on one line, so that a line break is a token of its own. So are the characters of
# markers and of code, and the space beside them. Words with the space between them are one token.
_WORD = r"[^\s\[\]【】［］`~]+"
_TOKEN = re.compile(rf"{_WORD}(?:[^\S\n]+{_WORD})*|[^\S\n]+|[\[\]【】［］]|\n|`+|~+")
_OPENING, _CLOSING, _WIDE, _RUNS = "[【［", "]】］", "【】", "`~"
_DASHES = frozenset("-–—")
SHORTEST_FENCE = 3
"""Backticks or tildes that begin a block of code."""
_NOWHERE = -9
_NO_RANGE = 10**9  # stands for several numbers: no range goes on from them
_LISTED = re.compile(r"\[(\d{1,3}(?:, ?\d{1,3})*)\]")
# The space before a marker that is taken out stays, unless one of these follows.
_NO_SPACE_BEFORE = frozenset(".,;:!?…)]}’”»。，、；：！？）】」』")


@dataclass(slots=True)
class _Code:
    """Code that has begun: a span that may turn out to be none, or a block.

    Attributes:
        run: The backticks or tildes that open it.
        may_be_block: Whether it stands where a block may begin.
        block: Whether it is a block for certain: its first line has ended.
        may_end: Whether this line of a block has nothing but its closing backticks or tildes.
        bracket: The part with the first bracket of a span, which is read again if it is no span.
    """

    run: str
    may_be_block: bool
    block: bool = False
    may_end: bool = False
    bracket: int | None = None


class MarkerResolver:
    """Resolves markers piece by piece, looking at each character a few times at most.

    Where the text is cut into pieces makes no difference. A text that is JSON as a whole is data:
    none of it is changed, and its markers are the numbers in it that name references.

    Args:
        count: The number of references that may be cited.
        shown: Whether markers that name a reference stay.

    Attributes:
        removed: The number of markers taken out so far because they name no reference.

    Example:
        >>> resolver = MarkerResolver(1)
        >>> for piece in ("Paris [", "1] is [", "7"):
        ...     resolver.write(piece)
        >>> resolver.take()
        'Paris [1] is'
        >>> resolver.finish()
        'Paris [1] is [7'
    """

    def __init__(self, count: int, *, shown: bool = True) -> None:
        self.removed = 0
        self._count, self._shown = count, shown
        self._parts: list[str] = []
        self._markers: list[tuple[int, int]] = []  # the part and the number of each citation
        self._open: list[int] = []  # places of the brackets that may still begin a marker
        self._closed = ""  # a bracket whose meaning the next character decides
        self._run = ""  # backticks or tildes that may go on
        self._code: _Code | None = None
        self._literal = False  # backticks mean nothing any more on this line
        self._dash = _NOWHERE  # the part that may join two markers
        self._swallow = self._emptied = _NOWHERE  # the part behind a marker that was taken out
        self._cited = (_NOWHERE, 0)  # the part behind the last marker, and its number
        self._indexed = _NOWHERE  # the part behind the last index
        self._settled = self._taken = 0
        self._json = JsonGuess()
        self._raw: list[str] = []  # what was written, while it may be JSON
        self._rest: list[str] = []  # of it, what is not taken yet
        self._held: list[str] = []  # how that reads resolved, from where it reads otherwise
        self._data: str | None = None

    def write(self, piece: str) -> None:
        """Read on."""
        if self._json.may_be and self._json.write(piece):
            self._raw.append(piece)
            self._rest.append(piece)
        for token in _TOKEN.findall(piece):
            self._read(token)

    def take(self) -> str:
        """Return what has settled since the last time.

        The pieces add up to a beginning of the text. A bracket that may begin a marker has not
        settled, nor the space before it.
        """
        piece = "".join(self._parts[self._taken : self._settled])
        first, self._taken = self._taken == 0, self._settled
        piece = piece.lstrip() if first else piece
        if not self._json.may_be:
            piece, self._held = "".join((*self._held, piece)), []
            return piece
        # As prose or as data, it may be shown as far as it reads alike.
        if not self._held:
            rest = "".join(self._rest)
            rest = rest.lstrip() if first else rest
            if rest.startswith(piece):
                self._rest = [rest[len(piece) :]]
                return piece
        self._held.append(piece)
        return ""

    def finish(self) -> str:
        """Return all of the text, resolved, without space around it; nothing is written after."""
        raw = "".join(self._raw).strip()
        if self._json.may_be and is_json(raw):
            self._data, self.removed = raw, 0
            return raw
        self._flush("")
        if self._code is not None and not self._code.block and not self._code.may_be_block:
            self._reread(self._code)
        return "".join(self._parts).strip()

    @property
    def cites(self) -> bool:
        """Whether a marker so far names a reference."""
        return bool(self._markers)

    @property
    def markers(self) -> Sequence[tuple[int, int]]:
        """The place in the finished text and the number of each marker that names a reference."""
        if self._data is not None:
            lists = ((each.start(), each[1].split(",")) for each in _LISTED.finditer(self._data))
            listed = ((place, list(map(int, numbers))) for place, numbers in lists)
            return [
                (place, number)
                for place, numbers in listed
                if all(1 <= each <= self._count for each in numbers)
                for number in dict.fromkeys(numbers)
            ]
        whole = "".join(self._parts)
        found, part, at = [], 0, len(whole.lstrip()) - len(whole)
        for index, number in self._markers:
            at += sum(map(len, self._parts[part:index]))
            part = index
            found.append((at, number))
        return found

    def _read(self, token: str) -> None:
        if self._run and token[0] == self._run[0]:
            self._run += token
            return
        if self._closed or self._run:
            self._flush(token[0])
        if token[0] in _RUNS:
            self._run = token
        elif token == "\n":
            self._end_line()
        elif self._code is not None:
            self._read_code(token, self._code)
        elif token in _OPENING:
            self._open.append(len(self._parts))
            self._parts.append(token)
        elif token in _CLOSING and self._open:
            self._closed = token
        elif token.isspace() and self._swallow == len(self._parts):
            pass  # the space behind a marker that began its line and is gone
        else:
            if token in _DASHES and self._cited[0] == len(self._parts):
                self._dash = len(self._parts)
            self._add(token)

    def _add(self, token: str) -> None:
        space = token.isspace()
        if space and self._parts and self._parts[-1] != "\n" and self._parts[-1].isspace():
            self._parts[-1] += token
            return
        self._parts.append(token)
        may_be_reread = self._code is not None and self._code.bracket is not None
        if not (space or may_be_reread or self._open or self._dash == len(self._parts) - 1):
            self._settled = len(self._parts)

    def _read_code(self, token: str, code: _Code) -> None:
        if not code.block and code.bracket is None and (token in _OPENING or token in _CLOSING):
            code.bracket = len(self._parts)
        code.may_end = code.may_end and token.isspace()
        self._add(token)

    def _flush(self, following: str) -> None:
        """Decide what has waited for the next character."""
        if self._closed:
            bracket, self._closed = self._closed, ""
            self._close(bracket, following)
        if self._run:
            run, self._run = self._run, ""
            self._end_run(run)

    def _end_run(self, run: str) -> None:
        code = self._code
        starts_line = len(run) >= SHORTEST_FENCE and self._is_blank(len(self._parts))
        if code is None:
            if not self._literal and (run[0] == "`" or starts_line):
                self._code = _Code(run, starts_line, block=run[0] == "~")
        elif code.block:
            code.may_end = starts_line and run.startswith(code.run)
        else:
            # Behind the backticks that open a block there are none on their line.
            code.may_be_block = False
            if run == code.run:
                self._code = None
        self._add(run)

    def _end_line(self) -> None:
        code, unsettled = self._code, bool(self._open)
        if code is not None and not code.block:
            unsettled = unsettled or code.bracket is not None
            if code.may_be_block:
                code.block, code.bracket = True, None
            else:
                self._reread(code)
        elif code is not None and code.may_end:
            self._code = None
        if unsettled:
            self._open.clear()  # what is open at the end of its line is no marker
            self._settled = max(self._settled, self._end_of_words())
        self._literal = False
        self._parts.append("\n")

    def _reread(self, code: _Code) -> None:
        """Read again what seemed to be a span of code, which nothing on its line has closed."""
        self._code, self._literal = None, True
        if code.bracket is not None:
            raw = "".join(self._parts[code.bracket :])
            del self._parts[code.bracket :]
            self._dash = _NOWHERE
            self.write(raw)
            self._flush("")

    def _end_of_words(self) -> int:
        end = len(self._parts)
        while end and self._parts[end - 1].isspace():
            end -= 1
        return end

    def _is_blank(self, end: int) -> bool:
        """Whether nothing but space stands before a part on its line."""
        while end and self._parts[end - 1] != "\n" and self._parts[end - 1].isspace():
            end -= 1
        return end == 0 or self._parts[end - 1] == "\n"

    def _close(self, bracket: str, following: str) -> None:
        """Decide on the innermost open bracket, which ends here."""
        start = self._open.pop()
        inside = "".join(self._parts[start + 1 :])
        wide = bracket in _WIDE and self._parts[start] in _WIDE
        marker = read_marker(inside, wide=wide)
        emptied = self._emptied == start + 1 == len(self._parts) and not would_join(following)
        if marker is None:
            if emptied:
                self._replace(start, (), following)
            else:
                self._stay(bracket)
            return
        before = self._before(start)
        standing = "code" if self._indexed == start else self._standing(start, before)
        if start == self._dash + 1 and following != "(":
            joined = numbers_between(self._cited[1], marker)
            if joined is not None:
                self._replace(start - 1, joined, following)
                return
        numbers = marker.cited(self._count, before, standing, following)
        if numbers is None:
            self._stay(bracket)
            self._indexed = len(self._parts)
        else:
            self._replace(start, numbers, following, apart=standing == "code")

    def _stay(self, bracket: str) -> None:
        self._open.clear()  # brackets around some that stay are no marker
        self._add(bracket)

    def _replace(
        self, start: int, numbers: tuple[int, ...], following: str, *, apart: bool = False
    ) -> None:
        """Write the markers that name a reference in place of the brackets, without the others.

        Args:
            start: The part with the opening bracket.
            numbers: The numbers that the brackets cite.
            following: The character behind them.
            apart: Whether a marker without space before it would be an index.
        """
        valid = [number for number in numbers if 1 <= number <= self._count]
        shown = dict.fromkeys(valid) if self._shown else {}
        self.removed += len(numbers) - len(valid)
        del self._parts[start:]
        self._dash = _NOWHERE
        gap = ""
        if not self._is_blank(start):
            while self._parts[-1].isspace():
                gap = self._parts.pop() + gap  # goes where the marker goes
        if shown:
            if gap or apart:
                self._parts.append(gap or " ")
            for number in shown:
                self._markers.append((len(self._parts), number))
                self._parts.append(f"[{number}]")
            self._open.clear()
            self._settled = len(self._parts)
        elif self._is_blank(len(self._parts)):
            self._swallow = len(self._parts)
        elif gap and following and not (following.isspace() or following in _NO_SPACE_BEFORE):
            self._parts.append(gap)
        self._emptied = _NOWHERE if shown else len(self._parts)
        # A range goes on from the marker that stands before it.
        last = self._markers[-1] if self._markers else (_NOWHERE, 0)
        first = numbers[0] if len(numbers) == 1 else _NO_RANGE
        self._cited = (len(self._parts), last[1] if last[0] == len(self._parts) - 1 else first)

    def _standing(self, start: int, before: str) -> Standing:
        behind_marker = bool(self._markers) and self._markers[-1][0] == start - 1
        return "free" if behind_marker else standing_behind(before)

    def _before(self, start: int) -> str:
        """The end of the line before a part."""
        before = ""
        while start and len(before) < LONGEST_BEFORE and self._parts[start - 1] != "\n":
            start -= 1
            before = self._parts[start][-LONGEST_BEFORE:] + before
        return before[-LONGEST_BEFORE:]
