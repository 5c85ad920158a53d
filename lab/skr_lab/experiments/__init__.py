"""The papers' experiments, each as conditions that are asked the same questions."""

from skr_lab.experiments.conditions import EXPERIMENTS, Experiment
from skr_lab.experiments.retrieval_quality import RankSlice, half_of
from skr_lab.experiments.training_size import FRACTIONS, training_size

__all__ = ["EXPERIMENTS", "FRACTIONS", "Experiment", "RankSlice", "half_of", "training_size"]
