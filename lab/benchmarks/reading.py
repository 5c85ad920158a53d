"""Reading about the invented coast: what a question asks for, and what a text says of it.

A question is one relation of a name ("Who designed the lighthouse of Gull Rock?"), one of what
another relation yields ("Where was the designer of the lighthouse of Gull Rock born?"), or two that
are compared. A text says what stands in its sentences and in the cells of its tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from benchmarks.island import CAPITALS


@dataclass(frozen=True)
class Relation:
    """What can be asked of something, and said of it.

    Attributes:
        statement: The sentence that says it, of the subject and what is asked for.
        questions: The ways to ask for it, the plainest first.
        phrase: What is asked for, as a part of another question.
        german: The statement in German.
    """

    statement: str
    questions: tuple[str, ...]
    phrase: str = ""
    german: str = ""


RELATIONS = {
    "capital": Relation(
        "{1} is the capital of {0}.",
        ("What is the capital of {0}?", "Which city is the capital of {0}?"),
    ),
    "designer": Relation(
        "The lighthouse of {0} was designed by {1}.",
        (
            "Who designed the lighthouse of {0}?",
            "By whom was the lighthouse of {0} designed?",
            "Wer hat den Leuchtturm von {0} entworfen?",
        ),
        "the designer of the lighthouse of {0}",
        "Der Leuchtturm von {0} wurde von {1} entworfen.",
    ),
    "lit": Relation(
        "The lighthouse of {0} was first lit in {1}.",
        (
            "When was the lighthouse of {0} first lit?",
            "In which year was the lighthouse of {0} first lit?",
        ),
    ),
    "birthplace": Relation(
        "{0} was born in {1}.",
        ("Where was {0} born?", "In which town was {0} born?"),
        "the town where {0} was born",
    ),
    "mayor": Relation(
        "The mayor of {0} is {1}.",
        ("Who is the mayor of {0}?", "What is the name of the mayor of {0}?"),
    ),
    "prize": Relation(
        "{0} was awarded the {1}.",
        ("Which prize was {0} awarded?", "What prize did {0} win?"),
    ),
    "barrels": Relation(
        "{1} barrels of oil were burned by {0}.",
        (
            "How many barrels of oil were burned by {0}?",
            "What number of barrels of oil was burned by {0}?",
        ),
    ),
}
"""Of `barrels` the subject is a place in a year, "Tern Holm in 1884"."""

EARLIER = "Which lighthouse was lit first, that of {0} or that of {1}?"
WHO_SHE_IS = "And where was she born?"
ASKING = re.compile(r"\b(?:And where|Which|What|Who|Where|When|By whom|In which|How|Wer) [^?\n]*\?")
"""A question, of whatever it asks."""

NAME = r"[A-Z]\w+(?: [A-Z]\w+)?"
_SUBJECT = rf"{NAME}(?: in \d{{4}})?"
_STATEMENTS = {
    name: re.compile(
        re.escape(relation.statement.removesuffix("."))
        .replace(r"\{0\}", rf"(?P<subject>{_SUBJECT})(?P<which>, the \w+,)?")
        .replace(r"\{1\}", r"\b(?P<value>[A-Z0-9][\w' ]*?)")
        + r"(?: ?\[\d+\])*\."
    )
    for name, relation in RELATIONS.items()
}


@dataclass(frozen=True)
class Wanted:
    """What is asked for: a relation of a name, or of what another relation yields."""

    relation: str
    of: Wanted | str

    @property
    def inner(self) -> str:
        """What the relation is of, in words."""
        if isinstance(self.of, str):
            return self.of
        return RELATIONS[self.of.relation].phrase.format(self.of.inner)

    def asked(self, way: int = 0) -> str:
        """As a question, in one of its ways."""
        return RELATIONS[self.relation].questions[way].format(self.inner)

    def hops(self) -> Iterator[Wanted]:
        """The relations one after the other, this one last."""
        if isinstance(self.of, Wanted):
            yield from self.of.hops()
        yield self


@dataclass(frozen=True)
class Question:
    """A question, understood.

    Attributes:
        text: The question, as it was asked.
        wanted: What it asks for: one thing, or two that are compared.
    """

    text: str
    wanted: tuple[Wanted, ...]

    @property
    def is_german(self) -> bool:
        """Whether it is answered in German."""
        return self.text.startswith("Wer ")


def understood(text: str) -> Question | None:
    """A question, or None where the text is none that can be understood.

    Example:
        >>> asked = understood("Where was the designer of the lighthouse of Gull Rock born?")
        >>> [hop.asked() for hop in asked.wanted[0].hops()][0]
        'Who designed the lighthouse of Gull Rock?'
    """
    if match := _matched(EARLIER, text):
        return Question(text, tuple(Wanted("lit", each) for each in match.groups()))
    for name, relation in RELATIONS.items():
        for question in relation.questions:
            if (match := _matched(question, text)) and (of := _subject(match[1])):
                return Question(text, (Wanted(name, of),))
    return None


def _subject(text: str) -> Wanted | str | None:
    """A name, or what a phrase speaks of."""
    if re.fullmatch(_SUBJECT, text):
        return text
    for name, relation in RELATIONS.items():
        match = _matched(relation.phrase, text) if relation.phrase else None
        if match and (of := _subject(match[1])):
            return Wanted(name, of)
    return None


def _matched(template: str, text: str) -> re.Match[str] | None:
    return re.fullmatch(re.sub(r"\\\{\d\\\}", "(.+?)", re.escape(template)), text)


@dataclass(frozen=True)
class Fact:
    """What a text says, or what is known by heart.

    Attributes:
        relation: The relation by which subject and value are bound.
        subject: The subject, with what tells it from another of its name.
        value: What was asked for.
        source: The number of the source it stands in; empty where it has none.
    """

    relation: str
    subject: str
    value: str
    source: str = ""

    def said(self, *, in_german: bool = False) -> str:
        """As a sentence, which cites its source."""
        relation = RELATIONS[self.relation]
        template = relation.german if in_german else relation.statement
        sentence = template.format(self.subject, self.value)
        return f"{sentence[:-1]} [{self.source}]." if self.source else sentence


@dataclass
class Reading:
    """What is known of a question.

    Attributes:
        facts: What bears on it, hop by hop.
        missing: What is to be asked for next; nothing where the answer is complete.
        conclusion: What follows from a comparison; empty where nothing is compared.
        in_german: Whether it is to be said in German.
    """

    facts: list[Fact] = field(default_factory=list)
    missing: list[Wanted] = field(default_factory=list)
    conclusion: str = ""
    in_german: bool = False

    @property
    def said(self) -> str:
        """What is known, in sentences."""
        facts = [fact.said(in_german=self.in_german) for fact in self.facts]
        return " ".join(filter(None, [*facts, self.conclusion]))


class Facts:
    """All that a text says of the coast.

    Args:
        text: The text, such as a prompt.
        by_heart: Whether the capitals of countries are known besides.

    Example:
        >>> facts = Facts("The lighthouse of Gull Rock was designed by Ada Quill.", by_heart=False)
        >>> asked = understood("Where was the designer of the lighthouse of Gull Rock born?")
        >>> facts.read(asked).missing[0].asked()
        'Where was Ada Quill born?'
    """

    def __init__(self, text: str, *, by_heart: bool) -> None:
        self._found: dict[tuple[str, str], dict[str, Fact]] = {}
        for name, pattern in _STATEMENTS.items():
            for match in pattern.finditer(text):
                which = match["which"] or ""
                self._add(name, match["subject"], match["value"], which, _source(text, match))
        for place, year, value, source in _cells(text):
            self._add("barrels", f"{place} in {year}", value, source=source)
        for country, capital in CAPITALS.items() if by_heart else ():
            self._add("capital", country, capital)

    def _add(
        self, relation: str, subject: str, value: str, which: str = "", source: str = ""
    ) -> None:
        said = self._found.setdefault((relation, subject), {})
        said.setdefault(value, Fact(relation, f"{subject}{which}", value, source))

    def read(self, question: Question) -> Reading:
        """Go from fact to fact as far as they lead."""
        reading, ends = Reading(in_german=question.is_german), []
        for wanted in question.wanted:
            names = [""]
            for hop in wanted.hops():
                of = [hop.of] if isinstance(hop.of, str) else names
                told = [(each, self._found.get((hop.relation, each), {})) for each in of]
                reading.facts += [fact for _, facts in told for fact in facts.values()]
                missing = [Wanted(hop.relation, each) for each, facts in told if not facts]
                names = [value for _, facts in told for value in facts]
                reading.missing += missing
                if missing:
                    break
            ends.append((names, wanted))
        if len(ends) > 1 and not reading.missing:
            _, first = min(ends, key=lambda each: int(each[0][0]))
            reading.conclusion = f"So the lighthouse of {first.of} was lit first."
        return reading


def _cells(text: str) -> Iterator[tuple[str, str, str, str]]:
    """The cells of tables: row, column, what stands there, and the number of the source."""
    head: list[str] = []
    for line in re.finditer(r"^[ \t]*\|(.*)\|[ \t]*$", text, re.MULTILINE):
        cells = [each.strip() for each in line[1].split("|")]
        if cells[0] == "lighthouse":
            head = cells
        elif len(cells) == len(head) and cells[0][:1].isupper():
            for year, value in zip(head[1:], cells[1:], strict=True):
                yield cells[0], year, value, _source(text, line)


def _source(text: str, match: re.Match[str]) -> str:
    """The number of the source that something stands in, where numbers are to be cited."""
    if "cite" not in text:
        return ""
    before = re.findall(r"^(?:\[(\d+)\]|Source (\d+):)", text[: match.start()], re.MULTILINE)
    return "".join(before[-1]) if before else ""
