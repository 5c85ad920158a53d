"""The steps of retrieval: queries are named, reviewed and searched, and their results merged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

from langgraph.errors import GraphBubbleUp
from langgraph.types import interrupt
from typing_extensions import TypedDict

from skr_core import answering
from skr_core.bounds import PASSED, steady_time
from skr_core.cleaning import redact
from skr_core.errors import DeadlineError, ModelError, NoReferencesError, RetrieverError, failure
from skr_core.flow import Flow, call, gather
from skr_core.plain import Plain, from_plain, to_plain
from skr_core.ports import ReferenceStore, Retriever
from skr_core.references.found import checked_references, errors_of
from skr_core.references.fusion import (
    best_copies,
    joined,
    merge_rankings,
    reciprocal_rank_fusion,
    with_copy,
)
from skr_core.replies.queries import is_allowed, not_asked
from skr_core.settings import Settings
from skr_core.types import Reference, Round, StopReason
from skr_graphs import events
from skr_graphs.arbitration import confirm
from skr_graphs.asking import pack_rounds, tokens_beside
from skr_graphs.finish import best_draft, missing_in
from skr_graphs.node import StepContext, call_limit, round_limit, warn_once
from skr_graphs.state import (
    SearchResult,
    SentQuery,
    SKRState,
    queries_asked,
    references_of,
    usage_with,
)


def decompose(state: SKRState, step: StepContext) -> Flow[Plain]:
    """Ask for the parts of the question, which the first round searches beside the question."""
    settings, question = step.settings, state["asked"]["standalone"]
    step.write(events.start("decompose", 0))
    parts, spent = yield from answering.decompose(
        settings.model, question, templates=settings.templates
    )
    usage = usage_with(state, "decompose", spent)
    after: SKRState = {**state, "usage": usage}
    stop_reason = call_limit(after, settings.budget) or ""
    return {"queries": [question, *parts], "usage": usage, "stop_reason": stop_reason}


def follow_up(state: SKRState, step: StepContext) -> Flow[Plain]:
    """Take the queries of the reply, or ask the model for some; none is searched twice."""
    settings = step.settings
    asked = queries_asked(state)
    drafted = state["drafted"]
    if drafted and (named := drafted["reply"]["queries"]):
        fresh = not_asked(named, asked)
        return {"queries": list(fresh), "stop_reason": "" if fresh else "no_new_queries"}
    last = state["rounds"][-1]
    step.write(events.start("self_complete", len(state["rounds"])))
    question = state["asked"]["standalone"]
    room = tokens_beside(
        settings, settings.templates.self_complete, [question, *asked, last["draft"]]
    )
    fitting = pack_rounds(
        references_of(state), state["rankings"], room, settings.metadata_keys
    ).references
    try:
        queries, spent = yield from answering.self_complete(
            settings.model,
            question,
            fitting,
            asked,
            missing=missing_in(last),
            partial=last["draft"],
            templates=settings.templates,
            metadata_keys=settings.metadata_keys,
        )
    except ModelError as failure:
        return best_draft(state, failure)
    usage = usage_with(state, "self_complete", spent)
    after: SKRState = {**state, "usage": usage}
    stop_reason = call_limit(after, settings.budget) if queries else "no_new_queries"
    return {"queries": list(queries), "usage": usage, "stop_reason": stop_reason or ""}


class ReviewRequest(TypedDict):
    """The value of the interrupt, which the person is shown.

    Attributes:
        question: The user's question.
        round: The number of the round that is about to begin, from 1.
        queries: The queries that are about to be searched.
        problem: The reason why the last reply could not be used; empty at first.
    """

    question: str
    round: int
    queries: list[str]
    problem: str


def review(state: SKRState, step: StepContext) -> Flow[Plain]:
    """Wait for ``Command(resume=[queries])``; no queries means that nothing more is searched.

    This is a node of its own, because a node that was interrupted runs again from its start: this
    one calls no model, so nothing is paid for twice. A reply of another shape is asked for again.
    The person's time counts towards no deadline, which starts anew here.
    """
    yield from ()  # a flow, although it asks for no call
    request = ReviewRequest(
        question=state["question"],
        round=len(state["rounds"]) + 1,
        queries=state["queries"],
        problem="",
    )
    while not _usable(reply := interrupt(request)):
        request = {**request, "problem": "resume with a list of queries, each a text"}
    queries = list(dict.fromkeys(query.strip() for query in reply))
    return {
        "queries": queries,
        "stop_reason": "" if queries else "no_new_queries",
        "asked": {**state["asked"], "started_at": steady_time()},
    }


def _usable(reply: Any) -> bool:
    return isinstance(reply, list) and all(isinstance(each, str) and each.strip() for each in reply)


def retrieve(sent: SentQuery, step: StepContext) -> Flow[Plain]:
    """Search one query, in the retriever and in the store beside it, in the scope of the run.

    A search that fails says so in its result, so that those beside it count; the only search of
    the first round raises. This is the one way out for queries, so here each has to be allowed.

    Raises:
        RetrieverError: The only search of the first round failed, or something found is no
            reference.
        DeadlineError: The search was not over in time.
        InputError: The run has no scope, see `Settings.scope_of`, or ``allow_query`` says neither
            yes nor no.
    """
    query, settings = sent["query"], step.settings
    if not is_allowed(settings.allow_query, query, sent["asked"]["standalone"]):
        return {"found": _result(sent, refused=True)}
    step.write(events.query(sent["round"], query))
    store, scope = settings.reference_store, settings.scope_of(step.config)
    given: list[Retriever | None] = [settings.retriever, store]
    # Each once: the store may be the retriever.
    sources = list({id(source): source for source in given if source is not None}.values())
    errors = [] if sources else ["there is no retriever"]
    failures: dict[int, Exception] = {}

    def attempt(source: Retriever) -> Flow[Sequence[Reference]]:
        try:
            asked = source if source is not store else _in_scope(source, scope)
            found = yield from call(asked.retrieve, asked.aretrieve, query)
            if isinstance(found, Iterator):  # one that finds as it goes may fail here
                found = list(found)
        # An interrupt, or a mistake in the retriever's code, is no failed search.
        except (GraphBubbleUp, NoReferencesError):
            raise
        except Exception as failure:  # whatever else a user's retriever raises
            errors.append(redact(f"{query}: {failure}"))
            failures[id(source)] = failure
            return ()
        errors.extend(redact(f"{query}: {error}") for error in errors_of(found))
        return checked_references(found, source)

    rankings = yield from gather([attempt(source) for source in sources])
    # A store that fails, or is empty, beside a retriever does not change what that one says.
    failed = not any(rankings) and (not sources or id(sources[0]) in failures)
    if sent["round"] == 1 and sent["alone"] and failed:
        _raise_if_wanted(errors, settings, failures.get(id(sources[0])) if sources else None)
    # The retriever's own come before the store's memory of it.
    found = best_copies([[each for ranking in rankings for each in ranking]])
    ids = [[each.id for each in ranking] for ranking in rankings]
    best = reciprocal_rank_fusion(ids)
    # What the store has found is in it, and must not live longer for being found.
    remember = [key for key in ids[0] if key not in ids[1]] if settings.remembers else []
    return {
        "found": _result(
            sent,
            references=[to_plain(found[key]) for key in best],
            remember=remember,
            error="; ".join(errors),
            failed=failed,
        )
    }


def _result(
    sent: SentQuery,
    *,
    references: Sequence[Plain] = (),
    remember: Sequence[str] = (),
    error: str = "",
    failed: bool = False,
    refused: bool = False,
) -> SearchResult:
    return SearchResult(
        position=sent["position"],
        references=list(references),
        remember=list(remember),
        error=error,
        failed=failed,
        refused=refused,
    )


def merge(state: SKRState, step: StepContext) -> Flow[Plain]:
    """Fuse what the round found with what was in hand, and remember what is new.

    A router may find at once that it confirms the direct answer, so that nothing is read.
    """
    found = sorted(state["found"], key=lambda each: each["position"])
    # Plain values are only read where two are the same.
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
    tried = [each for each in found if not each["refused"]]
    failed = bool(tried) and all(each["failed"] for each in tried)
    limit = call_limit(state, step.settings.budget)
    if failed and not state["rounds"]:
        late = DeadlineError(PASSED) if limit == "deadline" else None
        _raise_if_wanted([each["error"] for each in found], step.settings, late)
    unknown = {key for each in found for key in each["remember"]}
    not_kept = yield from _remember([added[key] for key in added if key in unknown], step)
    not_found = [each["error"] for each in found if each["error"]]
    errors = (*not_found, *not_kept)
    refused = tuple(state["queries"][each["position"]] for each in found if each["refused"])
    searched = not_asked(state["queries"], refused)
    round_ = Round(searched, tuple(added), tuple(merged), errors=errors, refused=refused)
    if not_found:
        warn_once("search", not_found[0])
    if not_kept:
        warn_once("store", not_kept[0])
    step.write(events.references(len(rankings), list(added.values()), len(merged)))
    after: SKRState = {**state, "rounds": [*state["rounds"], to_plain(round_)]}
    stop_reason: StopReason | None = limit
    if limit == "deadline":
        pass  # the deadline is the reason, whether searches failed or found nothing
    elif failed:
        stop_reason = "retriever_failed"
    elif not tried:
        stop_reason = "no_new_queries"
    elif not merged:
        # Other queries may find something, while there are rounds left to search them.
        stop_reason = round_limit(after, step.settings.budget)
    elif not added and _is_as_before(rankings, state["rounds"]):
        stop_reason = "no_new_references"
    update: Plain = {
        "rankings": rankings,
        "pool": {key: each for key, each in pool.items() if each != before.get(key)},
        "rounds": after["rounds"],
        "drafted": None,
        "stop_reason": stop_reason or "",
    }
    if len(rankings) == 1 and merged and not stop_reason:
        update |= yield from confirm({**after, "pool": pool}, step)
    return update


def _with_copy(best: Plain, other: Plain) -> Plain:
    made: Plain = to_plain(with_copy(_reference(best), _reference(other)))
    return made


def _reference(plain: Plain) -> Reference:
    return from_plain(Reference, plain)


def _in_order(found: Sequence[SearchResult]) -> Iterator[str]:
    """The ids that a round found, query by query."""
    return (plain["id"] for each in found for plain in each["references"])


def _is_as_before(rankings: Sequence[Sequence[Sequence[str]]], rounds: Sequence[Plain]) -> bool:
    """Whether the model would be handed the same references again, in whatever order.

    Where not all of them fitted the last time, only as many are compared.
    """
    given = rounds[-1]["given"] if rounds else []
    return set(merge_rankings(rankings, limit=len(given))) == set(given)


def _raise_if_wanted(
    errors: Sequence[str], settings: Settings, cause: Exception | None = None
) -> None:
    """Fail where the first searches all failed, unless the settings say to go on."""
    if settings.on_retriever_error == "raise":
        if isinstance(cause, DeadlineError):
            raise DeadlineError("the deadline passed before a search was over") from cause
        message = f"every search failed: {'; '.join(errors)}"
        raise failure(RetrieverError, message, cause) from cause


def _remember(added: list[Plain], step: StepContext) -> Flow[list[str]]:
    """Write new references to the store, so that a later question of the scope finds them there.

    Returns:
        The failure, where there was one; this question has its references all the same.
    """
    given = step.settings.reference_store if added else None
    if given is not None:
        scope = step.settings.scope_of(step.config)
        references = [_reference(plain) for plain in added]
        try:
            store = _in_scope(given, scope)
            yield from call(store.add, store.aadd, references, ttl=step.settings.ttl)
        except GraphBubbleUp:
            raise
        except Exception as failure:
            return [redact(f"the store kept nothing: {failure}")]
    return []


def _in_scope(store: ReferenceStore, scope: str | None) -> ReferenceStore:
    """The store as a run sees it."""
    return store if scope is None else store.in_scope(scope)
