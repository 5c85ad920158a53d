"""Metrics of an answer's claims, which a judge of entailment decides (RaLLM §4).

Key-facts: whether an answer says what is needed to reach it (§4.1). Self-consistency: whether each
cited sentence follows from what it cites (§4.2). The pairs to be judged are made by pure functions;
a judge that gives no verdict for any of them makes the question a failed one, never a wrong one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from skr_core.flow import Flow, call
from skr_core.ports import Entailment, EntailmentModel
from skr_core.references.citations import without_markers
from skr_core.texts import split_sentences
from skr_core.types import Answer
from skr_learn.metrics.statistics import Interval, bootstrap_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    """What has to be judged: the whole answer with each fact, then each sentence with each fact.

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
        key_facts: K.

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
        >>> from skr_core.reflectors import LexicalEntailment
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
        verdicts: Of `consistency_pairs`.

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
