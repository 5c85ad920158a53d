"""The verdict of a judge: are the references sufficient, is an answer right, does a text follow?

A verdict is read strictly in meaning and forgivingly in form. A reply that repeats the question's
own alternatives ("right or wrong"), or says both, gives none.
"""

from __future__ import annotations

import re
from typing import get_args

from skr_core.patterns import lazy_pattern
from skr_core.ports import Entailment
from skr_core.replies.lists import has_bullets, list_items
from skr_core.texts import straight_quotes

_NEGATION = lazy_pattern(
    r"(?:\b(?:not|never|hardly|no|without)|n't)\s+(?:\w+\s+){0,1}$", re.IGNORECASE
)
_SUFFICIENT = lazy_pattern(r"\b(?P<denied>in)?sufficient\b", re.IGNORECASE)
_LABEL = r"[\W_]*(?:(?:final )?verdict|judge?ment|reply|answer)?[\W_]*"
# The same at the beginning of a line; the question's own alternatives repeated are no verdict.
_SUFFICIENT_LINE = lazy_pattern(
    rf"^{_LABEL}(?:(?P<not>not) )?(?P<denied>in)?sufficient\b(?!\W*(?:/|or\b))(?! (?:\w+ )?if\b)",
    re.IGNORECASE | re.MULTILINE,
)
_BOTH = lazy_pattern(r"\b(?:in)?sufficient\W*(?:/|\bor\b)\W*(?:in)?sufficient\b", re.IGNORECASE)
_MARKS = " \t\r\n:,.;*_-–—\"'"

_RIGHT = r"(?:(?P<right>right|correct)|wrong|incorrect)\b"
_NO_ECHO = r"(?!\W*(?:/|or\b|answers?\b))"
_RIGHT_OPENING = lazy_pattern(rf"{_LABEL}(?:(?P<not>not) )?{_RIGHT}{_NO_ECHO}", re.IGNORECASE)
_RIGHT_SENTENCE = lazy_pattern(
    r"(?:^|[.!?:,\n]|\b(?:so|thus|therefore|hence|that))\W*"
    r"(?:(?:the|this|that|its) )?(?:given )?(?:answer|it) (?:is|was) "
    rf"(?:(?P<not>not) )?\W*{_RIGHT}{_NO_ECHO}",
    re.IGNORECASE,
)
_ENTAILMENTS: dict[str, Entailment] = {each: each for each in get_args(Entailment)}
_ENTAILMENT_OPENING = lazy_pattern(
    rf"{_LABEL}(?P<word>{'|'.join(_ENTAILMENTS)})\b(?=[\W_]*(?:$|\n)|[*_\"'`]*\s?[.:;–—(-])",
    re.IGNORECASE,
)


def parse_sufficient(text: str) -> tuple[bool, str] | None:
    """Whether the references suffice, and what is missing; None where a reply says neither.

    A line that begins with the verdict outweighs one in running prose, and the last counts in
    either case, because a model that thinks aloud concludes at the end.

    Args:
        text: The reply to `skr_core.prompts.judging.ask_is_sufficient`.

    Example:
        >>> parse_sufficient("Insufficient: the director's birthplace")
        (False, "the director's birthplace")
        >>> parse_sufficient("They are sufficient.")
        (True, '')
    """
    said = straight_quotes(text)
    said = _BOTH.sub(lambda echo: " " * len(echo.group()), said)
    lines = [*_SUFFICIENT_LINE.finditer(said)]
    stated = lines or [*_SUFFICIENT.finditer(said)]
    if not stated:
        return None
    last = stated[-1]
    denied = last.group("denied") or last.groupdict().get("not")
    if not denied and not lines:
        denied = _NEGATION.search(said[max(0, last.start() - 40) : last.start()])
    return (False, _missing(text[last.end() :])) if denied else (True, "")


def _missing(rest: str) -> str:
    """What a reply names behind its verdict, on one line: its line, or the list below it."""
    beside, _, below = rest.partition("\n")
    items = [beside.strip(_MARKS)]
    if has_bullets(below) or not items[0]:
        items += list_items(below)
    return "; ".join(filter(None, items))


def parse_right(text: str) -> bool | None:
    """Whether a judge finds an answer right; None where its reply does not say.

    The verdict is the reply's first word, or a sentence such as "The given answer is wrong"; the
    last such sentence counts.

    Args:
        text: The reply to `skr_core.prompts.judging.ask_is_right`.

    Example:
        >>> parse_right("Wrong: it was Bob.")
        False
        >>> parse_right("It may be right or wrong.") is None
        True
    """
    opening = _RIGHT_OPENING.match(text)
    found = [opening] if opening else [*_RIGHT_SENTENCE.finditer(text)]
    if not found:
        return None
    stated = found[-1]
    return (stated.group("right") is not None) is (stated.group("not") is None)


def parse_entailment(text: str) -> Entailment | None:
    """The verdict on a premise and a hypothesis: the word that a reply begins with, alone.

    Anything else is no verdict, for example a denial or a sentence that names the word.

    Args:
        text: The reply to `skr_core.prompts.judging.ask_entailment`.

    Example:
        >>> parse_entailment("**Entailment.** The premise says so.")
        'entailment'
        >>> parse_entailment("It is not entailment") is None
        True
    """
    opening = _ENTAILMENT_OPENING.match(text)
    return None if opening is None else _ENTAILMENTS[opening.group("word").lower()]
