"""Drafts whose references are known to suffice or not: made by design, found, or recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from skr_core.errors import DataError
from skr_core.files import read_jsonl
from skr_core.flow import Flow, call
from skr_core.match import is_right
from skr_core.ports import LanguageModel, Retriever
from skr_core.prompts.templates import DEFAULT_TEMPLATES, PromptTemplates
from skr_core.questions import Question
from skr_core.references.citations import without_markers
from skr_core.reflectors import judge_reply
from skr_core.replies.opening import strip_thoughts
from skr_core.replies.refusals import is_refusal
from skr_core.replies.reply import read_reply
from skr_core.rivals import plain_text, standing_in
from skr_core.types import Answer, Reference
from skr_lab.experiments.knowledge import answer_given, complete, partial
from skr_learn.evaluate import Judged, System
from skr_learn.formats import record_of
from skr_learn.records import Outcome, Record

MOST_REFERENCES = 10
"""References of a draft from a store: the paper's cap."""

RIGHT = 0.5
"""The score from which on an answer counts as right."""

WITHOUT_REFERENCES = "closed_book"
"""The setting of labelled replies that had no references: nothing there could suffice."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft, and whether its references suffice.

    Attributes:
        question: The question that was asked.
        text: The model's answer, as the loop hands it to a reflector.
        references: The references of the reply, numbered from 1 as it cites them.
        insufficient: Whether the references, or the draft, do not suffice.
        record: The record that `LearnedReflector` learns from; its score is 0 where they do not.
        refused: Whether the model says itself that they do not suffice. The loop takes its word,
            and asks no other reflector.
        accepted: Whether `RefusalReflector` judges them sufficient, or the judge of the record did.
        answer: The answer that the draft became; None where it is recorded.
    """

    question: Question
    text: str
    references: tuple[Reference, ...]
    insufficient: bool
    record: Record
    refused: bool
    accepted: bool
    answer: Answer | None = None


def draft_of(
    question: Question, answer: Answer, *, insufficient: bool, must_cite: bool = True
) -> Draft:
    """The draft in an answer of one round.

    Args:
        question: The question that was asked.
        answer: An answer of `answer_given`.
        insufficient: Whether its references do not suffice.
        must_cite: Whether an answer has to cite, as in `judge_reply`.

    Example:
        >>> from skr_core.types import Decision, Reference
        >>> given = (Reference.of("It is Ada."),)
        >>> answer = Answer("Who?", "Ada [1].", (), given, Decision(True), (), "sufficient", {})
        >>> draft = draft_of(Question("1", "Who?", ()), answer, insufficient=True)
        >>> draft.accepted, draft.record.retrieved.score
        (True, 0.0)
    """
    reply = read_reply(
        answer.rounds[-1].draft if answer.rounds else answer.text, len(answer.references)
    )
    bare = without_markers(reply.text)
    outcome = Outcome(
        bare,
        float(not insufficient),
        grounded=reply.cites,
        standing=standing_in("", bare, [each.text for each in answer.references]),
    )
    return Draft(
        question,
        reply.text,
        answer.references,
        insufficient,
        Record(question.asked, question.gold, {"direct": Outcome("", 0.0), "single": outcome}),
        refused=reply.sufficient is False,
        accepted=judge_reply(reply, must_cite=must_cite).sufficient,
        answer=answer,
    )


def made_drafts(
    judged: Mapping[str, Sequence[Judged]],
    insufficient: Callable[[str, Judged], bool],
    *,
    must_cite: bool = True,
) -> tuple[list[Draft], int]:
    """The drafts of systems, and how many failed.

    Args:
        judged: The judged answers of each system, by its name.
        insufficient: From a system's name and an answer to whether its references fall short.
        must_cite: Whether an answer has to cite, as in `judge_reply`.
    """
    answered = [(name, each) for name, answers in judged.items() for each in answers]
    drafts = [
        draft_of(
            each.question,
            each.answer,
            insufficient=insufficient(name, each),
            must_cite=must_cite,
        )
        for name, each in answered
        if each.answer is not None
    ]
    return drafts, len(answered) - len(drafts)


