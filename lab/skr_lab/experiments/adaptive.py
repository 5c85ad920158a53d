"""Static against adaptive retrieval by stated certainty, over several documents (W2R Table 5).

Each question is asked once in each way and once with each kind of document. What adaptive retrieval
answers follows: the model's own answer where it was certain, else the one with documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from skr_app.report import Result, compare, row_of
from skr_core.flow import Flow, call
from skr_core.match import contains_gold
from skr_core.ports import LanguageModel, Retriever
from skr_core.prompts.papers import W2R_TEMPLATES
from skr_core.questions import Question
from skr_core.references.found import checked_references
from skr_core.types import Answer, Reference
from skr_lab.experiments.certainty import is_certain
from skr_lab.experiments.knowledge import answer_given, complete
from skr_learn.evaluation.asking import System
from skr_learn.evaluation.measuring import Judged

TITLE = "what is retrieval worth where the model is uncertain? (W2R Table 5)"
SOURCES = ("sparse", "dense", "gold")
"""The rows of Table 5."""
STATIC = "static"
RA_RATE, NONE = "ra_rate", "none"
"""The first two: the share retrieved for, and the accuracy without any document."""


@dataclass(frozen=True, slots=True)
class Documents:
    """One kind of documents, and how many of them an answer is given.

    Attributes:
        source: ``sparse``, ``dense`` or ``gold``.
        top: How many.
        retriever: Finds them; None where they are the question's gold documents.
    """

    source: str
    top: int
    retriever: Retriever | None = None

    @property
    def name(self) -> str:
        """In tables, such as ``dense_top_1``."""
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
