"""The steps that bring references: one search for each query, and their merging into one list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter

from langgraph.errors import GraphBubbleUp

from skr_core.bounds import PASSED
from skr_core.cleaning import redact
from skr_core.errors import DeadlineError, NoReferencesError, RetrieverError, failure
from skr_core.flow import Flow, call, gather
from skr_core.plain import from_plain, to_plain
from skr_core.ports import Retriever
from skr_core.references.found import checked_references, errors_of
from skr_core.references.fusion import (
    best_copies,
    joined,
    merge_rankings,
    reciprocal_rank_fusion,
    with_copy,
)
from skr_core.settings import Settings
from skr_core.types import Reference, Round, StopReason
from skr_graphs import events
from skr_graphs.limits import call_limit, round_limit
from skr_graphs.node import StepContext
from skr_graphs.state import Found, Plain, SentQuery, SKRState
from skr_graphs.warnings import warn_once


def retrieve(sent: SentQuery, step: StepContext) -> Flow[Plain]:
    """Search one query, in the retriever and in the store beside it.

    A search that fails says so in its result, so that those beside it count. Where it is the only
    one of the first round it raises.

    Raises:
        RetrieverError: The only search of the first round failed, or something found is no
            reference.
        DeadlineError: It was not over in time.
    """
    query = sent["query"]
    step.write(events.query(sent["round"], query))
    sources: dict[int, Retriever] = {
        id(source): source
        for source in (step.settings.retriever, step.settings.store)
        if source is not None
    }
    errors = [] if sources else ["there is no retriever"]
    main = step.settings.store if step.settings.retriever is None else step.settings.retriever
    failures: dict[int, Exception] = {}

    def attempt(source: Retriever) -> Flow[Sequence[Reference]]:
        try:
            found = yield from call(source.retrieve, source.aretrieve, query)
            if isinstance(found, Iterator):  # one that finds as it goes may fail here
                found = list(found)
        # Neither is a search that failed: an interrupt, and a mistake in the retriever's code.
        except (GraphBubbleUp, NoReferencesError):
            raise
        except Exception as failure:  # whatever else a user's retriever raises
            errors.append(redact(f"{query}: {failure}"))
            failures[id(source)] = failure
            return ()
        errors.extend(redact(f"{query}: {error}") for error in errors_of(found))
        return checked_references(found, source)

    rankings = yield from gather([attempt(source) for source in sources.values()])
    # A store that fails, or is empty, beside a retriever does not change what that one says.
    failed = not any(rankings) and (main is None or id(main) in failures)
    if sent["round"] == 1 and sent["alone"] and failed:
        _raise_unless_told(errors, step.settings, failures.get(id(main)))
    # The retriever's own before the store's memory of it.
    found = best_copies([[each for ranking in rankings for each in ranking]])
    best = reciprocal_rank_fusion([[each.id for each in ranking] for ranking in rankings])
    return {
        "found": {
            "position": sent["position"],
            "references": [to_plain(found[key]) for key in best],
            "error": "; ".join(errors),
            "failed": failed,
        }
    }


def merge(state: SKRState, step: StepContext) -> Flow[Plain]:
    """Fuse what the round found with what was in hand, and remember what is new."""
    found = sorted(state["found"], key=lambda each: each["position"])
    # Plain values are read where two are the same, and not else.
    best = joined([each["references"] for each in found], itemgetter("id"), _with_copy)
    before = {key: state["pool"][key] for key in best if key in state["pool"]}
    pool = {
        key: _with_copy(before[key], each) if key in before else each for key, each in best.items()
    }
    added = {key: pool[key] for key in _in_order(found) if key not in before}
    rankings = [
        *state["rankings"],
        [[plain["id"] for plain in each["references"]] for each in found],
    ]
    merged = merge_rankings(rankings, limit=step.settings.budget.max_references)
    failed = all(each["failed"] for each in found)
    limit = call_limit(state, step.settings.budget)
    if failed and not state["rounds"]:
        late = DeadlineError(PASSED) if limit == "deadline" else None
        _raise_unless_told([each["error"] for each in found], step.settings, late)
    not_kept = yield from _remember(list(added.values()), step.settings)
    not_found = [each["error"] for each in found if each["error"]]
    errors = (*not_found, *not_kept)
    round_ = Round(
        queries=tuple(state["queries"]), found=tuple(added), given=tuple(merged), errors=errors
    )
    if not_found:
        warn_once("search", not_found[0])
    if not_kept:
        warn_once("store", not_kept[0])
    step.write(events.references(len(rankings), list(added.values()), len(merged)))
    after: SKRState = {**state, "rounds": [*state["rounds"], to_plain(round_)]}
    stop_reason: StopReason | None = limit
    if limit == "deadline":
        pass  # why a search failed, or found nothing
    elif failed:
        stop_reason = "retriever_failed"
    elif not merged:
        # Other queries may find something, while there are rounds left to search them.
        stop_reason = round_limit(after, step.settings.budget)
    elif not added and _is_as_before(rankings, state["rounds"]):
        stop_reason = "no_new_references"
    return {
        "rankings": rankings,
        "pool": {key: each for key, each in pool.items() if each != before.get(key)},
        "rounds": after["rounds"],
        "drafted": None,
        "stop_reason": stop_reason or "",
    }


def _with_copy(best: Plain, other: Plain) -> Plain:
    made: Plain = to_plain(with_copy(_reference(best), _reference(other)))
    return made


def _reference(plain: Plain) -> Reference:
    return from_plain(Reference, plain)


def _in_order(found: Sequence[Found]) -> Iterator[str]:
    """The ids that a round found, query by query."""
    return (plain["id"] for each in found for plain in each["references"])


def _is_as_before(rankings: Sequence[Sequence[Sequence[str]]], rounds: Sequence[Plain]) -> bool:
    """Whether the model would be handed what it was handed already, in whatever order.

    Where not all of it fitted, as many are dealt out as did.
    """
    given = rounds[-1]["given"] if rounds else []
    return set(merge_rankings(rankings, limit=len(given))) == set(given)


def _raise_unless_told(
    errors: Sequence[str], settings: Settings, cause: Exception | None = None
) -> None:
    """Fail where the first searches all failed: nothing is known of what the references say."""
    if settings.on_retriever_error == "raise":
        if isinstance(cause, DeadlineError):
            raise DeadlineError("the deadline passed before a search was over") from cause
        message = f"every search failed: {'; '.join(errors)}"
        raise failure(RetrieverError, message, cause) from cause


def _remember(added: list[Plain], settings: Settings) -> Flow[list[str]]:
    """Write back what another retriever found, so that a later question finds it in the store.

    Returns:
        What failed; this question has its references all the same.
    """
    store = settings.store
    if store is not None and store is not settings.retriever and added:
        references = [_reference(plain) for plain in added]
        try:
            yield from call(store.add, store.aadd, references)
        except GraphBubbleUp:
            raise
        except Exception as failure:
            return [redact(f"the store kept nothing: {failure}")]
    return []
