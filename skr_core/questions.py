"""Questions with their gold answers and passages, and how they are read from a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from skr_core.errors import DataError, InputError
from skr_core.files import read_jsonl
from skr_core.types import Reference

UNANSWERABLE = "unanswerable"
"""The type of a question without a right answer, because the documents do not answer it."""

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
    path: str | Path, *, limit: int | None = None, skip_bad: bool = False
) -> list[Question]:
    """Read a JSONL file of questions, plain or gzip-compressed.

    A line holds ``question``; the gold answers as ``answers``, ``gold`` or ``answer``; and where
    known ``id``, ``supporting_titles``, ``supporting_facts`` (pairs of title and sentence index),
    ``contexts`` (objects with ``title``, ``text`` and perhaps ``sentences`` and
    ``is_supporting``), ``choices``, ``key_facts``, ``type``, ``history`` (messages of ``role`` and
    ``content``) and ``config``.

    Args:
        path: The file.
        limit: The most questions to read; None reads all.
        skip_bad: Whether broken lines are left out instead of raising an error.

    Raises:
        InputError: There is no such file.
        DataError: A line is broken, or none holds a question.
    """
    questions = list(islice(_read(Path(path), skip_bad), limit))
    if not questions:
        raise DataError(path, None, "there is no question in this file")
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


def _read(path: Path, skip_bad: bool) -> Iterator[Question]:
    for number, row in read_jsonl(path, skip_bad=skip_bad):
        try:
            question = _question(path, number, row)
        except DataError:
            if not skip_bad:
                raise
        else:
            yield question


def _question(path: Path, number: int, row: Mapping[str, Any]) -> Question:
    question = row.get("question")
    if not isinstance(question, str) or not question.strip():
        raise DataError(
            path,
            number,
            'the field "question" is missing or empty; a line is such as '
            '{"question": "Who?", "answers": ["Ada"]}',
        )
    gold = _texts(path, number, row.get("answers") or row.get("gold") or row.get("answer"))
    choices = _texts(path, number, row.get("choices"))
    if not choices and row.get("type") == "boolean":
        yes_or_no = {each.lower() for each in gold} <= _VERDICTS[0]
        choices = ("yes", "no") if yes_or_no else ("true", "false")
    config = row.get("config")  # published sets name their parts by it, in a text
    return Question(
        id=str(row.get("id", number)),
        question=question.strip(),
        gold=gold,
        supporting_titles=_texts(path, number, row.get("supporting_titles")),
        supporting_facts=tuple(_facts(path, number, row.get("supporting_facts"))),
        contexts=tuple(_contexts(path, number, row.get("contexts"))),
        choices=choices,
        key_facts=_texts(path, number, row.get("key_facts")),
        types=types_of(row.get("type")),
        history=tuple(_messages(path, number, row.get("history"))),
        config=config if isinstance(config, Mapping) else {},
    )


def _texts(path: Path, number: int, given: Any) -> tuple[str, ...]:
    """One text or a list of texts; nothing is no text."""
    texts = [given] if isinstance(given, str) else given or []
    if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
        raise DataError(path, number, "answers, titles, choices and key-facts must be texts")
    return tuple(texts)


def _facts(path: Path, number: int, given: Any) -> Iterator[tuple[str, int]]:
    for each in given or []:
        match each:
            case [str(title), int(index)]:
                yield title, index
            case _:
                raise DataError(path, number, "a supporting fact is a title and a sentence's index")


def _messages(path: Path, number: int, given: Any) -> Iterator[tuple[str, str]]:
    for each in given or []:
        match each:
            case {"role": str(role), "content": str(text)} | [str(role), str(text)]:
                yield role, text
            case _:
                raise DataError(path, number, "a message of the history has a role and a content")


def _contexts(path: Path, number: int, given: Any) -> Iterator[Context]:
    for each in given or []:
        match each:
            case {"text": str(text)}:
                title, sentences = each.get("title"), each.get("sentences")
                supporting = each.get("is_supporting")
                yield Context(
                    title if isinstance(title, str) else "",
                    text,
                    _texts(path, number, sentences),
                    supporting if isinstance(supporting, bool) else None,
                )
            case _:
                raise DataError(path, number, 'a context is an object with a "text"')
