"""The papers' prompt baselines, each a way to answer a question: SKR Table 1 and Table 5."""

from skr_lab.baselines.answering import PASSAGES, FlowAnswerer
from skr_lab.baselines.auto_cot import most_diverse, most_similar
from skr_lab.baselines.prompts import BASELINES_VERSION
from skr_lab.baselines.searching import PATHS, cot_rr, dsp
from skr_lab.baselines.table import BASELINES, BaselineInputs, make_baseline

__all__ = [
    "BASELINES",
    "BASELINES_VERSION",
    "PASSAGES",
    "PATHS",
    "BaselineInputs",
    "FlowAnswerer",
    "cot_rr",
    "dsp",
    "make_baseline",
    "most_diverse",
    "most_similar",
]
