"""Asking with as many references as a model takes.

What a model declares to take, or is known to, is kept to; where nothing is known and it refuses a
prompt for its length, it is asked with half of them, until the prompt fits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from skr_core.flow import Flow
from skr_core.models.windows import ROOM_FOR_ANSWER, tokens_for
from skr_core.prompts.asking import demonstrate
from skr_core.prompts.templates import Template, words_of
from skr_core.references.fusion import merge_rankings
from skr_core.references.passages import PackedReferences, fast_tokens, pack_references, shown_text
from skr_core.settings import Settings
from skr_core.types import NO_USAGE, Generation, Reference, Usage

T = TypeVar("T")

Rankings = Sequence[Sequence[Sequence[str]]]
"""The ids found, best first, by query and by round."""

_TOO_LONG = re.compile(
    r"context[_ ](?:length|window|size)|maximum context|prompt is too long|input is too long"
    r"|too many (?:input )?tokens|reduce the length|exceeds? the (?:model|maximum|limit|available)",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"(?:context (?:length|window|size)|maximum)(?: is| of|:| \(n_ctx\) is)?\s*\D{0,3}"
    r"(\d{1,3}(?:,\d{3})+|\d{3,})(?= tokens|\b)",
    re.IGNORECASE,
)


def ask_with_fitting(
    ask: Callable[[Sequence[Reference]], Flow[Generation]],
    references: Sequence[Reference],
    settings: Settings,
    template: Template,
    beside: Sequence[str],
    *,
    spent: Usage = NO_USAGE,
    rankings: Rankings = (),
) -> Flow[tuple[PackedReferences, Generation]]:
    """Ask with the references that fit, and with fewer while they were too long.

    Args:
        ask: The function that asks the question with some references.
        references: The references, best first.
        settings: The settings: the tokens that fit, the metadata that is shown, and the budget.
        template: The words that are asked in.
        beside: The other texts of the prompt: the question, the turns before it and the like.
        spent: The cost of the question so far.
        rankings: The ids found in each round, so that the rounds share the room.

    Returns:
        The references that the model was given, and its reply; the reply's usage counts the refused
        calls.

    Raises:
        ModelError: The model failed, or refuses the prompt without references as well, or no call
            is left.
    """

    def pack(tokens: int) -> PackedReferences:
        return pack_rounds(references, rankings, tokens, settings.metadata_keys)

    def may_ask(refused: int) -> bool:
        return not settings.budget.spent(spent + Usage(calls=refused), seconds=0.0)

    packed, generation, refused = yield from until_it_fits(
        ask, pack, tokens_beside(settings, template, beside), may_ask
    )
    if refused:
        generation = replace(generation, usage=generation.usage + Usage(calls=refused))
    return packed, generation


def tokens_beside(settings: Settings, template: Template, beside: Sequence[str]) -> int:
    """The tokens of references that fit into a prompt.

    Args:
        settings: The settings: the model, the budget and the demonstrations.
        template: The words of the prompt.
        beside: Its other texts.
    """
    shown = [*beside, words_of(template), *map(demonstrate, settings.demonstrations)]
    return tokens_for(settings.budget, settings.model, shown)


def until_it_fits(
    ask: Callable[[Sequence[Reference]], Flow[T]],
    pack: Callable[[int], PackedReferences],
    tokens: int,
    may_ask: Callable[[int], bool] = lambda refused: True,
) -> Flow[tuple[PackedReferences, T, int]]:
    """Ask with the references that fit, and with half of them as long as they are too many.

    Args:
        ask: The function that asks with some references.
        pack: The function that keeps what fits into a number of tokens.
        tokens: The tokens to begin with.
        may_ask: Whether the model may be asked again, after so many refused calls.

    Returns:
        The references that were given, the reply, and the number of refused calls.
    """
    refused = 0
    while True:
        packed = pack(tokens)
        try:
            return packed, (yield from ask(packed.references)), refused
        except Exception as failure:
            refused += 1
            if not packed.references or not is_too_long(failure) or not may_ask(refused):
                raise
            handed = sum(fast_tokens(shown_text(reference)) for reference in packed.references)
            tokens = min(handed // 2, said_window(failure) or handed)


def pack_rounds(
    references: Sequence[Reference],
    rankings: Rankings,
    max_tokens: int,
    metadata_keys: Sequence[str] = (),
) -> PackedReferences:
    """Keep the references that fit, so that no round pushes out another.

    References are numbered from the first round on. If they were cut off at the end, a context that
    is full after the first round would never hold what a later one has found. So the rounds are
    merged anew under a smaller cap, until all of it fits.

    Args:
        references: The references, in the order in which they are shown.
        rankings: The ids found, best first, by query and by round.
        max_tokens: The number of tokens that all of them together may have.
        metadata_keys: The keys of the metadata that the prompt shows.

    Example:
        >>> some = [Reference.of(f"{name} is here. " * 20) for name in ("One", "Two", "Three")]
        >>> found = [[[each.id for each in some[:2]]], [[some[2].id]]]
        >>> [each.text[:5] for each in pack_rounds(some, found, 150).references]
        ['One i', 'Three']
    """
    packed = pack_references(references, max_tokens, metadata_keys=metadata_keys)
    if len(rankings) < 2 or not packed.dropped:
        return packed
    by_id = {each.id: each for each in references}
    for cap in range(len(references) - 1, 0, -1):
        fewer = [by_id[key] for key in merge_rankings(rankings, limit=cap) if key in by_id]
        packed = pack_references(fewer, max_tokens, metadata_keys=metadata_keys)
        if not packed.dropped:
            break
    kept = {each.id for each in packed.references}
    return replace(packed, dropped=tuple(each for each in references if each.id not in kept))


def is_too_long(failure: Exception) -> bool:
    """Whether a model refused a prompt for its length, as far as its message says.

    Example:
        >>> is_too_long(ValueError("This model's maximum context length is 8192 tokens."))
        True
    """
    return bool(_TOO_LONG.search(str(failure)))


def said_window(failure: Exception) -> int | None:
    """The tokens of references that fit into the window that a server's refusal names.

    Example:
        >>> said_window(ValueError("This model's maximum context length is 8,192 tokens."))
        6144
        >>> said_window(ValueError("the prompt is too long")) is None
        True
    """
    said = _SAID.search(str(failure))
    return int(int(said[1].replace(",", "")) * (1 - ROOM_FOR_ANSWER)) if said else None
