"""Metrics and experiments: whether the loop and the router pay, on the user's own data."""

from skr_core.evaluation.answers import contains_gold, exact_match, normalise, token_f1
from skr_core.evaluation.asking import Answers, Asked, System, ask_all
from skr_core.evaluation.certainty import CertaintyScores
from skr_core.evaluation.choices import choice_match, chosen
from skr_core.evaluation.consistency import consistency_pairs, self_consistency
from skr_core.evaluation.facts import facts_within, supporting_fact_recall
from skr_core.evaluation.journal import Journal
from skr_core.evaluation.key_facts import (
    KeyFactScores,
    harmonic_mean,
    judge_key_facts,
    key_fact_pairs,
    key_fact_scores,
)
from skr_core.evaluation.measuring import Judged, judge_all
from skr_core.evaluation.prices import Price, cost, read_prices
from skr_core.evaluation.questions import Context, Question, corpus_of, read_questions
from skr_core.evaluation.references import (
    all_titles,
    citation_precision,
    citation_recall,
    title_recall,
)
from skr_core.evaluation.reflection import ReflectionScores
from skr_core.evaluation.reliance import corruption_rate, overlap, relies, utilisation_ratio
from skr_core.evaluation.routing import beneficial_guidance
from skr_core.evaluation.run import Report, Scores, evaluate
from skr_core.evaluation.statistics import Interval, bootstrap, bootstrap_ratio
from skr_core.evaluation.tables import Comparison, Result, Row, to_markdown

__all__ = [
    "Answers",
    "Asked",
    "CertaintyScores",
    "Comparison",
    "Context",
    "Interval",
    "Journal",
    "Judged",
    "KeyFactScores",
    "Price",
    "Question",
    "ReflectionScores",
    "Report",
    "Result",
    "Row",
    "Scores",
    "System",
    "all_titles",
    "ask_all",
    "beneficial_guidance",
    "bootstrap",
    "bootstrap_ratio",
    "choice_match",
    "chosen",
    "citation_precision",
    "citation_recall",
    "consistency_pairs",
    "contains_gold",
    "corpus_of",
    "corruption_rate",
    "cost",
    "evaluate",
    "exact_match",
    "facts_within",
    "harmonic_mean",
    "judge_all",
    "judge_key_facts",
    "key_fact_pairs",
    "key_fact_scores",
    "normalise",
    "overlap",
    "read_prices",
    "read_questions",
    "relies",
    "self_consistency",
    "supporting_fact_recall",
    "title_recall",
    "to_markdown",
    "token_f1",
    "utilisation_ratio",
]
