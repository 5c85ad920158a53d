"""The question that a reply holds, where a model was asked to rewrite one without its conversation.

Models think aloud before it, label it, wrap it up and explain it. What is no such question, an
answer or a refusal among others, is not taken for one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from skr_core.patterns import lazy_pattern
from skr_core.replies.enclosed import unfenced
from skr_core.replies.lists import without_bullet
from skr_core.replies.refusal import is_refusal
from skr_core.replies.thoughts import strip_thoughts
from skr_core.texts import straight_quotes, words

LONGEST = 300
"""Characters of a question; a reply may also be twice as long as what it rewrites."""

MOST_LINES = 40
"""Lines that are looked at, from the end."""

SHORT = 3
"""Letters of a word that may be of grammar alone."""

_WRAPPING = " \t\"'“”„‘’`<>*_[]「」『』«»#"
_KIND = (
    r"(?:stand-?\s?alone|rewritten|rephrased|reformulated|condensed|revised|self-contained|final"
    r"|search|eigenständige|umformulierte|autonome|reformulée|independiente|reformulada)"
)
# "Standalone question:", "So the rewritten question would be:".
_LABEL = lazy_pattern(
    rf"(?:\b{_KIND}[ -]?)?(?<!\w)(?:question|query|version|frage|pregunta)"
    rf"(?: {_KIND})?(?: (?:is|would be|ist|lautet|est|es|sería))?[*_\"' ]{{0,4}}[:：][*_ \t]*"
    r"|(?:独立|獨立|改写|改寫|重写|重寫|书き直|書き直)[^\n:：]{0,12}[:：][*_ \t]*"
    r"|(?:質問|问题|問題)[:：][*_ \t]*",
    re.IGNORECASE,
)
_NAMED = lazy_pattern(r"question|query|stand|rewrit|condens", re.IGNORECASE)
_ASKS = ("?", "？")
_STATES = (".", "!", "。", "！")
_REMARK = lazy_pattern(
    r"(?:sure|certainly|of course|okay|ok|here (?:is|are)|hier ist|voici|aquí|explanation|note"
    r"|the (?:user|question|word|pronoun|conversation)|since|because|i (?:have|replaced|rewrote)"
    r"|let me|first|this |user|assistant)\b.*|.*[:：]",
    re.IGNORECASE,
)


def read_condensed(text: str, question: str, turns: Sequence[str]) -> str:
    """The rewritten question, on one line; empty where the reply holds none.

    Args:
        text: The reply.
        question: What was to be rewritten.
        turns: Of the conversation: a rewritten question shares a word with them or the question.

    Example:
        >>> said = 'Sure! **Standalone question:** "How old is Paris?"'
        >>> read_condensed(said, "How old?", ["Capital of France?", "Paris."])
        'How old is Paris?'
        >>> read_condensed("Paris is about 2,000 years old.", "How old?", ["Paris?", "Yes."])
        ''
    """
    said = unfenced(strip_thoughts(text)).strip()
    asked = bool(question.rstrip().endswith(_ASKS))
    for line in _candidates(said):
        found = " ".join(without_bullet(line.strip(_WRAPPING)).strip(_WRAPPING).split())
        if _is_usable(found, question, turns, asked=asked):
            return found
    return ""


def _candidates(said: str) -> list[str]:
    """What may be the question, the likeliest first."""
    if (value := _json_value(said)) is not None:
        return [value]
    lines = [line.strip() for line in said.splitlines() if line.strip()][-MOST_LINES:]
    labelled: list[str] = []
    for place, line in enumerate(lines):
        if label := list(_LABEL.finditer(line[: 4 * LONGEST])):
            behind = line[label[-1].end() :].strip(_WRAPPING)
            labelled.append(behind or (lines[place + 1] if place + 1 < len(lines) else ""))
    plain = [line for line in lines if not _REMARK.fullmatch(straight_quotes(line.strip("*_ ")))]
    asking = [line for line in plain if line.rstrip(_WRAPPING).endswith(_ASKS)]
    # Who thinks aloud comes to the question at the end.
    return [*reversed(labelled), *reversed(asking), *(plain if len(plain) == 1 else ())]


def _json_value(said: str) -> str | None:
    start, end = said.find("{"), said.rfind("}")
    if start != 0 or end < start:
        return None
    try:
        read = json.loads(said[: end + 1])
    except (ValueError, RecursionError):
        return None
    texts = {key: value for key, value in read.items() if isinstance(value, str)}
    named = [value for key, value in texts.items() if _NAMED.search(key)]
    return next(iter([*named, *reversed(texts.values())]), None)


def _is_usable(found: str, question: str, turns: Sequence[str], *, asked: bool) -> bool:
    asks = found.endswith(_ASKS)
    if not 0 < len(found) <= max(LONGEST, 2 * len(question)):
        return False
    if not asks and (is_refusal(found) or (asked and found.endswith(_STATES))):
        return False
    said = {word for text in (question, *turns) for word in words(text)}
    kept = set(words(found))
    # Short words are of grammar, and any two sentences share some.
    return not said.isdisjoint({word for word in kept if _says(word)} or kept)


def _says(word: str) -> bool:
    return len(word) > SHORT or not word.isascii()
