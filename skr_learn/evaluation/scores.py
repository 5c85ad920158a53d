"""One answer, judged: everything that can be said of it without a further model."""

from __future__ import annotations

from dataclasses import dataclass

from skr_core.match import exact_match, is_right, token_f1
from skr_core.questions import Question
from skr_core.replies.refusals import is_refusal
from skr_core.types import Answer
from skr_learn.metrics.references import (
    all_titles,
    citation_precision,
    citation_recall,
    facts_within,
    resolvable,
    supporting_fact_recall,
    title_recall,
)


@dataclass(frozen=True, slots=True)
class Scores:
    """One question, judged.

    Attributes:
        question: What was asked.
        title_recall: Share of the supporting titles among the references, 0 to 1.
        all_titles: Whether every supporting title is among the references.
        answer_accuracy: Whether the answer chooses the right option, where there are options;
            else whether it contains a gold answer.
        citation_precision: Share of the citations that are supporting, by titles, 0 to 1; those
            that were taken out count among them.
        citation_recall: Share of the supporting titles that are cited, 0 to 1.
        rounds: Of retrieval.
        calls: Of the language model.
        prompt_tokens: Sent to it.
        stop_reason: Why the loop ended.
        exact_match: Whether the answer is a gold answer.
        token_f1: Of its words with those of the best gold answer, 0 to 1.
        fact_recall: Share of the supporting sentences among the references; None where no
            sentence is recorded.
        retrieved: Whether anything was searched.
        refused: Whether the answer is a refusal.
        completion_tokens: Received from the model.
        removed_markers: Citations that named no reference and were taken out.
    """

    question: Question
    title_recall: float
    all_titles: bool
    answer_accuracy: bool
    citation_precision: float
    citation_recall: float
    rounds: int
    calls: int
    prompt_tokens: int
    stop_reason: str
    exact_match: bool = False
    token_f1: float = 0.0
    fact_recall: float | None = None
    retrieved: bool = True
    refused: bool = False
    completion_tokens: int = 0
    removed_markers: int = 0

    @classmethod
    def of(cls, question: Question, answer: Answer) -> Scores:
        """Judge an answer against its question's gold.

        Example:
            >>> from skr_core.types import Decision
            >>> answer = Answer("Who?", "It was Ada.", (), (), Decision(False), (), "known", {})
            >>> Scores.of(Question("1", "Who?", ("Ada",)), answer).answer_accuracy
            True
        """
        found = [reference.title for reference in answer.references]
        cited = [reference.title for reference in answer.cited_references]
        supporting = question.supporting_titles
        usage = answer.total_usage.uncached  # what the system costs, whoever measured it before
        return cls(
            question,
            title_recall=title_recall(found, supporting),
            all_titles=all_titles(found, supporting),
            answer_accuracy=is_right(question, answer.text),
            citation_precision=citation_precision(cited, supporting, answer.removed_markers),
            citation_recall=citation_recall(cited, supporting),
            rounds=len(answer.rounds),
            calls=usage.calls,
            prompt_tokens=usage.prompt_tokens,
            stop_reason=answer.stop_reason,
            exact_match=exact_match(answer.text, question.gold),
            token_f1=token_f1(answer.text, question.gold),
            fact_recall=_fact_recall(question, answer),
            retrieved=bool(answer.rounds),
            refused=is_refusal(answer.text),
            completion_tokens=usage.completion_tokens,
            removed_markers=answer.removed_markers,
        )


MEASURES = (
    "title_recall",
    "all_titles",
    "answer_accuracy",
    "citation_precision",
    "citation_recall",
    "rounds",
    "calls",
    "prompt_tokens",
    "exact_match",
    "token_f1",
    "fact_recall",
    "retrieved",
    "refused",
    "completion_tokens",
    "removed_markers",
)
"""The fields of `Scores` that are averaged over questions."""


def _fact_recall(question: Question, answer: Answer) -> float | None:
    wanted = resolvable(question.supporting_facts, question.contexts)
    if not wanted:
        return None
    return supporting_fact_recall(facts_within(answer.references, question.contexts), wanted)
