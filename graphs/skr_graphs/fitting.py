"""Handing the model as many references as it takes, and fewer where it refuses their number."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from skr_core.errors import ModelError
from skr_core.flow import Flow
from skr_core.models.windows import tokens_for
from skr_core.references.fusion import merge_rankings
from skr_core.references.passages import PackedReferences, fast_tokens, pack_references, shown_text
from skr_core.settings import Settings
from skr_core.types import NO_USAGE, Generation, Reference, Usage

Rankings = Sequence[Sequence[Sequence[str]]]
"""For each round, for each of its queries, the ids that it found, best first."""

_TOO_LONG = re.compile(
    r"context[_ ](?:length|window|size)|maximum context|prompt is too long|input is too long"
    r"|too many (?:input )?tokens|reduce the length|exceeds? the (?:model|maximum|limit|available)",
    re.IGNORECASE,
)


def reference_limit(settings: Settings) -> int:
    """How many tokens of references the model is handed at a time."""
    return tokens_for(settings.budget, settings.model.name)


def is_too_long(failure: Exception) -> bool:
    """Whether a model refused a prompt for its length, as far as its message tells.

    Example:
        >>> is_too_long(ModelError("This model's maximum context length is 8192 tokens."))
        True
    """
    return bool(_TOO_LONG.search(str(failure)))


def pack_rounds(
    references: Sequence[Reference],
    rankings: Rankings,
    max_tokens: int,
    metadata_keys: Sequence[str] = (),
) -> PackedReferences:
    """Keep what fits, so that no round pushes out another.

    References are numbered from the first round on. Were they cut off at the end, a context that is
    full after the first round would never hold what a later one has found: so the rounds are merged
    anew under a smaller cap, until all of it fits.

    Args:
        references: In the order in which they are shown.
        rankings: For each round, for each of its queries, the ids that it found, best first.
        max_tokens: Of all of them together.
        metadata_keys: What of the metadata the prompt shows.

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


def ask_with_fitting(
    ask: Callable[[Sequence[Reference]], Flow[Generation]],
    references: Sequence[Reference],
    settings: Settings,
    spent: Usage = NO_USAGE,
    rankings: Rankings = (),
) -> Flow[tuple[PackedReferences, Generation]]:
    """Ask with the references that fit; once more with half of them where they were too long.

    Args:
        ask: Puts the question with some references.
        references: By rank.
        settings: Say how many tokens fit, what of the metadata is shown, and what may be spent.
        spent: By the question so far.
        rankings: What each round found, where more than one did: room that is short is shared.

    Returns:
        What was handed to the model, and its reply; its usage counts the call that was refused.

    Raises:
        ModelError: The model failed, or finds half of the references too long as well, or no call
            is left to ask with them.
    """
    keys = settings.metadata_keys
    packed = pack_rounds(references, rankings, reference_limit(settings), keys)
    try:
        return packed, (yield from ask(packed.references))
    except ModelError as failure:
        refused = Usage(calls=1)
        is_spent = settings.budget.spent(spent + refused, seconds=0.0)
        if is_spent or not packed.references or not is_too_long(failure):
            raise
    handed = sum(fast_tokens(shown_text(reference)) for reference in packed.references)
    packed = pack_rounds(references, rankings, max(1, handed // 2), keys)
    generation = yield from ask(packed.references)
    return packed, replace(generation, usage=generation.usage + refused)
