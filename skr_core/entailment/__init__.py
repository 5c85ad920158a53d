"""Entailment models: does one text follow from another? One strategy a file.

Those that need torch are in `skr_core.models`: an NLI cross-encoder (`cross_encoder`), and the T5
that the papers measure with (`t5_entailment`).
"""

from skr_core.entailment.judge import JudgeEntailment
from skr_core.entailment.lexical import LexicalEntailment
from skr_core.entailment.remembering import RememberingEntailment

__all__ = ["JudgeEntailment", "LexicalEntailment", "RememberingEntailment"]
