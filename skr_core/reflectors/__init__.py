"""Reflectors: do the references suffice for this draft? One strategy a file."""

from skr_core.reflectors.entailment import EntailmentReflector
from skr_core.reflectors.judge import JudgeReflector
from skr_core.reflectors.refusal import RefusalReflector

__all__ = ["EntailmentReflector", "JudgeReflector", "RefusalReflector"]
