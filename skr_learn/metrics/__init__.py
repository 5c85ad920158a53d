"""Measures of answers and of routing, and their intervals."""

from skr_learn.metrics.bootstrapping import (
    Interval,
    bootstrap,
    bootstrap_ratio,
    bootstrap_sums,
    normal_interval,
)
from skr_learn.metrics.chances import TOLD, Reliability, Surest, calibration_error
from skr_learn.metrics.decisions import (
    PARITY,
    accuracy_by_rate,
    area_contributions,
    beneficial_guidance,
    corruption_rate,
    guidance,
    mean_of_ties,
    saved_at_parity,
)
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
    "PARITY",
    "TOLD",
    "Interval",
    "Reliability",
    "Surest",
    "accuracy_by_rate",
    "all_titles",
    "area_contributions",
    "beneficial_guidance",
    "bootstrap",
    "bootstrap_ratio",
    "bootstrap_sums",
    "calibration_error",
    "citation_precision",
    "citation_recall",
    "corruption_rate",
    "facts_within",
    "guidance",
    "mean_of_ties",
    "normal_interval",
    "resolvable",
    "saved_at_parity",
    "supporting_fact_recall",
    "title_recall",
]
