"""An experiment: a dataclass of its fields, and one function from them to a table.

The fields that several experiments share stand here once: `Asking`, and what is added by `Claiming`
(a judge of claims) and `Searching` (a store). Values come from a TOML file or from texts, and are
checked by pydantic; the docstring of a field is its help.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from skr_core.budget import price_of, read_prices
from skr_core.errors import DataError, InputError
from skr_core.ports import EntailmentModel, LanguageModel
from skr_core.questions import Question
from skr_core.types import Demonstration, Reference
from skr_lab.entailment import RememberingEntailment
from skr_lab.key_facts import with_key_facts
from skr_lab.metrics import claims_judged_by
from skr_lab.opening import (
    Result,
    RunFolder,
    ask_and_judge,
    digest_of,
    load_questions,
    make_entailment,
    make_model,
    named_embedder,
    open_searched,
    read_demonstrations,
    within_limits,
)
from skr_learn.evaluate import Answers, Judged, Measure, System
from skr_learn.records import question_key

if TYPE_CHECKING:
    from typing import Self

    from skr_store import Store


HASHING = "hashing"
"""The embedder that needs no download."""


def _split(value: object) -> object:
    if not isinstance(value, str):
        return value
    return [part.strip() for part in value.split(",") if part.strip()]


Names = Annotated[tuple[str, ...], BeforeValidator(_split)]
"""Several names; as a text, with commas between them."""
Numbers = Annotated[tuple[int, ...], BeforeValidator(_split)]
Paths = Annotated[tuple[Path, ...], BeforeValidator(_split)]


@dataclass(frozen=True)
class Found:
    """The findings of an experiment.

    Attributes:
        result: The table.
        judged: The answers with the values that the table is made of, by row.
        more: Further figures for the JSON.
    """

    result: Result
    judged: Mapping[str, Sequence[Judged]]
    more: Mapping[str, Any] = field(default_factory=dict)


class Bench:
    """The place where an experiment works: its folder, and a stack that closes what it opens.

    Args:
        out: The folder of the run; None keeps nothing.
        stack: Closes the folder and whatever else the experiment opens.
    """

    def __init__(self, out: Path | None, stack: ExitStack) -> None:
        self.out, self.stack = out, stack
        self._folder: RunFolder | None = None

    def open_folder(self, **stamp: str) -> RunFolder:
        """Open the folder of the run.

        Args:
            **stamp: The model, the prompts and whatever else the run is made with, by name; a run
                made with something else needs another folder.

        Raises:
            StampMismatch: The folder holds a run that was made with something else.
        """
        self._folder = self.stack.enter_context(RunFolder(self.out, stamp))
        return self._folder

    @property
    def folder(self) -> RunFolder:
        """The folder, once it is open."""
        assert self._folder is not None
        return self._folder


class Experiment(BaseModel):
    """The fields of an experiment; a subclass adds its own, and the function that it is."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, protected_namespaces=()
    )

    name: ClassVar[str]
    reproduces: ClassVar[str]
    """The table or figure of a paper."""

    limit: int | None = Field(default=None, ge=1)
    """Questions, or recorded answers, at most."""
    skip_bad: bool = False
    """Leave out lines that cannot be read."""

    async def run(self, bench: Bench) -> Found:
        """Ask, measure and compare."""
        raise NotImplementedError

    def limits(self, stack: ExitStack) -> None:
        """Keep all that is asked while the stack is open to the limits that the fields name."""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """The experiment with these values, some of which may be texts.

        Raises:
            InputError: A field is missing, unknown or wrong.
        """
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            problems = "; ".join(cls._problem(each) for each in error.errors())
            raise InputError(f"{cls.name}: {problems}") from error

    @classmethod
    def _problem(cls, error: ErrorDetails) -> str:
        where = ".".join(map(str, error["loc"]))
        if error["type"] == "missing":
            return f"give {where}, such as with --set {where}=..."
        if error["type"] == "extra_forbidden":
            return f"there is no field {where!r}: its fields are {', '.join(cls.model_fields)}"
        return f"{where}: {error['msg']}, not {str(error['input'])!r}"


