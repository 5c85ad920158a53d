"""What routers learn from: signals known before retrieval, and regressions over them."""

from skr_learn.learning.observed import Observed
from skr_learn.learning.outcomes import ActionTable
from skr_learn.learning.rows import Rows
from skr_learn.learning.signals import Signals, Training

__all__ = ["ActionTable", "Observed", "Rows", "Signals", "Training"]
