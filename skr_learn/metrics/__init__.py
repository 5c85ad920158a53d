"""Measures of answers and of routing, and their intervals."""

from skr_learn.metrics.bootstrapping import (
    Interval,
    bootstrap,
    bootstrap_ratio,
    bootstrap_sums,
    mean_by_question,
    normal_interval,
)
from skr_learn.metrics.chances import TOLD, Reliability, Surest, calibration_error
from skr_learn.metrics.titles import (
    all_titles,
    citation_precision,
    citation_recall,
    facts_within,
    resolvable,
    supporting_fact_recall,
    title_recall,
)

__all__ = [
    "TOLD",
    "Interval",
    "Reliability",
    "Surest",
    "all_titles",
    "bootstrap",
    "bootstrap_ratio",
    "bootstrap_sums",
    "calibration_error",
    "citation_precision",
    "citation_recall",
    "facts_within",
    "mean_by_question",
    "normal_interval",
    "resolvable",
    "supporting_fact_recall",
    "title_recall",
]
