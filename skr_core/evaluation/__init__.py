"""Metrics and experiments: whether the loop and the router pay, on the user's own data."""

from skr_core.evaluation.answers import contains_gold, exact_match, normalise, token_f1
from skr_core.evaluation.certainty import CertaintyScores
from skr_core.evaluation.questions import Question, read_questions
from skr_core.evaluation.references import (
    all_titles,
    citation_precision,
    citation_recall,
    title_recall,
)
from skr_core.evaluation.routing import beneficial_guidance
from skr_core.evaluation.run import Report, Scores, evaluate
from skr_core.evaluation.statistics import Interval, bootstrap

__all__ = [
    "CertaintyScores",
    "Interval",
    "Question",
    "Report",
    "Scores",
    "all_titles",
    "beneficial_guidance",
    "bootstrap",
    "citation_precision",
    "citation_recall",
    "contains_gold",
    "evaluate",
    "exact_match",
    "normalise",
    "read_questions",
    "title_recall",
    "token_f1",
]
