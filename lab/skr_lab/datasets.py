"""Data sets as their authors publish them, read from a local file; nothing is downloaded.

Files are JSON, JSON Lines, CSV and TSV, plain or gzip-compressed; of each format one function says
what becomes of a published row.

| name | file | questions |
|---|---|---|
| hotpotqa, 2wikimultihopqa | JSON list | with paragraphs, sentences and supporting facts |
| musique | JSON Lines | with paragraphs and supporting marks |
| nq_open | JSON Lines | short answers |
| dpr_nq | JSON list | DPR's Natural Questions for its encoder, with gold and other passages |
| dpr_nq_csv | TSV without a header | DPR's Natural Questions, short answers |
| triviaqa | JSON, under ``Data`` | with aliases |
| popqa | TSV | with possible answers |
| tempquestions | JSON list | temporal, with gold answers and types: SKR asks the implicit ones |
| commonsenseqa | JSON Lines | five options |
| infotabs | TSV | hypotheses, true or false; neutral ones are left out (SKR appendix A) |
| strategyqa | JSON list | yes or no, with facts |
| truthfulqa | CSV | the best answer among incorrect ones (SKR appendix A) |
"""

from __future__ import annotations

import ast
import csv
import hashlib
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import orjson

from skr_core.errors import DataError, InputError
from skr_core.files import read_jsonl, read_whole
from skr_core.questions import Context, Question, types_of

YES_NO = ("yes", "no")
TRUE_FALSE = ("true", "false")


@dataclass(frozen=True, slots=True)
class Fields:
    """A row with the place it comes from; what is missing is an error that names it."""

    path: Path
    number: int
    row: Mapping[str, Any]

    def text(self, name: str) -> str:
        """A text that is not empty."""
        value = self.row.get(name)
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(name, "a text")
        return value.strip()

    def list_of(self, name: str) -> list[Any]:
        """A list."""
        value = self.row.get(name)
        if not isinstance(value, list):
            raise self.wrong(name, "a list")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts, without empty ones."""
        value = self.list_of(name)
        if not all(isinstance(each, str) for each in value):
            raise self.wrong(name, "a list of texts")
        return tuple(each.strip() for each in value if each.strip())

    def within(self, name: str) -> Fields:
        """An object inside the row."""
        value = self.row.get(name)
        if not isinstance(value, Mapping):
            raise self.wrong(name, "an object")
        return Fields(self.path, self.number, value)

    def objects(self, name: str) -> list[Fields]:
        """A list of objects."""
        value = self.list_of(name)
        if not all(isinstance(each, Mapping) for each in value):
            raise self.wrong(name, "a list of objects")
        return [Fields(self.path, self.number, each) for each in value]

    def id(self, name: str) -> str:
        """A name of the row's own, or its number."""
        value = self.row.get(name)
        return str(value) if isinstance(value, str | int) and str(value) else str(self.number)

    def wrong(self, name: str, what: str) -> DataError:
        """The error of a field that is missing or is something else."""
        problem = f"must be {what}" if self.row.get(name) is not None else "is missing"
        return DataError(self.path, self.number, f'the field "{name}" {problem}')


@dataclass(frozen=True, slots=True)
class Format:
    """A data set's file.

    Attributes:
        title: The name of the data set.
        kind: The kind of file.
        read: Makes a question of a row; None leaves the row out.
        list_in: The field that holds the rows, where a JSON file has them inside.
        columns: The columns of a table that does not name them in its first line.
    """

    title: str
    kind: Literal["json", "jsonl", "csv", "tsv"]
    read: Callable[[Fields], Question | None]
    list_in: str = ""
    columns: tuple[str, ...] = ()


def _hotpotqa(row: Fields) -> Question:
    contexts = []
    for each in row.list_of("context"):
        match each:
            case [str(title), [*sentences]] if all(isinstance(one, str) for one in sentences):
                joined = " ".join(sentence.strip() for sentence in sentences)
                contexts.append(Context(title, joined, tuple(map(str.strip, sentences))))
            case _:
                raise row.wrong("context", "a list of titles with their sentences")
    facts = []
    for each in row.list_of("supporting_facts"):
        match each:
            case [str(title), int(index)]:
                facts.append((title, index))
            case _:
                raise row.wrong("supporting_facts", "a list of titles with a sentence's index")
    return Question(
        row.id("_id"),
        row.text("question"),
        (row.text("answer"),),
        supporting_titles=tuple(dict.fromkeys(title for title, _ in facts)),
        supporting_facts=tuple(facts),
        contexts=tuple(contexts),
        types=types_of(row.row.get("type")),
    )