class Asking(Experiment):
    """An experiment that asks a model questions."""

    questions: Path
    """JSON Lines with questions and answers (also .gz), or the file of `dataset`."""
    dataset: str | None = None
    """The published data set whose form the questions have, such as hotpotqa."""
    model: str = Field(default_factory=lambda: os.environ.get("SKR_MODEL", "extractive"))
    """The model: extractive, openai:NAME, anthropic:NAME, or any name with `base_url`."""
    base_url: str | None = Field(default_factory=lambda: os.environ.get("SKR_BASE_URL"))
    """The address of an OpenAI-compatible server."""
    prices: Path | None = None
    """JSON of prices in USD a million tokens, by model."""
    deadline: float | None = Field(default=None, gt=0)
    """Seconds for a question, after which it has failed."""
    max_spend: float | None = Field(default=None, ge=0)
    """US dollars for all that is asked, by `prices`."""
    concurrency: int = Field(default=8, ge=1)
    """Questions under way at a time."""

    @cached_property
    def language_model(self) -> LanguageModel:
        """The model that `model` names."""
        return make_model(self.model, self.base_url)

    def limits(self, stack: ExitStack) -> None:
        """Keep to `deadline` and `max_spend`."""
        stack.enter_context(within_limits(self.deadline, self.max_spend, self.prices))

    def read(self, path: Path | None = None, *, limited: bool = True) -> list[Question]:
        """The questions of a file, as many as `limit` says.

        Args:
            path: The file; None reads `questions`.
            limited: Keep to `limit`.
        """
        return load_questions(
            path or self.questions,
            self.dataset,
            limit=self.limit if limited else None,
            skip_bad=self.skip_bad,
        )

    def read_answered(self, path: Path | None = None, *, limited: bool = True) -> list[Question]:
        """The questions that have a right answer.

        Raises:
            InputError: None has one.
        """
        read = self.read(path, limited=limited)
        usable = [each for each in read if any(answer.strip() for answer in each.gold)]
        if not usable:
            raise InputError(f"{path or self.questions}: no question has a right answer")
        return usable

    def measure(self, bench: Bench) -> Measure | None:
        """Further measures of the answers."""
        return None

    async def ask(
        self,
        bench: Bench,
        systems: Sequence[System],
        asked: Sequence[Question],
        *,
        may_fail: bool = False,
    ) -> tuple[dict[str, Answers], dict[str, list[Judged]]]:
        """Ask every system every question, going on where an earlier run stopped; judge them.

        Args:
            bench: Holds what was answered before, and gets what is answered now.
            systems: The systems, one after the other.
            asked: The questions.
            may_fail: Go on where a system after the first answers nothing at all, as a model may in
                one way of asking.

        Returns:
            The answers and the judged answers, by system.

        Raises:
            ModelError: A system answered nothing at all.
        """
        price = None
        if self.prices is not None:
            price = price_of(read_prices(self.prices), self.language_model.name)
        return await ask_and_judge(
            systems,
            asked,
            bench.folder,
            price=price,
            measure=self.measure(bench),
            concurrency=self.concurrency,
            may_fail=may_fail,
        )


class Claiming(Asking):
    """An experiment whose answers are judged by their claims too, where there is a judge."""

    key_facts: Path | None = None
    """The frozen key-facts of the questions, made by `skr-lab key-facts`."""
    entailment: str | None = None
    """The judge of claims: lexical, nli:NAME, true:NAME or judge:MODEL; none without."""

    @cached_property
    def judge(self) -> EntailmentModel | None:
        """The judge that `entailment` names."""
        if self.entailment is None:
            return None
        return make_entailment(self.entailment, self.base_url)

    def read(self, path: Path | None = None, *, limited: bool = True) -> list[Question]:
        """The questions with their key-facts."""
        read = super().read(path, limited=limited)
        return read if self.key_facts is None else with_key_facts(read, self.key_facts)

    def measure(self, bench: Bench) -> Measure | None:
        """Key-facts and self-consistency; a verdict in the folder is not asked for again."""
        if self.judge is None:
            return None
        return claims_judged_by(RememberingEntailment(self.judge, bench.folder.judgements))


