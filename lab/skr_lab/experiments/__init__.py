"""The papers' experiments, each a dataclass of its fields whose `run` is the experiment."""

from skr_lab.experiment import Experiment
from skr_lab.experiments.adaptive import Adaptive
from skr_lab.experiments.certainty import Certainty
from skr_lab.experiments.knowledge import KnowledgePrecision, KnowledgeRecall
from skr_lab.experiments.recorded_certainty import RecordedCertainty
from skr_lab.experiments.recorded_reliance import RecordedReliance
from skr_lab.experiments.recorded_self_knowledge import RecordedSelfKnowledge
from skr_lab.experiments.reflection import RecordedReflection, Reflection
from skr_lab.experiments.reliance import Reliance, RelianceByCertainty
from skr_lab.experiments.replays import ReplayedLadder, ReplayedRouting
from skr_lab.experiments.retrieval import Corpora, RetrievalQuality
from skr_lab.experiments.routers import NeedTemplates, TrainingSize
from skr_lab.experiments.skr_tables import Baselines, RetrievalMethods, SelfKnowledgeTable

EXPERIMENTS: dict[str, type[Experiment]] = {
    each.name: each
    for each in (
        SelfKnowledgeTable,
        NeedTemplates,
        RetrievalMethods,
        TrainingSize,
        Corpora,
        RetrievalQuality,
        Baselines,
        KnowledgePrecision,
        KnowledgeRecall,
        Reflection,
        Certainty,
        Adaptive,
        Reliance,
        RelianceByCertainty,
        RecordedSelfKnowledge,
        RecordedReflection,
        RecordedCertainty,
        RecordedReliance,
        ReplayedRouting,
        ReplayedLadder,
    )
}
"""The experiments by name: SKR's, RaLLM's, W2R's, and those over recorded answers."""

__all__ = ["EXPERIMENTS"]
