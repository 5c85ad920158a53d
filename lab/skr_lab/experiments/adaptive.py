"""Static against adaptive retrieval by stated certainty, over several documents (W2R Table 5).

Each question is asked once in each way and once with each kind of document. What adaptive retrieval
answers follows: the model's own answer where it was certain, else the one with documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar, Literal

from pydantic import Field

from skr_core.errors import InputError
from skr_core.flow import Flow, call
from skr_core.match import contains_gold
from skr_core.ports import LanguageModel, Retriever
from skr_core.prompts.papers import W2R_TEMPLATES
from skr_core.prompts.routing import ROUTING_VERSION
from skr_core.prompts.templates import PROMPT_VERSION
from skr_core.questions import Question
from skr_core.references.found import checked_references
from skr_core.types import Answer, Reference
from skr_lab.experiment import Bench, Found, Names, Numbers, Searching
from skr_lab.experiments.certainty import is_certain, read_strategies, strategy_system
from skr_lab.experiments.knowledge import answer_given, complete
from skr_lab.opening import Result, compare, row_of
from skr_learn.evaluate import Judged, System

TITLE = "what is retrieval worth where the model is uncertain? (W2R Table 5)"
SEARCHES: dict[str, Literal["bm25", "dense"]] = {"sparse": "bm25", "dense": "dense"}
SOURCES = (*SEARCHES, "gold")
"""The rows of Table 5."""
MOST = 10
"""Documents that an answer is given at most."""
STATIC = "static"
RA_RATE, NONE = "ra_rate", "none"
"""The first two: the share retrieved for, and the accuracy without any document."""


class Adaptive(Searching):
    """What is retrieval worth where the model is uncertain? Static against adaptive retrieval."""

    name: ClassVar[str] = "adaptive"
    reproduces: ClassVar[str] = "W2R Tables 4 and 5"

    sources: Names = SOURCES
    """The documents: sparse (BM25), dense, gold."""
    top: Numbers = Field(default=(1,), min_length=1)
    """How many documents an answer is given, from 1 to 10; several make a column each."""
    strategies: Names = ("vanilla", "punish", "explain", "punish_explain")
    """The ways of asking."""

    async def run(self, bench: Bench) -> Found:
        """Ask in each way, and with each kind of document."""
        read, ways, model = (
            self.read_answered(),
            read_strategies(self.strategies),
            self.language_model,
        )
        self._check()
        has_gold = "gold" in self.sources
        asked = [each for each in read if gold_documents(each)] if has_gold else read
        if not asked:
            raise InputError(
                f"{self.questions}: no question has a gold document; leave gold out of sources"
            )
        settings = {
            "questions": f"{self.questions.name} ({len(asked)} of {len(read)})",
            "model": model.name,
        }
        searched = [each for each in self.sources if each != "gold"]
        documents = []
        if searched:
            opened, corpus = self.open_store(bench, read)
            documents = [
                Documents(kind, each, opened.searched_by(SEARCHES[kind], k=MOST))
                for kind in searched
                for each in self.top
            ]
            settings |= {"embedder": self.embedder, "corpus": corpus}
        documents += [Documents("gold", each) for each in self.top if has_gold]
        prompts = f"{PROMPT_VERSION} {ROUTING_VERSION}"
        bench.open_folder(command=self.name, **settings, prompts=prompts)
        systems = [strategy_system(model, each) for each in ways]
        systems += [each.system(model) for each in documents]
        _, judged = await self.ask(bench, systems, asked, may_fail=True)
        augmented = {each.name: judged[each.name] for each in documents}
        named = {name: named_by(each) for name, each in augmented.items()}
        shares = ", ".join(f"{name} {share:.3f}" for name, share in named.items())
        notes = [f"Questions whose documents name an answer (Table 4): {shares}."]
        if left_out := len(read) - len(asked):
            notes.append(f"{left_out} questions lack a gold document.")
        stated: dict[str, list[Judged]] = {each: judged[each] for each in ways}
        result, values = adaptive_result(stated, augmented, settings, notes)
        means = {
            row.name: {name: cell.mean for name, cell in row.cells.items() if cell.n}
            for row in result.rows
        }
        more = {"n": len(asked), "groups": means, "documents_with_answer": named}
        return Found(result, values, more)

    def _check(self) -> None:
        unknown = [name for name in self.sources if name not in SOURCES]
        if unknown or not self.sources:
            given = unknown[0] if unknown else "nothing"
            raise InputError(f"sources: {given} is none, give some of {', '.join(SOURCES)}")
        if not all(1 <= each <= MOST for each in self.top):
            raise InputError(f"top: give numbers from 1 to {MOST}")


@dataclass(frozen=True, slots=True)
class Documents:
    """One kind of documents, and how many of them an answer is given.

    Attributes:
        source: The kind: ``sparse``, ``dense`` or ``gold``.
        top: The number of documents.
        retriever: Finds them; None where they are the question's gold documents.
    """

    source: str
    top: int
    retriever: Retriever | None = None

    @property
    def name(self) -> str:
        """The name in tables, such as ``dense_top_1``."""
        return f"{self.source}_top_{self.top}"

    def system(self, model: LanguageModel) -> System:
        """Answers every question with these documents (Figure 10)."""
        return System(self.name, lambda question: self._answer(model, question))

    def _answer(self, model: LanguageModel, question: Question) -> Flow[Answer]:
        if self.retriever is None:
            found = gold_documents(question)
        else:
            retriever = self.retriever
            given = yield from call(retriever.retrieve, retriever.aretrieve, question.question)
            found = checked_references(given, retriever)
        return (
            yield from answer_given(model, question, found[: self.top], templates=W2R_TEMPLATES)
        )


def gold_documents(question: Question) -> list[Reference]:
    """The gold references, those that name an answer first, as W2R gives one document alone.

    Example:
        >>> from skr_core.questions import Context
        >>> contexts = (Context("Jaws", "A film.", supporting=True),
        ...             Context("Spielberg", "Born in Cincinnati.", supporting=True))
        >>> where = Question("1", "Where?", ("Cincinnati",), contexts=contexts)
        >>> [each.title for each in gold_documents(where)]
        ['Spielberg', 'Jaws']
    """
    return sorted(complete(question), key=lambda each: not _names(each, question))


def named_by(judged: Sequence[Judged]) -> float:
    """Share of the questions whose documents name an answer: with one each, W2R Table 4.

    Args:
        judged: Answers with documents.
    """
    named = [
        any(_names(reference, each.question) for reference in each.answer.references)
        for each in judged
        if each.answer is not None
    ]
    return sum(named) / len(named) if named else 0.0


def adaptive_result(
    stated: Mapping[str, Sequence[Judged]],
    augmented: Mapping[str, Sequence[Judged]],
    settings: Mapping[str, str],
    notes: Sequence[str] = (),
) -> tuple[Result, dict[str, list[Judged]]]:
    """Table 5, and the values it is made of.

    Args:
        stated: Answers of `strategy_system`, by the way of asking.
        augmented: Answers of `Documents.system` to the same questions, by its name.
        settings: Shown above the table.
        notes: Shown below it.

    Returns:
        The table, and by row what each question adds to it.
    """
    with_documents = [
        {name: each[place].values["answer_accuracy"] for name, each in augmented.items()}
        for place in range(len(next(iter(augmented.values()))))
    ]
    vanilla = stated.get("vanilla", ())
    values = {STATIC: [_static(*each) for each in zip_longest(with_documents, vanilla)]}
    for strategy, answers in stated.items():
        values[strategy] = [_adaptive(*each) for each in zip(with_documents, answers, strict=True)]
    asked = [each.question for each in next(iter(augmented.values()))]
    combined = {
        name: [Judged(question, None, each) for question, each in zip(asked, rows, strict=True)]
        for name, rows in values.items()
    }
    measures = (RA_RATE, NONE, *augmented)
    result = Result(
        "adaptive",
        TITLE,
        settings,
        rows=tuple(row_of(name, each, measures) for name, each in combined.items()),
        comparisons=tuple(
            compare(name, each, STATIC, combined[STATIC], tuple(augmented))
            for name, each in combined.items()
            if name != STATIC
        ),
        plotted=(*augmented, RA_RATE),
        notes=tuple(notes),
    )
    return result, combined


Rights = Mapping[str, float | None]
"""Whether the answers to one question with each kind of documents are right; None of a failure."""


def _static(with_documents: Rights, vanilla: Judged | None) -> dict[str, float | None]:
    without = {} if vanilla is None else {NONE: vanilla.values["answer_accuracy"]}
    return {RA_RATE: 1.0, **without, **with_documents}


def _adaptive(with_documents: Rights, stated: Judged) -> dict[str, float | None]:
    own = stated.values["answer_accuracy"]
    if stated.answer is None:
        return dict.fromkeys((RA_RATE, NONE, *with_documents))
    if is_certain(stated.answer):
        return {RA_RATE: 0.0, NONE: own, **dict.fromkeys(with_documents, own)}
    return {RA_RATE: 1.0, NONE: own, **with_documents}


def _names(reference: Reference, question: Question) -> bool:
    return contains_gold(f"{reference.title}\n{reference.text}", question.gold)