def _musique(row: Fields) -> Question:
    contexts = tuple(
        Context(
            each.text("title"),
            each.text("paragraph_text"),
            supporting=each.row.get("is_supporting") is True,
        )
        for each in row.objects("paragraphs")
    )
    aliases = row.texts("answer_aliases") if "answer_aliases" in row.row else ()
    return Question(
        row.id("id"),
        row.text("question"),
        (row.text("answer"), *aliases),
        supporting_titles=tuple(dict.fromkeys(each.title for each in contexts if each.supporting)),
        contexts=contexts,
    )


def _nq_open(row: Fields) -> Question:
    return Question(row.id("id"), row.text("question"), row.texts("answer"))


def _dpr_nq(row: Fields) -> Question:
    """The first positive passage is the gold one; those after it were found, and name an answer."""
    others = [name for name in ("negative_ctxs", "hard_negative_ctxs") if name in row.row]
    contexts = [
        Context(str(each.row.get("title") or ""), each.text("text"), supporting=place == 0)
        for place, each in enumerate(
            each for name in ("positive_ctxs", *others) for each in row.objects(name)
        )
    ]
    if not row.list_of("positive_ctxs"):  # the first of the others is no gold passage
        contexts = [replace(each, supporting=False) for each in contexts]
    return Question(
        row.id("id"), row.text("question"), row.texts("answers"), contexts=tuple(contexts)
    )


def _dpr_nq_csv(row: Fields) -> Question:
    try:
        answers = ast.literal_eval(row.text("answers"))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise row.wrong("answers", "a list as Python writes it") from None
    listed = Fields(row.path, row.number, {"answers": answers})
    return Question(row.id("id"), row.text("question"), listed.texts("answers"))


def _triviaqa(row: Fields) -> Question:
    answer = row.within("Answer")
    aliases = answer.texts("Aliases") if "Aliases" in answer.row else ()
    gold = tuple(dict.fromkeys((answer.text("Value"), *aliases)))
    return Question(row.id("QuestionId"), row.text("Question"), gold)


def _popqa(row: Fields) -> Question:
    try:
        answers = orjson.loads(row.text("possible_answers"))
    except orjson.JSONDecodeError:
        raise row.wrong("possible_answers", "a list in JSON") from None
    listed = Fields(row.path, row.number, {"possible_answers": answers})
    return Question(row.id("id"), row.text("question"), listed.texts("possible_answers"))


def _tempquestions(row: Fields) -> Question:
    return Question(
        row.id("Id"),
        row.text("Question"),
        row.texts("Gold answer"),
        types=types_of(row.row.get("Type")),
    )


def _commonsenseqa(row: Fields) -> Question:
    asked = row.within("question")
    options = {each.text("label"): each.text("text") for each in asked.objects("choices")}
    key = row.text("answerKey")
    if key not in options:
        raise row.wrong("answerKey", "the label of an option")
    return Question(
        row.id("id"), asked.text("stem"), (options[key],), choices=tuple(options.values())
    )


def _infotabs(row: Fields) -> Question | None:
    label = row.text("label").upper()[:1]
    if label not in {"E", "C", "N"}:
        raise row.wrong("label", "E, C or N")
    if label == "N":
        return None
    gold = TRUE_FALSE[label == "C"]
    return Question(row.id("index"), row.text("hypothesis"), (gold,), choices=TRUE_FALSE)


def _strategyqa(row: Fields) -> Question:
    answer = row.row.get("answer")
    if not isinstance(answer, bool):
        raise row.wrong("answer", "true or false")
    facts = row.texts("facts") if "facts" in row.row else ()
    return Question(
        row.id("qid"),
        row.text("question"),
        (YES_NO[not answer],),
        contexts=tuple(Context("", fact, supporting=True) for fact in facts),
        choices=YES_NO,
    )


def _truthfulqa(row: Fields) -> Question:
    question, best = row.text("Question"), row.text("Best Answer")
    wrong = [each.strip() for each in row.text("Incorrect Answers").split(";") if each.strip()]
    # In an order of their own, so that the right one is not always (a).
    options = sorted(
        dict.fromkeys([best, *wrong]),
        key=lambda each: hashlib.blake2b(f"{question}\x00{each}".encode()).digest(),
    )
    return Question(row.id("id"), question, (best,), choices=tuple(options))


