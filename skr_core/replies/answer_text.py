"""The answer's text in what follows a verdict, as it comes.

What a model puts around its answer goes: blank lines, a label such as "Answer:", and queries that
follow it. Everything else stays as it is, byte for byte.
"""

from __future__ import annotations

import re

from skr_core.patterns import lazy_pattern
from skr_core.replies.lists import is_bullet
from skr_core.replies.queries import QUERY_LABELS, query_label
from skr_core.replies.wording import CITATION
from skr_core.texts import beginnings

ANSWER_LABELS = (
    *("answer", "final answer", "cited answer", "short answer", "partial answer", "the answer:"),
    *("response", "antwort", "teilantwort", "réponse", "respuesta", "回答", "答案", "答え", "部分"),
    *("supported", "what the references", "what is supported", "resposta", "risposta"),
)
_OPENINGS, _QUERY_OPENINGS = beginnings(ANSWER_LABELS), beginnings(QUERY_LABELS)
_LABEL = lazy_pattern(
    r"[ \t]*(?:#{1,6}[ \t]+)?[*_`]{0,3}(?:the answer"
    r"|(?:(?:final|cited|short|partial|direct) )?answer"
    r"|response|antwort|teilantwort|réponse(?: partielle)?|respuesta(?: parcial)?|resposta|risposta"
    r"|(?:部分)?(?:回答|答案)|答え|supported(?: so far)?|what (?:the references (?:do )?support"
    r"|is supported)(?: so far)?)(?: so far)?"
    r"(?:[*_`]{0,3}[ \t]*[:：][*_`]{0,3}[ \t]*|[*_`]{0,3}[ \t]*(?=\n|\Z))",
    re.IGNORECASE,
)
_PIECES = lazy_pattern(r"[^\n]*\n|[^\n]+")
_MARKS = " \t*_#>`-•\"'[(0123456789.)–"
_LONGEST_LABEL = 60


def answer_text(text: str) -> str:
    """The answer in a text that follows a verdict.

    Example:
        >>> answer_text("**Answer:** Paris [1].\\n\\nSearch: none\\n")
        'Paris [1].'
    """
    answer = AnswerText()
    return answer.write(text) + answer.finish()


class AnswerText:
    """Passes the answer's text on as soon as it is known to be of the answer.

    Any cut into pieces gives the same, and nothing that was passed on is taken back.

    Example:
        >>> answer = AnswerText()
        >>> list(map(answer.write, ["\\nAns", "wer: Ly", "on [1].\\n", "Search: no"]))
        ['', 'Ly', 'on [1].', '']
        >>> answer.finish()
        ''
    """

    def __init__(self) -> None:
        self._begun = False
        self._fenced = False
        self._line = ""  # the beginning of a line of which nothing has been passed on
        self._is_open = False  # whether the current line is being passed on
        self._held: list[str] = []  # what is of the answer only if more of it follows
        self._lists = False  # whether the line before names a query

    def write(self, piece: str) -> str:
        """Take the next piece, and give what is of the answer."""
        passed: list[str] = []
        for part in _PIECES.findall(piece):
            if self._is_open:
                self._pass(part, passed)
            else:
                self._line += part
                if part.endswith("\n") or not self._may_be_label(self._line):
                    self._take(passed)
            if part.endswith("\n"):
                self._is_open = False
        return "".join(passed)

    def finish(self) -> str:
        """What was held back and is of the answer; the reply has ended."""
        passed: list[str] = []
        if self._line:
            self._take(passed)
        return "".join(passed)

    def _may_be_label(self, line: str) -> bool:
        if len(line) > 4 * _LONGEST_LABEL and not self._lists:
            return line.isspace()
        label = None if self._begun else _LABEL.match(line)
        if label:
            line = line[label.end() :]
        said = line.lstrip(_MARKS).lower()
        if not said or self._lists:
            return True
        if self._fenced:
            return False
        if said in _QUERY_OPENINGS or said.startswith(QUERY_LABELS):
            return True
        if self._begun or label:
            return False
        return said in _OPENINGS or said.startswith(ANSWER_LABELS)

    def _take(self, passed: list[str]) -> None:
        """Decide about a line that is complete, or that is no label."""
        line, self._line = self._line, ""
        if not self._begun:
            line = _LABEL.sub("", line, count=1) if _LABEL.match(line) else line
            if not line.strip():
                return
            if not line.startswith(("    ", "\t")):
                line = line.lstrip()
        if not self._fenced and (query_label(line) is not None or self._goes_on(line)):
            self._held.append(line)
            self._lists = True
            return
        self._lists = False
        if not line.strip():
            self._held.append(line)
            return
        if line.lstrip().startswith(("```", "~~~")):
            self._fenced = not self._fenced
        self._begun = self._is_open = True
        self._pass(line, passed)

    def _goes_on(self, line: str) -> bool:
        """Whether a line goes on with a list of queries."""
        return self._lists and (not line.strip() or is_query_item(line))

    def _pass(self, part: str, passed: list[str]) -> None:
        bare = part.rstrip()
        if bare:
            passed += [*self._held, bare]
            self._held = []
        self._held.append(part[len(bare) :])


def is_query_item(line: str) -> bool:
    """Whether a line is an item of a list that cites nothing."""
    return is_bullet(line) and CITATION.search(line) is None
