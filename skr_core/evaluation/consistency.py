"""Self-consistency: whether each cited sentence follows from what it cites (RaLLM §4.2)."""

from __future__ import annotations

from collections.abc import Sequence

from skr_core.citations import without_markers
from skr_core.evaluation.key_facts import Pair, verdicts_of
from skr_core.flow import Flow
from skr_core.ports import Entailment, EntailmentModel
from skr_core.types import Answer


def consistency_pairs(answer: Answer) -> list[Pair]:
    """(Concat(C_i), s_i) for each sentence s_i with citations C_i.

    Sentences that cite nothing are not among them; nor are those that are nothing but markers.
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


def judge_consistency(model: EntailmentModel, answer: Answer) -> Flow[float | None]:
    """Judge one answer; None where the judge failed."""
    return self_consistency((yield from verdicts_of(model, consistency_pairs(answer))))
