"""Reading whether a reply asks for help (SKR §3.2, Table 2)."""

from __future__ import annotations

import re

from skr_core.patterns import lazy_pattern
from skr_core.replies.certainty import DOES_NOT_KNOW
from skr_core.replies.conclusion import CONCLUSION, conclusion
from skr_core.texts import straight_quotes


def parse_need(text: str, *, yes_means_unknown: bool) -> bool | None:
    """Whether a reply says that the model needs retrieval; None where it says neither.

    A reply that begins with yes or no is read by the question's polarity. One that does not is read
    by what it says of needing and of being able, which means the same after every question. Nothing
    raises.

    Args:
        text: The reply.
        yes_means_unknown: What a yes means to the question that was asked.

    Example:
        >>> parse_need("No, I don't need additional information.", yes_means_unknown=True)
        False
        >>> parse_need("No, this is not solvable.", yes_means_unknown=False)
        True
        >>> parse_need("I need more information.", yes_means_unknown=False)
        True
        >>> parse_need("Perhaps.", yes_means_unknown=True) is None
        True
    """
    said = " ".join(straight_quotes(text).split())
    opening = _OPENING.match(conclusion(said) or "") or _OPENING.match(said)
    if opening:
        return (opening.group("no") is None) == yes_means_unknown
    return next((need for pattern, need in _PHRASES if pattern.search(said)), None)


_OPENING = lazy_pattern(
    r"(?:\W|A:|Answer:)*"
    r"(?:(?P<no>no(?! idea| clue)|nope|nah|not (?:really|necessarily|at all)"
    r"|(?:of course|certainly|definitely|absolutely) not)"
    r"|yes|yeah|yep|sure|of course|certainly|definitely|absolutely)\b"
    # "Yes or no", "yes/no": the question's own words.
    r"(?! ?(?:/|\bor\b|\band\b) ?(?:yes|no)\b)",
    re.IGNORECASE,
)
_MORE = r"(?:additional|further|more|extra|external|information|context|clues?|prompts?|help)"
# In this order: "I cannot answer it, and I don't need ..." is still a question not answered.
_PHRASES = (
    (
        re.compile(
            r"\b(?:cannot|can't|can not|could not|couldn't|unable to|not able to) (?:\w+ )?"
            r"(?:answer|solve)\b|\bnot (?:\w+ )?(?:answerable|solvable)\b"
            rf"|{DOES_NOT_KNOW}",
            re.IGNORECASE,
        ),
        True,
    ),
    (
        re.compile(
            r"\b(?:do not|don't|does not|doesn't|no|not) (?:\w+ ){0,2}?(?:need|require|want)"
            rf"|\b{_MORE} (?:\w+ )?(?:is not|isn't|are not|aren't) (?:needed|required|necessary)"
            rf"|\b(?:needs? no|without (?:any )?{_MORE})\b",
            re.IGNORECASE,
        ),
        False,
    ),
    (
        re.compile(
            rf"\b(?:need|require|want|like)s? (?:\w+ ){{0,3}}?{_MORE}"
            rf"|\b{_MORE} (?:\w+ ){{0,2}}?(?:is|are|would be) (?:\w+ )?"
            r"(?:needed|required|necessary|helpful)",
            re.IGNORECASE,
        ),
        True,
    ),
    (
        re.compile(
            rf"\bI (?:can|am able to) (?:\w+ )?(?:answer|solve)\b|{CONCLUSION.pattern}",
            re.IGNORECASE,
        ),
        False,
    ),
)
