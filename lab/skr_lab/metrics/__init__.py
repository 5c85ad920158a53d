"""Measures of the papers alone."""

from skr_lab.metrics.certainty import CertaintyScores
from skr_lab.metrics.reflection import ReflectionScores

__all__ = ["CertaintyScores", "ReflectionScores"]
