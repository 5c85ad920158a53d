"""Whether a reply refuses (RaLLM §5.1), and whether it says that the model does not know."""

from __future__ import annotations

import re

from skr_core.replies.certainty import DOES_NOT_KNOW, parse_certainty
from skr_core.texts import MARKER, straight_quotes

LONGEST_OPENING = 400
"""Characters in which a first sentence is expected to end."""

_CANNOT = r"(?:cannot|can\s?not|can't|could not|couldn't|(?:am |was )?(?:unable|not able) to)"
_GIVEN = r"\b(?:references|information|passages|sources|context|documents)\b"
_KIND = r"\b(?:provided|given|available|current|these|the|supplied)\s+"
_APOLOGY = (
    r"(?:(?:I'm|I am|we're|we are)(?: very| so)? sorry|sorry|I apologi[sz]e|unfortunately"
    r"|my apologies)"
)
# The sentence that was asked for, and the ways in which models put it in words of their own.
_REFUSAL = re.compile(
    rf"\b{_CANNOT}\s+(?:fully\s+|be\s+)?(?:answer|answered|determine|determined|found|find|inferred)"
    rf"\b[^.\n]{{0,80}}{_KIND}(?:\w+\s+)?{_GIVEN}"
    rf"|{_GIVEN}[^.\n]{{0,30}}\b(?:do|does)(?: not|n't)\s+"
    r"(?:contain|provide|include|have|give|offer)\b[^.\n]{0,60}\b(?:enough|sufficient|to answer)\b"
    rf"|{_GIVEN}\s+(?:is|are)\s+(?:insufficient|not sufficient|not enough)\b",
    re.IGNORECASE,
)
# What refuses as the beginning of a reply that cites nothing.
_OPENING_REFUSAL = re.compile(
    rf"\W*(?:{_APOLOGY}\W+(?:but\W+)?)?(?:"
    rf"(?:the\s+(?:\w+\s+)?{_GIVEN}[^.\n]{{0,30}}\b(?:do|does)(?: not|n't)"
    rf"|none of the\s+(?:\w+\s+)?{_GIVEN})\s+(?:\w+\s+)?"
    r"(?:mention|say|state|specif|contain|provide|include|give|indicate|tell|answer)"
    r"|there(?: is| are|'s)\s+(?:not enough|insufficient|no)\s+(?:\w+\s+)?information\b"
    r"|(?:not enough|insufficient)\s+information\b"
    r"|(?:I am |I'm )?unable to (?:answer|determine)\b)",
    re.IGNORECASE,
)
# What refuses as the whole of a reply.
_WHOLE_REFUSAL = re.compile(
    rf"\W*(?:{_APOLOGY}\W+(?:but\W+)?)?(?:I\s+{_CANNOT}\s+answer(?:\s+(?:it|this|that|the|your))?"
    rf"(?:\s+question)?|(?:{DOES_NOT_KNOW})(?:\s+the answer)?(?:\s+to\s+[^.!?\n]{{0,200}})?)\W*",
    re.IGNORECASE,
)
_UNKNOWN = re.compile(
    r"\W*(?:(?:it|that|this|the answer) is )?unknown(?: to me)?\W*", re.IGNORECASE
)
_MARKERS = re.compile(MARKER)
# How refusals begin in practice; whether such a sentence is one is known at its end.
_REFUSAL_OPENERS = (
    "i'm sorry",
    "i am sorry",
    "i apologi",
    "my apologies",
    "sorry",
    "unfortunately",
    "i cannot",
    "i can't",
    "i can not",
    "i could",
    "i do not",
    "i don't",
    "i have no",
    "i really",
    "i honestly",
    "i am unable",
    "i'm unable",
    "i am not able",
    "i was unable",
    "unable to",
    "no idea",
    "no clue",
    "based on the",
    "the references",
    "the provided",
    "the given",
    "the available",
    "the current",
    "the supplied",
    "the retrieved",
    "the passages",
    "the information",
    "the context",
    "the sources",
    "the documents",
    "none of the",
    "there is no",
    "there's no",
    "there is insufficient",
    "there are no",
    "not enough",
    "insufficient information",
    "the answer cannot",
    "the question cannot",
    "this question cannot",
    "this cannot",
    "it cannot",
)
_SENTENCE_ENDED = re.compile(r"[.!?](?:\s|$)")
_WRAPPING = " \t\"'`<>*_"


def is_refusal(text: str) -> bool:
    """Whether a reply says that the references are insufficient, or answers nothing at all.

    An answer that names a gap is none: what it cites is an answer.

    Args:
        text: The reply; an empty one refuses.

    Example:
        >>> is_refusal("I’m sorry, I cannot answer the question based on the provided references.")
        True
        >>> is_refusal("I don't know.")
        True
        >>> is_refusal("Paris [1].")
        False
    """
    said = straight_quotes(text)
    if not said.strip() or _REFUSAL.search(said) or _WHOLE_REFUSAL.fullmatch(said):
        return True
    return _OPENING_REFUSAL.match(said) is not None and _MARKERS.search(said) is None


def may_become_refusal(beginning: str) -> bool:
    """Whether a reply that begins like this refuses, or may yet do so in its first sentence.

    An opening of more than `LONGEST_OPENING` characters that does not refuse is taken for an
    answer.

    Args:
        beginning: What a model has written so far.

    Example:
        >>> may_become_refusal("I am sorry, but"), may_become_refusal("Paris is")
        (True, False)
    """
    if is_refusal(beginning):
        return True
    said = " ".join(straight_quotes(beginning).lower().split()).lstrip(_WRAPPING)
    if len(said) > LONGEST_OPENING:
        return False
    opens = any(said.startswith(each) or each.startswith(said) for each in _REFUSAL_OPENERS)
    return opens and not _SENTENCE_ENDED.search(said)


def says_unknown(answer: str) -> bool:
    """Whether an answer says that the model does not know, or is not sure.

    Args:
        answer: What the model answers without references.

    Example:
        >>> says_unknown("I don't know."), says_unknown("I'm not sure, but I think it is Paris.")
        (True, True)
        >>> says_unknown("Paris.")
        False
    """
    if is_refusal(answer) or _UNKNOWN.fullmatch(answer):
        return True
    return parse_certainty(answer).certain is False
