"""The turns of a conversation as a model is shown them: user and assistant in turn, the latest.

Turns are untrusted, as every text is. What an earlier answer cited is not among the references of
this question, so its markers are taken out.

Example:
    >>> said = [("user", "Capital of France?"), ("assistant", "Paris [1]."), ("user", "Its river?")]
    >>> latest_turns(said[:2], 100)
    ('Capital of France?', 'Paris.')
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from skr_core.references.citations import MarkerResolver
from skr_core.references.packing import fast_tokens
from skr_core.replies.thoughts import strip_thoughts
from skr_core.texts import encodable

Said = tuple[Literal["user", "assistant"], str]
"""Who said it, and what."""

_ANY_NUMBER = 999
_CUT = " …"


def latest_turns(said: Iterable[Said], max_tokens: int) -> tuple[str, ...]:
    """The latest turns that fit, beginning with the user; user and assistant take turns.

    What one of them said in a row is one turn. A question goes with its answer: both are kept or
    neither, but the latest are cut rather than left out. Where the user spoke last, the number of
    turns is odd.

    Args:
        said: The conversation, the earliest first.
        max_tokens: Of all turns together.
    """
    merged = _alternating(said)
    kept: list[str] = []
    left = max_tokens
    end = len(merged)
    while end:
        start = end - 1 if end % 2 else end - 2
        exchange = [_shown(turn, start + place) for place, turn in enumerate(merged[start:end])]
        spent = sum(map(fast_tokens, exchange))
        if spent > left:
            if not kept:
                kept = _cut(exchange, left)
            break
        kept = [*exchange, *kept]
        left -= spent
        end = start
    return tuple(kept)


def exchanges(turns: Sequence[str]) -> tuple[str, ...]:
    """The turns without what the user said last and was not answered: what a chat begins with.

    Example:
        >>> exchanges(["Where?", "There.", "I am in Paris."])
        ('Where?', 'There.')
    """
    return tuple(turns[: len(turns) // 2 * 2])


def _alternating(said: Iterable[Said]) -> list[str]:
    turns: list[str] = []
    for role, text in said:
        if not text.strip():
            continue
        begins = (role == "user") == (len(turns) % 2 == 0)
        if begins:
            turns.append(text)
        elif turns:  # a greeting before the first question is of no turn
            turns[-1] = f"{turns[-1]}\n\n{text}"
    return turns


def _shown(text: str, place: int) -> str:
    text = encodable(text.strip())
    if place % 2 == 0:
        return text
    resolver = MarkerResolver(_ANY_NUMBER, shown=False)
    resolver.write(strip_thoughts(text))
    return resolver.finish().strip() or _CUT.strip()


def _cut(exchange: Sequence[str], max_tokens: int) -> list[str]:
    """The beginning of each, within the limit; the user's has the first half of it."""
    shortened: list[str] = []
    for place, text in enumerate(exchange):
        limit = max_tokens // 2 if place + 1 < len(exchange) else max_tokens
        tokens = fast_tokens(text)
        if tokens > limit:
            text = text[: len(text) * limit // tokens].rstrip() + _CUT
        shortened.append(text)
        max_tokens = max(1, max_tokens - min(tokens, limit))
    return shortened
