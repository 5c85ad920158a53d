"""Every reading of what a language model wrote.

Collection, routing, the loop and evaluation share these readings. Model output is untrusted:
anything may come, nothing raises, and a reading takes time in proportion to the reply's length.

| module | what it reads |
|---|---|
| `reply` | a reply to a prompt with references, whole or as it arrives |
| `opening` | what a reply begins with: thoughts, and the line that states the verdict |
| `unwrapping` | the answer within JSON, a fence, labels and queries |
| `queries` | what to search next (RaLLM §5.2), and the items of lists |
| `refusals` | whether the model refuses, or says that it does not know (RaLLM §5.1) |
| `wording` | the patterns of refusals, in six languages |
| `knowledge` | those of a writer that does not know, where it was given no references |
| `guesses` | whether one that doubts names an answer all the same |
| `certainty` | the answer, its certainty (W2R), and whether the model asks for help (SKR) |
| `judgements` | whether an answer is right: the option that it chooses, a judge's verdict |
| `questions` | a question and its answer, where a model was asked to write them |
"""

from importlib import import_module
from typing import TYPE_CHECKING

from skr_core.replies.opening import ThoughtFilter, strip_thoughts
from skr_core.replies.queries import (
    MAX_QUERY_CHARACTERS,
    has_bullets,
    list_items,
    not_asked,
    parse_facts,
    parse_queries,
    without_bullet,
)
from skr_core.replies.refusals import (
    LONGEST_OPENING,
    find_gaps,
    is_refusal,
    language_of,
    may_become_refusal,
    opens_like_refusal,
    refuse,
    say_partial,
    says_unknown,
    without_notice,
)
from skr_core.replies.reply import Reply, VerdictStream, cited_numbers, read_reply
from skr_core.replies.unwrapping import unfenced

if TYPE_CHECKING:
    from skr_core.replies.certainty import (
        Certainty,
        conclusion,
        final_answer,
        parse_certainty,
        parse_need,
    )
    from skr_core.replies.judgements import (
        choice_match,
        chosen,
        implied_choices,
        parse_entailment,
        parse_right,
        parse_sufficient,
    )

__all__ = [
    "LONGEST_OPENING",
    "MAX_QUERY_CHARACTERS",
    "Certainty",
    "Reply",
    "ThoughtFilter",
    "VerdictStream",
    "choice_match",
    "chosen",
    "cited_numbers",
    "conclusion",
    "final_answer",
    "find_gaps",
    "has_bullets",
    "implied_choices",
    "is_refusal",
    "language_of",
    "list_items",
    "may_become_refusal",
    "not_asked",
    "opens_like_refusal",
    "parse_certainty",
    "parse_entailment",
    "parse_facts",
    "parse_need",
    "parse_queries",
    "parse_right",
    "parse_sufficient",
    "read_reply",
    "refuse",
    "say_partial",
    "says_unknown",
    "strip_thoughts",
    "unfenced",
    "without_bullet",
    "without_notice",
]

_LAZY = {
    "Certainty": "certainty",
    "choice_match": "judgements",
    "chosen": "judgements",
    "conclusion": "certainty",
    "final_answer": "certainty",
    "implied_choices": "judgements",
    "parse_certainty": "certainty",
    "parse_entailment": "judgements",
    "parse_need": "certainty",
    "parse_right": "judgements",
    "parse_sufficient": "judgements",
}


def __getattr__(name: str) -> object:
    """Import the readings of routers and judges when they are asked for: a loop needs neither."""
    if name in _LAZY:
        return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
