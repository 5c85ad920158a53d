"""The answer without what a model puts around it: JSON, a fence, a label, queries below it.

Everything else stays as it is, byte for byte.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from skr_core.replies.opening import read_verdict
from skr_core.replies.queries import QUERY_LABELS, is_bullet, labelled_query
from skr_core.replies.wording import CITATION
from skr_core.texts import beginnings, is_json

_FENCED = re.compile(r"\s*(?:`{3,}|~{3,})[^\n`]{0,20}\n(?P<inside>.*)", re.DOTALL)
_FENCE_LINE = re.compile(r"^[ \t]*(?:`{3,}|~{3,}).*$", re.MULTILINE)
_LAST_FENCE = re.compile(r"\n?[ \t]*(?:`{3,}|~{3,})\s*\Z")
# The names under which models give the parts of a reply in JSON.
_VERDICT = ("verdict", "sufficient", "sufficiency", "status", "judgement", "judgment", "decision")
_ANSWER = tuple("answer text response partial_answer partial supported content reply".split())
_QUERIES = (
    *("queries", "query", "search", "searches", "search_queries", "searchqueries", "follow_ups"),
    *("follow_up_queries", "followups", "follow_up", "next_queries", "search_query"),
)
_MISSING = ("missing", "what_is_missing", "missing_information", "lacks", "gap")
_OWN = {*_VERDICT, *_ANSWER, *_QUERIES, *_MISSING}
_STRING = r'"(?P<value>(?:[^"\\]|\\.)*+)'
# Only such objects are replies; others are what was asked for.
_OPENS = re.compile(rf'\{{\s*"(?:{"|".join((*_VERDICT, *_ANSWER, *_QUERIES))})"\s*:', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class JsonReply:
    """A reply in JSON.

    Attributes:
        sufficient: The verdict; None where the reply states none.
        text: The answer; may be empty.
        queries: The queries.
        missing: The missing information, in words; may be empty.
    """

    sufficient: bool | None
    text: str
    queries: tuple[str, ...]
    missing: str


def unfenced(text: str) -> str:
    """A reply without the fence around it, or around its verdict alone; else as it is.

    Example:
        >>> unfenced("```text\\nSUFFICIENT\\nParis [1].\\n```")
        'SUFFICIENT\\nParis [1].'
        >>> unfenced("```\\nSUFFICIENT\\n```\\nParis [1].")
        'SUFFICIENT\\nParis [1].'
    """
    fenced = _FENCED.match(text)
    if fenced is None:
        return text
    inside = fenced.group("inside")
    first, _, rest = inside.lstrip().partition("\n")
    if read_verdict(first) is not None:
        beside = _FENCE_LINE.match(rest)
        if beside is not None and not beside.group().strip(" \t`~"):
            return f"{first}\n{rest[beside.end() :].removeprefix(chr(10))}"
    elif not inside.lstrip().startswith("{"):
        return text
    if len(_FENCE_LINE.findall(inside)) % 2:
        inside = _LAST_FENCE.sub("", inside, count=1)
    return inside


def json_reply(text: str) -> JsonReply | None:
    """A reply in JSON, whole or cut off; None where it is none, as data that was asked for.

    Example:
        >>> json_reply('{"verdict": "SUFFICIENT", "answer": "Paris [1]."}').text
        'Paris [1].'
        >>> json_reply('{"verdict": "INSUFFICIENT", "answer": "Par').text
        'Par'
    """
    opening = _OPENS.search(text)
    if opening is None or text[: opening.start()].count("\n") > 20:
        return None
    start, end = opening.start(), text.rfind("}") + 1
    try:
        fields: Any = json.loads(text[start:end], strict=False)
        if not isinstance(fields, dict):
            return None
    except (ValueError, RecursionError):
        fields = _cut_off(text[start:])
    given = {str(key).lower().replace(" ", "_"): value for key, value in fields.items()}
    sufficient = _sufficient(given)
    # A document of the user's may have a status or a query too.
    if sufficient is None and not (_first(given, _QUERIES) and given.keys() <= _OWN):
        return None
    return JsonReply(
        sufficient,
        "\n".join(_texts(_first(given, _ANSWER))),
        tuple(_texts(_first(given, _QUERIES))),
        "; ".join(_texts(_first(given, _MISSING))),
    )


def _sufficient(given: dict[str, Any]) -> bool | None:
    for key in _VERDICT:
        value = given.get(key)
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and (verdict := read_verdict(value)):
            return verdict.sufficient
    return None


def _first(given: dict[str, Any], names: tuple[str, ...]) -> object:
    return next((given[name] for name in names if given.get(name)), "")


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value] if value else []
    if isinstance(value, list):
        return [each for each in value if isinstance(each, str)]
    return []


def _cut_off(text: str) -> dict[str, Any]:
    """The fields of an object that is not closed, or not quite JSON, as far as they can be read."""
    fields: dict[str, Any] = {}
    for name in (*_VERDICT, *_ANSWER, *_QUERIES, *_MISSING):
        found = re.search(
            rf'"{name}"\s*:\s*(?:{_STRING}|(?P<word>true|false)|\[(?P<list>[^\]]*))',
            text,
            re.IGNORECASE,
        )
        if found is None:
            continue
        if found.group("list") is not None:
            fields[name] = [
                _decoded(each) for each in re.findall(r'"((?:[^"\\]|\\.)*+)"', found.group("list"))
            ]
        elif found.group("word"):
            fields[name] = found.group("word").lower() == "true"
        else:
            fields[name] = _decoded(found.group("value"))
    return fields


def _decoded(value: str) -> str:
    try:
        decoded: str = json.loads(f'"{value}"', strict=False)
    except ValueError:
        return value
    return decoded


ANSWER_LABELS = (
    *("answer", "final answer", "cited answer", "short answer", "partial answer", "the answer:"),
    *("response", "antwort", "teilantwort", "réponse", "respuesta", "回答", "答案", "答え", "部分"),
    *("supported", "what the references", "what is supported", "resposta", "risposta"),
)
_OPENINGS, _QUERY_OPENINGS = beginnings(ANSWER_LABELS), beginnings(QUERY_LABELS)
_LABEL = re.compile(
    r"[ \t]*(?:#{1,6}[ \t]+)?[*_`]{0,3}(?:the answer"
    r"|(?:(?:final|cited|short|partial|direct) )?answer"
    r"|response|antwort|teilantwort|réponse(?: partielle)?|respuesta(?: parcial)?|resposta|risposta"
    r"|(?:部分)?(?:回答|答案)|答え|supported(?: so far)?|what (?:the references (?:do )?support"
    r"|is supported)(?: so far)?)(?: so far)?"
    r"(?:[*_`]{0,3}[ \t]*[:：][*_`]{0,3}[ \t]*|[*_`]{0,3}[ \t]*(?=\n|\Z))",
    re.IGNORECASE,
)
_PIECES = re.compile(r"[^\n]*\n|[^\n]+")
_MARKS = " \t*_#>`-•\"'[(0123456789.)–"
_LONGEST_LABEL = 60


def answer_text(text: str) -> str:
    """The answer in a text that follows a verdict; data is the answer as it is.

    Example:
        >>> answer_text("**Answer:** Paris [1].\\n\\nSearch: none\\n")
        'Paris [1].'
    """
    if is_json(text):
        return text.strip()
    answer = AnswerFilter()
    return answer.write(text) + answer.finish()


class AnswerFilter:
    """Passes on the text behind a verdict as soon as it is known to belong to the answer.

    A model puts blank lines and a label such as "Answer:" before its answer, and queries below it;
    these go. Any cut into pieces gives the same, and nothing that was passed on is taken back.

    Example:
        >>> answer = AnswerFilter()
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
        self._waiting: list[str] = []  # lines that belong to the answer only if more of it follows
        self._lists = False  # whether the line before names a query

    def write(self, piece: str) -> str:
        """Take the next piece, and return what belongs to the answer."""
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
        """Return what waited and belongs to the answer; the reply has ended."""
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
            if label := _LABEL.match(line):
                line = line[label.end() :]
            if not line.strip():
                return
            if not line.startswith(("    ", "\t")):
                line = line.lstrip()
        if not self._fenced and (labelled_query(line) is not None or self._goes_on(line)):
            self._waiting.append(line)
            self._lists = True
            return
        self._lists = False
        if not line.strip():
            self._waiting.append(line)
            return
        if line.lstrip().startswith(("```", "~~~")):
            self._fenced = not self._fenced
        self._begun = self._is_open = True
        self._pass(line, passed)

    def _goes_on(self, line: str) -> bool:
        """Whether a line goes on with a list of queries."""
        if not self._lists or not line.strip():
            return self._lists
        return is_bullet(line) and CITATION.search(line) is None

    def _pass(self, part: str, passed: list[str]) -> None:
        bare = part.rstrip()
        if bare:
            passed += [*self._waiting, bare]
            self._waiting = []
        self._waiting.append(part[len(bare) :])
