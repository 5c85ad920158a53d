"""Key-facts of a question: made by a model, reviewed by a person, frozen (RaLLM §3)."""

from skr_lab.key_facts.making import (
    KEY_FACTS_VERSION,
    KeyFacts,
    WorkedSteps,
    make_key_facts,
    read_worked_steps,
    remarks_on,
)
from skr_lab.key_facts.review import (
    HEADER,
    accept,
    freeze,
    read_review,
    review_block,
    with_key_facts,
)

__all__ = [
    "HEADER",
    "KEY_FACTS_VERSION",
    "KeyFacts",
    "WorkedSteps",
    "accept",
    "freeze",
    "make_key_facts",
    "read_review",
    "read_worked_steps",
    "remarks_on",
    "review_block",
    "with_key_facts",
]
