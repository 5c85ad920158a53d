"""The expected benefit of retrieval, learnt by kernel ridge regression."""

from skr_core.benefit.kernel import Kernel
from skr_core.benefit.landmarks import LandmarkRidge
from skr_core.benefit.ridge import ExactRidge

__all__ = ["ExactRidge", "Kernel", "LandmarkRidge"]
