"""A language model without weights: it quotes the sentences that carry the answer.

A baseline for trying everything without a key or a network, and for tests. `ExtractiveModel` is
announced as the model named ``extractive``, see `skr_core.registry`.
"""

from skr_app.extractive.evidence import (
    MAX_QUOTES,
    Quotes,
    Sentence,
    choose_quotes,
    is_sufficient,
    read_sentences,
)
from skr_app.extractive.follow_up import follow_up_queries
from skr_app.extractive.model import (
    NAME,
    THRESHOLD,
    ExtractiveModel,
    LexicalEntailment,
    Memory,
    is_extractive,
    load_extractive,
)
from skr_app.extractive.text import content_words, fits, names, read_lines

__all__ = [
    "MAX_QUOTES",
    "NAME",
    "THRESHOLD",
    "ExtractiveModel",
    "LexicalEntailment",
    "Memory",
    "Quotes",
    "Sentence",
    "choose_quotes",
    "content_words",
    "fits",
    "follow_up_queries",
    "is_extractive",
    "is_sufficient",
    "load_extractive",
    "names",
    "read_lines",
    "read_sentences",
]
