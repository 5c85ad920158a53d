"""Routers: does this question need retrieval? One strategy a file."""

from skr_core.routers.certainty_level import CertaintyLevelRouter
from skr_core.routers.classifier import ClassifierRouter
from skr_core.routers.combined import CombinedRouter
from skr_core.routers.confidence import Assessment, ConfidenceRouter
from skr_core.routers.constant import AlwaysRetrieve, NeverRetrieve
from skr_core.routers.in_context import InContextRouter
from skr_core.routers.knn import KNNRouter
from skr_core.routers.prompt import PromptRouter
from skr_core.routers.saving import load_router
from skr_core.routers.uncertainty import UncertaintyRouter

__all__ = [
    "AlwaysRetrieve",
    "Assessment",
    "CertaintyLevelRouter",
    "ClassifierRouter",
    "CombinedRouter",
    "ConfidenceRouter",
    "InContextRouter",
    "KNNRouter",
    "NeverRetrieve",
    "PromptRouter",
    "UncertaintyRouter",
    "load_router",
]
