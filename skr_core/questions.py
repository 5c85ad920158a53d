"""Questions with their gold answers and passages, and how they are read from others' rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from skr_core.errors import DataError, InputError
from skr_core.files import Place, read_rows, rows_of_columns
from skr_core.types import Reference

UNANSWERABLE = "unanswerable"
"""The type of a question without a right answer, because the documents do not answer it."""

NAMES: Mapping[str, Sequence[str]] = {
    "question": ("question", "user_input", "query", "queries", "input", "prompt", "inputs"),
    "answers": (
        *("answers", "gold", "ground_truths", "ground_truth", "reference_answer"),
        *("expected_answer", "expected_output", "answer", "reference_outputs", "reference"),
        *("responses", "output", "outputs"),
    ),
    "contexts": ("contexts", "reference_contexts", "context", "passages"),
    "id": ("example_id", "id", "_id", "qid", "question_id", "query_id"),
}
"""The names of a field in our rows and those of ragas, LangSmith, LlamaIndex and Hugging Face. The
first that has a value is taken: beside a ``ground_truth`` the ``answer`` is that of a system."""

_WITHIN = ("text", "aliases", "value")
_OBJECTS = ("inputs", "outputs", "reference_outputs", "reference")
_TOLD = {"question": "question", "answers": "right answer", "contexts": "passages"}
_SHOWN = 20
_VERDICTS = ({"yes", "no"}, {"true", "false"})


@dataclass(frozen=True, slots=True)
class Context:
    """A passage that was published with a question.

    Attributes:
        title: The passage's title.
        text: The passage.
        sentences: The sentences of the text, where they were published separately.
        supporting: Whether the answer needs it; None where only titles are recorded.
    """

    title: str
    text: str
    sentences: tuple[str, ...] = ()
    supporting: bool | None = None

    @property
    def reference(self) -> Reference:
        """The passage as something that can be cited."""
        return Reference.of(self.text, self.title)


@dataclass(frozen=True, slots=True)
class Question:
    """A question to be judged.

    Raises:
        InputError: `gold` is a text, not several.

    Attributes:
        id: The question's own id, or the number of its line.
        question: The text.
        gold: The right answers; any of them counts.
        supporting_titles: The titles of the passages that the answer needs; empty where not
            recorded.
        supporting_facts: The sentences that the answer needs: title and index from 0.
        contexts: The passages published with the question, whether the answer needs them or not.
        choices: The options of a multiple choice, a yes or no, or a true or false.
        key_facts: The facts that an answer has to state (RaLLM §3).
        types: The question's types, as its data set names them: ``Implicit``, ``bridge``.
        history: The messages before it, each a role (``user``, ``assistant``) and a text.
        config: The config of its run, plain values such as ``{"configurable": {"tenant": "a"}}``.
    """

    id: str
    question: str
    gold: tuple[str, ...]
    supporting_titles: tuple[str, ...] = ()
    supporting_facts: tuple[tuple[str, int], ...] = ()
    contexts: tuple[Context, ...] = ()
    choices: tuple[str, ...] = ()
    key_facts: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    history: tuple[tuple[str, str], ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        gold: object = self.gold
        if isinstance(gold, str):  # each of its characters would count as a right answer
            raise InputError(f"gold is one text: give a tuple of right answers, ({gold!r},)")

    @property
    def asked(self) -> str:
        """The question in the form of SKR Table 4, with its options where it has any.

        Example:
            >>> Question("1", "Is it far?", ("no",), choices=("yes", "no")).asked
            'Yes or No: Is it far?'
            >>> Question("1", "Where?", ("inn",), choices=("sea", "inn")).asked
            'Where? Answer Choices: (a) sea (b) inn'
        """
        options = {choice.lower() for choice in self.choices}
        if not options:
            return self.question
        if options == _VERDICTS[0]:
            return f"Yes or No: {self.question}"
        if options == _VERDICTS[1]:
            return f"{self.question} True or False?"
        listed = " ".join(
            f"({chr(ord('a') + place)}) {choice}" for place, choice in enumerate(self.choices)
        )
        return f"{self.question} Answer Choices: {listed}"

    @property
    def is_unanswerable(self) -> bool:
        """Whether it is known that the documents do not answer it, so that a refusal is right.

        Example:
            >>> Question("1", "Who?", (), types=("unanswerable",)).is_unanswerable
            True
        """
        return UNANSWERABLE in self.types and not any(each.strip() for each in self.gold)

    @property
    def is_scorable(self) -> bool:
        """Whether answers can be right: one is given, or it is known that a refusal is right.

        Example:
            >>> Question("1", "Who?", ()).is_scorable
            False
        """
        return self.is_unanswerable or any(each.strip() for each in self.gold)

    @property
    def gold_contexts(self) -> tuple[Context, ...]:
        """The contexts that the answer needs."""
        return tuple(each for each in self.contexts if self._needs(each))

    @property
    def noise_contexts(self) -> tuple[Context, ...]:
        """The contexts that the answer does not need."""
        return tuple(each for each in self.contexts if not self._needs(each))

    def _needs(self, context: Context) -> bool:
        if context.supporting is not None:
            return context.supporting
        return context.title in self.supporting_titles


def read_questions(
    source: Any,
    *,
    question_field: str | None = None,
    answer_field: str | None = None,
    limit: int | None = None,
    skip_bad: bool = False,
    on_fields: Callable[[str], None] | None = None,
) -> list[Question]:
    """Read questions, whoever wrote them down.

    A row holds ``question``; its right answers as ``answers``, ``gold`` or ``answer``; and where
    known ``id``, ``supporting_titles``, ``supporting_facts`` (pairs of title and sentence index),
    ``contexts`` (texts, or objects with ``title``, ``text`` and perhaps ``sentences`` and
    ``is_supporting``), ``choices``, ``key_facts``, ``type``, ``history`` (messages of ``role`` and
    ``content``) and ``config``. The names that other tools have for these are in `NAMES`.

    Args:
        source: The path of a file of JSON Lines, JSON, CSV, TSV or Parquet, see
            `skr_core.files.rows`; a DataFrame; or a list of dicts, of pairs of a question and its
            answer, or of LangSmith's examples.
        question_field: The field that holds the question, such as ``inputs.text``; by default the
            first of `NAMES` that there is.
        answer_field: The field that holds the right answers, likewise.
        limit: The most questions to read; None reads all.
        skip_bad: Whether broken rows are left out instead of raising an error.
        on_fields: Told of which fields were taken for what.

    Raises:
        InputError: There is no such file.
        DataError: A row is broken, or none holds a question.

    Example:
        >>> rows = [{"user_input": "Who wrote Emma?", "reference": "Jane Austen"}]
        >>> read_questions(rows, on_fields=print)[0].gold
        question: user_input, right answer: reference
        ('Jane Austen',)
    """
    fields = _Fields({"question": question_field, "answers": answer_field})
    questions = list(islice(_read(source, fields, skip_bad), limit))
    if not questions:
        name = source if isinstance(source, str | Path) else type(source).__name__
        raise DataError(name, None, "there is no question in this file")
    if answer_field is not None and "answers" not in fields.taken:
        raise InputError(f'no row has the field "{answer_field}": there is {fields.seen}')
    if on_fields is not None:
        on_fields(fields.told)
    return questions


def corpus_of(questions: list[Question]) -> list[Reference]:
    """Every context of the questions, each once: a corpus where there is no other.

    Example:
        >>> jaws = Context("Jaws", "A film.")
        >>> len(corpus_of([Question("1", "?", (), contexts=(jaws, jaws))]))
        1
    """
    found = (context.reference for question in questions for context in question.contexts)
    return list({reference.id: reference for reference in found if reference.text}.values())


def types_of(given: Any) -> tuple[str, ...]:
    """The types that a data set names, one or several; anything else is none.

    Example:
        >>> types_of(["Implicit:", "Ordinal"]), types_of("bridge"), types_of(None)
        (('Implicit', 'Ordinal'), ('bridge',), ())
    """
    named = given if isinstance(given, list) else [given]
    texts = (each.strip().rstrip(":").strip() for each in named if isinstance(each, str))
    return tuple(dict.fromkeys(filter(None, texts)))


@dataclass
class _Fields:
    """The fields that are taken for something, and the names of all in the last row."""

    named: Mapping[str, str | None]
    taken: dict[str, str] = field(default_factory=dict)
    seen: str = ""

    @property
    def told(self) -> str:
        """What was taken for what, and where no right answer is known, what there is."""
        told = {"answers": f"none among {self.seen}", **self.taken}
        return ", ".join(f"{_TOLD[what]}: {told[what]}" for what in _TOLD if what in told)

    def see(self, row: Mapping[str, Any]) -> None:
        """Note the names of a row's fields, and of those within LangSmith's objects."""
        names = [
            f"{name}.{each}"[:40] if each else name[:40]
            for name, value in islice(row.items(), _SHOWN)
            for each in (value if name in _OBJECTS and isinstance(value, Mapping) else ("",))
        ]
        self.seen = ", ".join(names) + ", ..." * (len(row) > _SHOWN)

    def take(self, row: Mapping[str, Any], what: str) -> tuple[str, Any]:
        """The field that is the question, the answers and so on: its name, and what it holds."""
        named = self.named.get(what)
        name, value = (named, _at(row, named)) if named else _taken(row, NAMES[what])
        if name and not _is_missing(value):
            self.taken.setdefault(what, name)
        return name, value


def _taken(row: Mapping[str, Any], names: Sequence[str]) -> tuple[str, Any]:
    """The first of some names that a row has a value for, whatever its case and spaces."""
    known = {
        name.strip().lower().replace(" ", "_").replace("-", "_"): name
        for name, value in row.items()
        if not _is_missing(value)
    }
    name = next((known[each] for each in names if each in known), None)
    if name is None:
        return "", None
    value = row[name]
    if not isinstance(value, Mapping):
        return name, value
    inner, found = _taken(value, (*names, *_WITHIN))
    if not inner and name in _OBJECTS and len(value) == 1:  # whatever its name
        inner, found = next(iter(value.items()))
    return (f"{name}.{inner}", found) if inner else (name, value)


def _at(row: Mapping[str, Any], path: str) -> Any:
    """What a row holds under a name, or under a dotted path."""
    found: Any = row
    for name in [path] if path in row else path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _is_missing(value: Any) -> bool:
    return value is None or value == "" or value == []


def _read(source: Any, fields: _Fields, skip_bad: bool) -> Iterator[Question]:
    for place, row in read_rows(source, skip_bad=skip_bad):
        try:
            question = _question(place, row, fields)
        except DataError:
            if not skip_bad:
                raise
        else:
            yield question


def _question(place: Place, row: Mapping[str, Any], fields: _Fields) -> Question:
    fields.see(row)
    name, question = fields.take(row, "question")
    if not isinstance(question, str) or not question.strip():
        raise _wrong(
            place,
            f'the field "{name or "question"}" is missing or empty; the fields are '
            f"{fields.seen or 'none'}: name one by question_field=, or write a row such as "
            '{"question": "Who?", "answers": ["Ada"]}',
        )
    gold = tuple(_answers(place, *fields.take(row, "answers")))
    choices = _texts(place, row.get("choices"))
    if not choices and row.get("type") == "boolean":
        yes_or_no = {each.lower() for each in gold} <= _VERDICTS[0]
        choices = ("yes", "no") if yes_or_no else ("true", "false")
    config = row.get("config")  # published sets name their parts by it, in a text
    facts = tuple(_facts(place, row.get("supporting_facts")))
    titles = _texts(place, row.get("supporting_titles"))
    passages, contexts = fields.take(row, "contexts")
    own = fields.take(row, "id")[1]
    return Question(
        id=str(place.number if own is None else own),
        question=question.strip(),
        gold=gold,
        supporting_titles=titles or tuple(dict.fromkeys(title for title, _ in facts)),
        supporting_facts=facts,
        contexts=tuple(_contexts(place, contexts, needed=passages == "reference_contexts")),
        choices=choices,
        key_facts=_texts(place, row.get("key_facts")),
        types=types_of(row.get("type")),
        history=tuple(_messages(place, row.get("history"))),
        config=config if isinstance(config, Mapping) else {},
    )


def _wrong(place: Place, problem: str) -> DataError:
    return DataError(place.source, place.line, problem)


def _answers(place: Place, name: str, given: Any) -> Iterator[str]:
    """The right answers; a number is one as well, of which a column with gaps makes 1914.0."""
    for each in given if isinstance(given, list) else [given]:
        match each:
            case None:
                continue
            case str(text) | {"text": str(text)}:
                yield text
            case int() | float() if not isinstance(each, bool):
                yield str(int(each)) if float(each).is_integer() else str(each)
            case _:
                raise _wrong(
                    place, f'answers must be texts, in "{name}" or the field of answer_field='
                )


def _texts(place: Place, given: Any) -> tuple[str, ...]:
    """One text or a list of texts; nothing is no text."""
    texts = [given] if isinstance(given, str) else given or []
    if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
        raise _wrong(place, "titles, choices and key-facts must be texts")
    return tuple(texts)


def _facts(place: Place, given: Any) -> Iterator[tuple[str, int]]:
    for each in _objects(given):
        match each:
            case [str(title), int(index)] | {"title": str(title), "sent_id": int(index)}:
                yield title, index
            case _:
                raise _wrong(place, "a supporting fact is a title and a sentence's index")


def _messages(place: Place, given: Any) -> Iterator[tuple[str, str]]:
    for each in given or []:
        match each:
            case {"role": str(role), "content": str(text)} | [str(role), str(text)]:
                yield role, text
            case _:
                raise _wrong(place, "a message of the history has a role and a content")


def _contexts(place: Place, given: Any, *, needed: bool) -> Iterator[Context]:
    for each in _objects(given):
        match each:
            case str(text):
                yield Context("", text, supporting=needed or None)
            case {"text": str()} | {"sentences": [str(), *_]}:
                title, sentences = each.get("title"), _texts(place, each.get("sentences"))
                supporting = each.get("is_supporting")
                yield Context(
                    title if isinstance(title, str) else "",
                    each.get("text") or "".join(sentences),
                    sentences,
                    supporting if isinstance(supporting, bool) else None,
                )
            case _:
                raise _wrong(place, 'a context is a text, or an object with a "text"')


def _objects(given: Any) -> list[Any]:
    """A list of what is given: alone, listed, or in columns as Hugging Face keeps objects."""
    if isinstance(given, Mapping):
        return rows_of_columns(given) or [dict(given)]
    return given if isinstance(given, list) else [given] if given else []
