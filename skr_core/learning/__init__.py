"""What routers learn from: signals known before retrieval, and regressions over them."""

from skr_core.learning.observed import Observed
from skr_core.learning.outcomes import ActionTable
from skr_core.learning.rows import Rows
from skr_core.learning.signals import Signals, Training

__all__ = ["ActionTable", "Observed", "Rows", "Signals", "Training"]
