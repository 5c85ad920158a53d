"""The papers' prompt baselines, each a way to answer a question: SKR Table 1 and Table 5."""

from skr_lab.baselines.auto_cot import most_diverse, most_similar
from skr_lab.baselines.parts import FlowAnswerer
from skr_lab.baselines.table import BASELINES, BaselineInputs, make_baseline

__all__ = [
    "BASELINES",
    "BaselineInputs",
    "FlowAnswerer",
    "make_baseline",
    "most_diverse",
    "most_similar",
]
