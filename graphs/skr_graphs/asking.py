"""Asking the model for an answer: without references, or with as many as it takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from skr_core import answering
from skr_core.conversation import exchanges
from skr_core.errors import ModelError
from skr_core.flow import Flow
from skr_core.models.windows import tokens_for
from skr_core.ports import OnToken
from skr_core.references.fusion import merge_rankings
from skr_core.references.passages import PackedReferences, fast_tokens, pack_references, shown_text
from skr_core.settings import Settings
from skr_core.types import NO_USAGE, Generation, Reference, Usage
from skr_graphs.state import SKRState

Rankings = Sequence[Sequence[Sequence[str]]]
"""The ids found, best first, by query and by round."""

_TOO_LONG = re.compile(
    r"context[_ ](?:length|window|size)|maximum context|prompt is too long|input is too long"
    r"|too many (?:input )?tokens|reduce the length|exceeds? the (?:model|maximum|limit|available)",
    re.IGNORECASE,
)


def ask_directly(
    state: SKRState, settings: Settings, on_token: OnToken | None = None
) -> Flow[Generation]:
    """Ask for the answer without references."""
    return (
        yield from answering.answer_directly(
            settings.model,
            state["question"],
            settings.demonstrations,
            on_token,
            templates=settings.templates,
            history=exchanges(state["asked"]["turns"]),
        )
    )


def is_too_long(failure: Exception) -> bool:
    """Whether a model refused a prompt for its length, as far as its message says.

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


def ask_with_fitting(
    ask: Callable[[Sequence[Reference]], Flow[Generation]],
    references: Sequence[Reference],
    settings: Settings,
    spent: Usage = NO_USAGE,
    rankings: Rankings = (),
) -> Flow[tuple[PackedReferences, Generation]]:
    """Ask with the references that fit, and again with half of them if they were too long.

    Args:
        ask: The function that asks the question with some references.
        references: The references, best first.
        settings: The settings: the tokens that fit, the metadata that is shown, and the budget.
        spent: The cost of the question so far.
        rankings: The ids found in each round, so that the rounds share the room.

    Returns:
        The references that the model was given, and its reply; the reply's usage counts a refused
        call.

    Raises:
        ModelError: The model failed, or half of the references are too long as well, or no call is
            left.
    """
    keys = settings.metadata_keys
    packed = pack_rounds(
        references, rankings, tokens_for(settings.budget, settings.model.name), keys
    )
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
