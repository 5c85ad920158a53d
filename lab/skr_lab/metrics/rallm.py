"""The measures of RaLLM: what an answer claims (§4), and who sees that references lack (§6.4).

Key-facts: whether an answer says what is needed to reach it (§4.1). Self-consistency: whether each
cited sentence follows from what it cites (§4.2). A judge of entailment decides both. The pairs to
be judged are made by pure functions; a judge that gives no verdict on any of them makes the
question a failed one, never a wrong one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import InputError
from skr_core.flow import Flow, call
from skr_core.ports import Entailment, EntailmentModel
from skr_core.references.citations import without_markers
from skr_core.texts import split_sentences
from skr_core.types import Answer
from skr_learn.evaluate import Asked, Judged, Measure, Values
from skr_learn.metrics import Interval, bootstrap_ratio, bootstrap_sums, mean_by_question

Pair = tuple[str, str]
"""Premise and hypothesis."""


def harmonic_mean(precision: float, recall: float) -> float:
    """F1 = 2PR / (P + R); of two zeros it is 0.

    Example:
        >>> harmonic_mean(1.0, 0.5) == 2 / 3, harmonic_mean(0.0, 0.0)
        (True, 0.0)
    """
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0


def f1_of_means(
    precisions: Sequence[float], recalls: Sequence[float], *, n_failed: int = 0
) -> Interval:
    """The harmonic mean of mean precision and mean recall, as in RaLLM's tables.

    A model that is precise on some questions and complete on others has a higher one than the mean
    of each question's F1.

    Example:
        >>> f1_of_means([1.0, 0.0], [0.0, 1.0]).mean
        0.5
    """

    def of_sums(
        precision: NDArray[np.float64], recall: NDArray[np.float64], n: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        total = n * (precision + recall)
        return np.divide(2 * precision * recall, total, out=np.zeros_like(total), where=total != 0)

    ones = np.ones(len(precisions))
    return bootstrap_sums([precisions, recalls, ones], of_sums, n_failed=n_failed)


@dataclass(frozen=True, slots=True)
class KeyFactScores:
    """How well one answer says the key-facts, each from 0 to 1.

    Attributes:
        recall: Share of the key-facts that the whole answer entails.
        precision: Share of the answer's sentences that entail any key-fact.
    """

    recall: float
    precision: float

    @property
    def f1(self) -> float:
        """Harmonic mean of both."""
        return harmonic_mean(self.precision, self.recall)


def answer_sentences(answer: str) -> list[str]:
    """The sentences of an answer without markers; what says nothing beside them is left out."""
    return [
        bare for each in split_sentences(answer) if (bare := without_markers(each)).strip(".!? ")
    ]


def key_fact_pairs(answer: str, key_facts: Sequence[str]) -> list[Pair]:
    """The pairs to be judged: the whole answer with each fact, then each sentence with each fact.

    Example:
        >>> key_fact_pairs("It is Paris [1].", ["Paris is the capital."])
        [('It is Paris.', 'Paris is the capital.'), ('It is Paris.', 'Paris is the capital.')]
    """
    sentences = answer_sentences(answer)
    whole = " ".join(sentences)
    return [
        (premise, fact)
        for premise in ((whole, *sentences) if sentences else ())
        for fact in key_facts
    ]


def key_fact_scores(
    verdicts: Sequence[Entailment | None], key_facts: Sequence[str]
) -> KeyFactScores | None:
    """R = Σ f(S, k) / |K| and P = Σ f(s, any k) / |S| (RaLLM §4.1).

    Args:
        verdicts: In the order of `key_fact_pairs`; none for an answer that says nothing.
        key_facts: The key-facts K.

    Returns:
        None where the judge failed on any pair.

    Example:
        >>> scores = key_fact_scores(["entailment", "neutral"] + ["neutral"] * 4, ["k1", "k2"])
        >>> scores.recall, scores.precision, scores.f1
        (0.5, 0.0, 0.0)
    """
    if None in verdicts:
        return None
    width = len(key_facts)
    if not width or not verdicts:
        return KeyFactScores(0.0, 0.0)
    rows = [
        [verdict == "entailment" for verdict in verdicts[start : start + width]]
        for start in range(0, len(verdicts), width)
    ]
    whole, *sentences = rows
    return KeyFactScores(sum(whole) / width, sum(map(any, sentences)) / len(sentences))


def verdicts_of(model: EntailmentModel, pairs: Sequence[Pair]) -> Flow[list[Entailment | None]]:
    """Ask for the verdicts of pairs, each pair once; asks nothing for no pair.

    Example:
        >>> from skr_lab.opening import LexicalEntailment
        >>> from skr_core.flow import run
        >>> facts = ["Paris is a capital.", "Paris is in France."]
        >>> pairs = key_fact_pairs("Paris is the capital [1].", facts)
        >>> key_fact_scores(run(verdicts_of(LexicalEntailment(), pairs)), facts).recall
        0.5
    """
    different = list(dict.fromkeys(pairs))
    if not different:
        return []
    verdicts = yield from call(model.predict, model.apredict, different)
    known = dict(zip(different, verdicts, strict=True))
    return [known[pair] for pair in pairs]


def consistency_pairs(answer: Answer) -> list[Pair]:
    """(Concat(C_i), s_i) for each sentence s_i with citations C_i.

    Sentences that cite nothing are not among them; nor are those that are nothing but markers.

    Example:
        >>> from skr_core.references.citations import resolve_citations
        >>> from skr_core.types import Decision, Reference
        >>> paris = Reference.of("Paris is the capital of France.")
        >>> cited = resolve_citations("It is Paris [1].", [paris])
        >>> decision = Decision(True)
        >>> answer = Answer("?", cited.text, cited.citations, (paris,), decision, (), "known", {})
        >>> consistency_pairs(answer)
        [('Paris is the capital of France.', 'It is Paris.')]
    """
    text_of = {reference.id: reference.text for reference in answer.references}
    cited: dict[str, dict[str, None]] = {}
    for citation in answer.citations:
        if citation.reference_id in text_of:
            cited.setdefault(citation.sentence, {})[citation.reference_id] = None
    return [
        (" ".join(text_of[each] for each in ids), bare)
        for sentence, ids in cited.items()
        if (bare := without_markers(sentence)).strip(".!? ")
    ]


def self_consistency(verdicts: Sequence[Entailment | None]) -> float | None:
    """SC = Σ f(Concat(C_i), s_i) / n over the n cited sentences (RaLLM §4.2), 0 to 1.

    Args:
        verdicts: The verdicts on `consistency_pairs`.

    Returns:
        0 for an answer that cites nothing; None where the judge failed on a pair.

    Example:
        >>> self_consistency(["entailment", "neutral"]), self_consistency([])
        (0.5, 0.0)
        >>> self_consistency(["entailment", None]) is None
        True
    """
    if None in verdicts:
        return None
    return sum(each == "entailment" for each in verdicts) / len(verdicts) if verdicts else 0.0


KEY_FACTS = ("key_fact_recall", "key_fact_precision", "key_fact_f1")
SELF_CONSISTENCY = "self_consistency"
F1_OF_MEANS = "key_fact_f1_of_means"
"""The F1 of RaLLM's tables, of mean precision and mean recall; ``key_fact_f1`` is the mean over
questions."""


def claims_judged_by(model: EntailmentModel) -> Measure:
    """The measures of key-facts and self-consistency; the judge is asked once, for all pairs.

    Args:
        model: The judge of entailment.

    Returns:
        A measure for `judge_all`.
    """

    def measure(answers: Sequence[Asked]) -> Flow[list[Values]]:
        pairs = list(dict.fromkeys(pair for each in answers for pair in _pairs(each)))
        judged = yield from verdicts_of(model, pairs)
        verdicts = dict(zip(pairs, judged, strict=True))
        return [_values(each, verdicts) for each in answers]

    return measure


def key_fact_f1_of_means(judged: Sequence[Judged]) -> Interval | None:
    """`f1_of_means` over judged answers; None where no question has key-facts."""
    recall, precision, _ = KEY_FACTS
    rows = [each.values for each in judged if precision in each.values]
    known = [
        (row[precision], row[recall])
        for row in rows
        if row[precision] is not None and row[recall] is not None
    ]
    if not rows:
        return None
    precisions, recalls = ([float(pair[place] or 0.0) for pair in known] for place in (0, 1))
    return f1_of_means(precisions, recalls, n_failed=len(rows) - len(known))


def _pairs(asked: Asked) -> list[Pair]:
    if asked.answer is None:
        return []
    facts = key_fact_pairs(asked.answer.text, asked.question.key_facts)
    return [*facts, *consistency_pairs(asked.answer)]


def _values(asked: Asked, verdicts: Mapping[Pair, Entailment | None]) -> Values:
    question, answer = asked.question, asked.answer
    values: dict[str, float | None] = {}
    if question.key_facts:
        facts = None
        if answer is not None:
            pairs = key_fact_pairs(answer.text, question.key_facts)
            facts = key_fact_scores([verdicts[pair] for pair in pairs], question.key_facts)
        found = (None,) * 3 if facts is None else (facts.recall, facts.precision, facts.f1)
        values |= dict(zip(KEY_FACTS, found, strict=True))
    if answer is None:
        values[SELF_CONSISTENCY] = None
    elif answer.references:
        cited = consistency_pairs(answer)
        values[SELF_CONSISTENCY] = self_consistency([verdicts[pair] for pair in cited])
    return values


@dataclass(frozen=True, slots=True)
class ReflectionScores:
    """Accuracy and F1 with their intervals.

    The positive class is "insufficient", which a refusal says: a model that always answers has an
    accuracy of one half on equal numbers and an F1 of 0, as Table 4 shows for foundation models.

    Example:
        >>> scores = ReflectionScores.of([True, True, False, False], [True, False, False, False])
        >>> scores.accuracy.mean, round(scores.f1.mean, 3)
        (0.75, 0.667)
    """

    accuracy: Interval
    f1: Interval

    @classmethod
    def of(
        cls,
        insufficient: Sequence[bool],
        refused: Sequence[bool],
        questions: NDArray[np.int64] | None = None,
    ) -> ReflectionScores:
        """Compare what was given with what the model said, draft by draft.

        Args:
            insufficient: Whether references were left out.
            refused: Whether the model said so.
            questions: The number of each draft's question, which are resampled, see
                `skr_learn.evaluate.numbers_of`; None where no two drafts are of one question.

        Raises:
            InputError: The two differ in length.
        """
        if len(insufficient) != len(refused):
            raise InputError(f"{len(refused)} refusals for {len(insufficient)} questions")
        lack, said = np.array(insufficient, dtype=bool), np.array(refused, dtype=bool)
        groups = np.arange(len(lack)) if questions is None else questions
        return cls(
            accuracy=mean_by_question((lack == said).astype(np.float64), groups),
            # F1 = 2 TP / (2 TP + FP + FN) = 2 TP / (positives + predicted positives)
            f1=bootstrap_ratio(
                np.bincount(groups, weights=2.0 * (lack & said)).astype(np.float64),
                np.bincount(groups, weights=1.0 * lack + said).astype(np.float64),
            ),
        )