def complete_and_partial(
    model: LanguageModel, templates: PromptTemplates = DEFAULT_TEMPLATES
) -> list[System]:
    """Two systems that draft from all gold references and from half of them (RaLLM §6.4).

    Either may refuse. Of as many drafts of the one as of the other, those of ``partial`` lack
    something.

    Args:
        model: The model that drafts.
        templates: The words to ask in.
    """

    def system(name: str, given: Callable[[Question], list[Reference]]) -> System:
        return System(
            name,
            lambda each: answer_given(
                model, each, given(each), may_refuse=True, templates=templates
            ),
        )

    return [system("complete", complete), system("partial", partial)]


def searching(
    model: LanguageModel,
    retriever: Retriever,
    templates: PromptTemplates = DEFAULT_TEMPLATES,
) -> System:
    """A system that searches once and drafts an answer, which may be a refusal.

    Args:
        model: The model that drafts.
        retriever: The retriever that is searched with the question.
        templates: The words to ask in.
    """

    def ask(question: Question) -> Flow[Answer]:
        found = yield from call(retriever.retrieve, retriever.aretrieve, question.asked)
        given = list(found)[:MOST_REFERENCES]
        return (
            yield from answer_given(model, question, given, may_refuse=True, templates=templates)
        )

    return System("retrieved", ask)


def read_drafts(
    path: str | Path, *, limit: int | None = None, skip_bad: bool = False
) -> list[Draft]:
    """Read recorded answers with references; one that is wrong falls short.

    A line is a record of self-knowledge in any form that `Records.read` reads, or a reply
    that people labelled: ``question``, ``reply``, and ``label``, which is ``correct`` where it is
    right. Of a record the answer of always retrieving counts. Replies of the setting
    ``closed_book`` are passed over.

    Args:
        path: The file.
        limit: The most drafts to read.
        skip_bad: Leave out bad lines instead of raising.

    Raises:
        InputError: There is no such file.
        DataError: A line is bad, or none holds an answer with references.
    """
    drafts = list(islice(_read(Path(path), skip_bad), limit))
    if not drafts:
        raise DataError(path, None, "there is no recorded answer with references in this file")
    return drafts


def _read(path: Path, skip_bad: bool) -> Iterator[Draft]:
    for number, row in read_jsonl(path, skip_bad=skip_bad):
        if row.get("setting") == WITHOUT_REFERENCES:
            continue
        try:
            yield _labelled(path, number, row) if "reply" in row else _recorded(path, number, row)
        except DataError:
            if not skip_bad:
                raise


def _labelled(path: Path, number: int, row: Mapping[str, Any]) -> Draft:
    match row:
        case {"question": str(asked), "reply": str(reply), "label": str(label)}:
            right = label == "correct"
        case _:
            raise DataError(path, number, 'a labelled reply holds "question", "reply" and "label"')
    record = Record.of(asked, direct=("", 0.0), single=(reply, float(right)))
    question = Question(str(row.get("id", number)), asked, ())
    refused = is_refusal(strip_thoughts(reply))
    return Draft(question, reply, (), not right, record, refused, accepted=not refused)


def _recorded(path: Path, number: int, row: Mapping[str, Any]) -> Draft:
    record = record_of(row, path, number)
    question = Question(str(record.extra.get("id", number)), record.question, record.gold)
    kept = record.extra.get("passages")
    # Passages are those of the one search; a loop's answer rests on more.
    rows = kept if isinstance(kept, list) and "loop" not in record.outcomes else []
    references = tuple(
        Reference.of(each["text"], str(each.get("title") or ""))
        for each in rows
        if isinstance(each, Mapping) and isinstance(each.get("text"), str) and each["text"]
    )
    answer = record.retrieved
    text = plain_text(answer.answer)
    return Draft(
        question,
        text,
        references,
        answer.score < RIGHT,
        record,
        refused=is_refusal(text),
        accepted=sufficed(answer),
    )


def sufficed(outcome: Outcome) -> bool:
    """Whether an answer was held to suffice when it was recorded.

    Example:
        >>> sufficed(Outcome("I do not know.", 0.0)), sufficed(Outcome("Ada", 1.0))
        (False, True)
    """
    if outcome.stop_reason:
        return outcome.stop_reason == "sufficient"
    return not is_refusal(outcome.answer)


def falls_short(judged: Judged) -> bool:
    """Whether an answer is wrong.

    Example:
        >>> falls_short(Judged(Question("1", "Who?", ("Ada",)), None, {}))
        True
    """
    return judged.answer is None or not is_right(judged.question, judged.answer.text)
