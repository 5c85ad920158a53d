"""Data sets as their authors publish them, read from a local file; nothing is downloaded."""

from functools import partial

from skr_lab.datasets.formats import FORMATS
from skr_lab.datasets.reading import read_dataset

__all__ = ["FORMATS", "read_dataset"]


def __getattr__(name: str) -> object:
    """The reader of a data set, by which `skr_core.registry` finds it."""
    if name.removeprefix("read_") in FORMATS:
        return partial(read_dataset, name.removeprefix("read_"))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
