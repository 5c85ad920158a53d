"""Data sets as their authors publish them, read from a local file; nothing is downloaded."""

from skr_core.evaluation.datasets.formats import FORMATS
from skr_core.evaluation.datasets.reading import read_dataset

__all__ = ["FORMATS", "read_dataset"]
