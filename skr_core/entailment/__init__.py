"""Entailment models: does one text follow from another?"""

from skr_core.entailment.judge import JudgeEntailment

__all__ = ["JudgeEntailment"]