class Searching(Asking):
    """An experiment that searches a store, a corpus, or the contexts of the questions."""

    corpus: Path | None = None
    """JSON Lines with id, title and text, ingested for this run alone."""
    store: str | None = None
    """A store that is there already; without it and `corpus` the questions' contexts."""
    embedder: str = Field(default_factory=lambda: os.environ.get("SKR_EMBEDDER", HASHING))
    """The embedder: hashing, pooled:NAME (SimCSE, DPR), or a sentence-transformers model."""
    search: Literal["hybrid", "dense", "bm25"] = "dense"
    """How the store is searched."""

    def open_store(
        self, bench: Bench, questions: Sequence[Question], corpus: Path | None = None
    ) -> tuple[Store, str]:
        """Open what is searched.

        Args:
            bench: Closes it.
            questions: Their contexts are searched where there is neither a store nor a corpus.
            corpus: A corpus in place of the one that the fields name.

        Returns:
            The store, and a name for what it holds that tells one corpus from another.
        """
        return open_searched(
            bench.stack,
            store=None if corpus else self.store,
            corpus=corpus or self.corpus,
            questions=questions,
            # A store that was made with another is searched by that; hybrid search is by words.
            embedder=None if self.embedder == HASHING else named_embedder(self.embedder),
            search=self.search,
            skip_bad=self.skip_bad,
        )


class Recorded(Experiment):
    """An experiment over recorded answers; no model is asked."""

    recorded: Path
    """The recorded answers (also .gz)."""

    def told(self, asked: Iterable[str]) -> str:
        """The file, and how many answers to how many questions were read of it.

        Args:
            asked: The question of each answer.
        """
        questions = [question_key(each) for each in asked]
        n, different = len(questions), len(set(questions))
        of = f"{n:,} answers to {different:,} questions" if different < n else f"{n:,} questions"
        return f"{self.recorded.name} ({of})"


class Demonstrated(Asking):
    """An experiment whose systems are shown worked examples."""

    demonstrations: Path | None = None
    """JSON Lines with question, answer and perhaps contexts: worked examples."""

    @cached_property
    def shown(self) -> tuple[Demonstration, ...]:
        """The worked examples."""
        return read_demonstrations(self.demonstrations)


def means_of(result: Result) -> dict[str, dict[str, Any]]:
    """The means of each row by their names, with the number of questions."""
    return {
        row.name: {
            "n": max((cell.n for cell in row.cells.values()), default=0),
            **{name: cell.mean for name, cell in row.cells.items() if cell.n},
        }
        for row in result.rows
    }


def digest(parts: Sequence[object]) -> str:
    """A few digits that tell one list from another."""
    return digest_of([Reference.of(repr(each)) for each in parts])


def read_values(name_or_file: str, settings: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """The name of an experiment and the values of its fields.

    Args:
        name_or_file: A name, or a TOML file with ``experiment`` and fields.
        settings: Further values, each ``field=value``, which win over the file's.

    Raises:
        InputError: There is no such file, or a setting is none.
        DataError: The file is not TOML, or names no experiment.
    """
    name, values = name_or_file, dict[str, Any]()
    if name_or_file.endswith(".toml"):
        path = Path(name_or_file)
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise DataError(path, None, f"this is not TOML ({error})") from error
        if not isinstance(name := values.pop("experiment", None), str):
            raise DataError(path, None, 'the line  experiment = "NAME"  is missing')
    values.update(_pairs(settings))
    return name, values


def _pairs(settings: Sequence[str]) -> Iterator[tuple[str, str]]:
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise InputError(f"--set {setting}: write it as field=value")
        yield key.strip().replace("-", "_"), value


__all__ = [
    "Asking",
    "Bench",
    "Claiming",
    "Demonstrated",
    "Experiment",
    "Found",
    "Names",
    "Numbers",
    "Paths",
    "Recorded",
    "Searching",
    "digest",
    "means_of",
    "read_values",
]
