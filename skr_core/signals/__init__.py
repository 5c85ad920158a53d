"""What is known before retrieval, as numbers that routers learn from."""

from skr_core.signals.observed import Observed
from skr_core.signals.rows import Rows, TextEmbedder
from skr_core.signals.signals import Signals, Training

__all__ = ["Observed", "Rows", "Signals", "TextEmbedder", "Training"]
