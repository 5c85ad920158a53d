"""The steps that bring references: one search for each query, and their merging into one list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from langgraph.errors import GraphBubbleUp

from skr_core.errors import RetrieverError
from skr_core.flow import Flow, call, gather
from skr_core.plain import from_plain, to_plain
from skr_core.ports import Retriever
from skr_core.references.fusion import merge_rankings, reciprocal_rank_fusion
from skr_core.settings import Settings
from skr_core.types import Reference, Round, StopReason
from skr_graphs import events
from skr_graphs.limits import call_limit
from skr_graphs.node import StepContext
from skr_graphs.state import Plain, SentQuery, SKRState


def retrieve(sent: SentQuery, step: StepContext) -> Flow[Plain]:
    """Search one query, in the retriever and in the store beside it. A failure is a finding."""
    query = sent["query"]
    step.write(events.query(sent["round"], query))
    sources: dict[int, Retriever] = {
        id(source): source
        for source in (step.settings.retriever, step.settings.store)
        if source is not None
    }
    errors = [] if sources else ["there is no retriever"]

    def attempt(source: Retriever) -> Flow[Sequence[Reference]]:
        try:
            return _checked((yield from call(source.retrieve, source.aretrieve, query)), source)
        except GraphBubbleUp:  # an interrupt inside a retriever is not a failure
            raise
        except Exception as failure:  # whatever a user's retriever raises, the question goes on
            errors.append(f"{query}: {failure}")
            return ()

    rankings = yield from gather([attempt(source) for source in sources.values()])
    found = {
        reference.id: reference for ranking in reversed(rankings) for reference in reversed(ranking)
    }
    best = reciprocal_rank_fusion([[each.id for each in ranking] for ranking in rankings])
    return {
        "found": {
            "position": sent["position"],
            "references": [to_plain(found[key]) for key in best],
            "error": "; ".join(errors),
        }
    }


def merge(state: SKRState, step: StepContext) -> Flow[Plain]:
    """Fuse what the round found with what was in hand, and remember what is new."""
    found = sorted(state["found"], key=lambda each: each["position"])
    pool = dict(state["pool"])
    added: dict[str, Plain] = {}
    for each in found:
        added |= {plain["id"]: plain for plain in each["references"] if plain["id"] not in pool}
    pool |= added
    rankings = [
        *state["rankings"],
        [[plain["id"] for plain in each["references"]] for each in found],
    ]
    merged = merge_rankings(rankings, limit=step.settings.budget.max_references)
    failed = all(each["error"] and not each["references"] for each in found)
    not_kept = yield from _remember(list(added.values()), step.settings)
    errors = (*(each["error"] for each in found if each["error"]), *not_kept)
    round_ = Round(
        queries=tuple(state["queries"]), found=tuple(added), given=tuple(merged), errors=errors
    )
    step.write(events.references(len(rankings), list(added.values()), len(merged)))
    stop_reason: StopReason | str = ""
    if failed:
        stop_reason = "retriever_failed"
    elif not added:
        stop_reason = "no_new_references"
    return {
        "references": [pool[key] for key in merged],
        "rankings": rankings,
        "pool": pool,
        "rounds": [*state["rounds"], to_plain(round_)],
        "stop_reason": stop_reason or call_limit(state, step.settings.budget) or "",
    }


def _checked(found: Any, source: Retriever) -> list[Reference]:
    """What a retriever, which is anybody's code, has found."""
    if not isinstance(found, Iterable) or isinstance(found, str):
        raise RetrieverError(f"{type(source).__name__} gave {type(found).__name__}, no references")
    references = list(found)
    for each in references:
        if not isinstance(each, Reference):
            raise RetrieverError(
                f"{type(source).__name__} found {type(each).__name__}, no reference"
            )
    return references


def _remember(added: list[Plain], settings: Settings) -> Flow[list[str]]:
    """Write back what another retriever found, so that a later question finds it in the store.

    Returns:
        What failed; this question has its references all the same.
    """
    store = settings.store
    if store is not None and store is not settings.retriever and added:
        references = [from_plain(Reference, plain) for plain in added]
        try:
            yield from call(store.add, store.aadd, references)
        except GraphBubbleUp:
            raise
        except Exception as failure:
            return [f"the store kept nothing: {failure}"]
    return []
