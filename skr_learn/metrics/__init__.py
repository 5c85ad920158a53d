"""Measures of answers, and their intervals."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skr_learn.metrics.claims import KeyFactScores as KeyFactScores
    from skr_learn.metrics.claims import consistency_pairs as consistency_pairs
    from skr_learn.metrics.claims import f1_of_means as f1_of_means
    from skr_learn.metrics.claims import harmonic_mean as harmonic_mean
    from skr_learn.metrics.claims import key_fact_pairs as key_fact_pairs
    from skr_learn.metrics.claims import key_fact_scores as key_fact_scores
    from skr_learn.metrics.claims import self_consistency as self_consistency
    from skr_learn.metrics.claims import verdicts_of as verdicts_of
    from skr_learn.metrics.references import all_titles as all_titles
    from skr_learn.metrics.references import citation_precision as citation_precision
    from skr_learn.metrics.references import citation_recall as citation_recall
    from skr_learn.metrics.references import facts_within as facts_within
    from skr_learn.metrics.references import supporting_fact_recall as supporting_fact_recall
    from skr_learn.metrics.references import title_recall as title_recall
    from skr_learn.metrics.reliance import corruption_rate as corruption_rate
    from skr_learn.metrics.reliance import overlap as overlap
    from skr_learn.metrics.reliance import relies as relies
    from skr_learn.metrics.reliance import utilisation_ratio as utilisation_ratio
    from skr_learn.metrics.routing import beneficial_guidance as beneficial_guidance
    from skr_learn.metrics.statistics import Interval as Interval
    from skr_learn.metrics.statistics import bootstrap as bootstrap
    from skr_learn.metrics.statistics import bootstrap_ratio as bootstrap_ratio
    from skr_learn.metrics.statistics import bootstrap_sums as bootstrap_sums

_MODULES = {
    "Interval": "skr_learn.metrics.statistics",
    "KeyFactScores": "skr_learn.metrics.claims",
    "all_titles": "skr_learn.metrics.references",
    "beneficial_guidance": "skr_learn.metrics.routing",
    "bootstrap": "skr_learn.metrics.statistics",
    "bootstrap_ratio": "skr_learn.metrics.statistics",
    "bootstrap_sums": "skr_learn.metrics.statistics",
    "citation_precision": "skr_learn.metrics.references",
    "citation_recall": "skr_learn.metrics.references",
    "consistency_pairs": "skr_learn.metrics.claims",
    "corruption_rate": "skr_learn.metrics.reliance",
    "f1_of_means": "skr_learn.metrics.claims",
    "facts_within": "skr_learn.metrics.references",
    "harmonic_mean": "skr_learn.metrics.claims",
    "key_fact_pairs": "skr_learn.metrics.claims",
    "key_fact_scores": "skr_learn.metrics.claims",
    "overlap": "skr_learn.metrics.reliance",
    "relies": "skr_learn.metrics.reliance",
    "self_consistency": "skr_learn.metrics.claims",
    "supporting_fact_recall": "skr_learn.metrics.references",
    "title_recall": "skr_learn.metrics.references",
    "utilisation_ratio": "skr_learn.metrics.reliance",
    "verdicts_of": "skr_learn.metrics.claims",
}

__all__ = [
    "Interval",
    "KeyFactScores",
    "all_titles",
    "beneficial_guidance",
    "bootstrap",
    "bootstrap_ratio",
    "bootstrap_sums",
    "citation_precision",
    "citation_recall",
    "consistency_pairs",
    "corruption_rate",
    "f1_of_means",
    "facts_within",
    "harmonic_mean",
    "key_fact_pairs",
    "key_fact_scores",
    "overlap",
    "relies",
    "self_consistency",
    "supporting_fact_recall",
    "title_recall",
    "utilisation_ratio",
    "verdicts_of",
]


def __getattr__(name: str) -> object:
    """Import what is asked for: nobody pays for what is not used."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