FORMATS = {
    "hotpotqa": Format("HotpotQA", "json", _hotpotqa),
    "2wikimultihopqa": Format("2WikiMultihopQA", "json", _hotpotqa),
    "musique": Format("MuSiQue", "jsonl", _musique),
    "nq_open": Format("Natural Questions (open)", "jsonl", _nq_open),
    "dpr_nq": Format("Natural Questions (DPR)", "json", _dpr_nq),
    "dpr_nq_csv": Format(
        "Natural Questions (DPR)", "tsv", _dpr_nq_csv, columns=("question", "answers")
    ),
    "triviaqa": Format("TriviaQA", "json", _triviaqa, list_in="Data"),
    "popqa": Format("PopQA", "tsv", _popqa),
    "tempquestions": Format("TempQuestions", "json", _tempquestions),
    "commonsenseqa": Format("CommonsenseQA", "jsonl", _commonsenseqa),
    "infotabs": Format("InfoTabs", "tsv", _infotabs),
    "strategyqa": Format("StrategyQA", "json", _strategyqa),
    "truthfulqa": Format("TruthfulQA", "csv", _truthfulqa),
}
"""The formats by the name that ``dataset`` and ``--dataset`` take."""

Rows = Iterator[tuple[int, Mapping[str, Any]]]

LARGEST = 4_000_000_000
"""The most bytes of a data set that is published as one piece; more are a bomb."""


def read_dataset(
    name: str, path: str | Path, *, limit: int | None = None, skip_bad: bool = False
) -> list[Question]:
    """Read a data set's own file.

    Args:
        name: A key of `FORMATS`.
        path: The file, as its authors publish it.
        limit: The most questions to read.
        skip_bad: Leave out rows that lack something instead of raising.

    Raises:
        InputError: There is no such format or file.
        DataError: A row lacks a field; the message names the row and the field.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "dev.jsonl")
        >>> size = path.write_text('{"question": "Who wrote Emma?", "answer": ["Jane Austen"]}')
        >>> [question.gold for question in read_dataset("nq_open", path)]
        [('Jane Austen',)]
    """
    if name not in FORMATS:
        raise InputError(f"no data set {name!r} is known here: give one of {', '.join(FORMATS)}")
    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    questions = list(islice(_questions(FORMATS[name], path, skip_bad), limit))
    if not questions:
        raise DataError(path, None, f"there is no question of {FORMATS[name].title} in this file")
    return questions


def _questions(form: Format, path: Path, skip_bad: bool) -> Iterator[Question]:
    for number, row in _rows(form, path, skip_bad):
        try:
            question = form.read(Fields(path, number, row))
        except DataError:
            if not skip_bad:
                raise
        else:
            if question is not None:
                yield question


def _rows(form: Format, path: Path, skip_bad: bool) -> Rows:
    if form.kind == "jsonl":
        return read_jsonl(path, skip_bad=skip_bad)
    text = _text(path)
    if form.kind in {"csv", "tsv"}:
        delimiter = "," if form.kind == "csv" else "\t"
        rows = csv.DictReader(
            io.StringIO(text, newline=""), fieldnames=form.columns or None, delimiter=delimiter
        )
        return enumerate(rows, start=1 if form.columns else 2)
    try:
        loaded = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise DataError(path, None, f"this is not JSON ({error})") from error
    if form.list_in:
        if not isinstance(loaded, dict) or form.list_in not in loaded:
            raise DataError(path, None, f'the field "{form.list_in}" is missing')
        loaded = loaded[form.list_in]
    if not isinstance(loaded, list) or not all(isinstance(row, dict) for row in loaded):
        raise DataError(path, None, f"{form.title} is published as a list of objects")
    return enumerate(loaded, start=1)


def _text(path: Path) -> str:
    try:
        return read_whole(path, most=LARGEST).decode()
    except UnicodeDecodeError as error:
        raise DataError(path, None, f"this is not UTF-8 ({error})") from error


def __getattr__(name: str) -> object:
    """The reader of a data set, such as ``read_hotpotqa``, for `skr_core.registry`."""
    if name.removeprefix("read_") in FORMATS:
        return partial(read_dataset, name.removeprefix("read_"))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
