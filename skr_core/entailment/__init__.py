"""Entailment models: does one text follow from another? One strategy a file.

An NLI cross-encoder is in `skr_core.models.cross_encoder`, because it needs torch.
"""

from skr_core.entailment.judge import JudgeEntailment
from skr_core.entailment.lexical import LexicalEntailment
from skr_core.entailment.remembering import RememberingEntailment

__all__ = ["JudgeEntailment", "LexicalEntailment", "RememberingEntailment"]
