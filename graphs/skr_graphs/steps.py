"""The steps of the state machine before an answer stands: route, retrieve, merge, answer, reflect.

Each is a flow that takes the state and returns an update. A step that ends the loop says so by
setting ``stop_reason``; the edges only read it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime

from skr_core import answering
from skr_core.citations import resolve_citations
from skr_core.flow import Flow, call, gather
from skr_core.fusion import merge_references, reciprocal_rank_fusion
from skr_core.plain import from_plain, to_plain
from skr_core.ports import Retriever
from skr_core.prompts import checked_question
from skr_core.reflectors import RefusalReflector
from skr_core.types import Reference, Reflection, Round, StopReason
from skr_graphs.context import Resources, SKRContext
from skr_graphs.limits import call_limit, round_limit
from skr_graphs.state import Plain, Search, SKRState, queries_asked, references_of, usage_with
from skr_graphs.streaming import TokenStream

Run = Runtime[SKRContext]


def route(state: SKRState, resources: Resources, runtime: Run) -> Flow[Plain]:
    """Decide whether to retrieve, and begin the state anew."""
    question = checked_question(state["question"])
    started_at = time.time()
    router = resources.router
    decision = yield from call(router.decide, router.adecide, question)
    runtime.stream_writer({"type": "route", "decision": to_plain(decision)})
    begun: SKRState = {
        "question": question,
        "answer": "",
        "citations": [],
        "references": [],
        "decision": to_plain(decision),
        "rounds": [],
        "stop_reason": "",
        "usage": {"route": to_plain(decision.usage)} if decision.usage.calls else {},
        "removed_markers": 0,
        "queries": [question],
        "rankings": [],
        "pool": {},
        "streamed": None,
        "started_at": started_at,
    }
    return {**begun, "stop_reason": call_limit(begun, resources) or ""}


def answer_directly(state: SKRState, resources: Resources, runtime: Run) -> Flow[Plain]:
    """Answer a known question from what the model knows."""
    tokens = TokenStream(runtime.stream_writer)
    generation = yield from answering.answer_directly(
        resources.model,
        state["question"],
        resources.demonstrations,
        tokens.write if resources.stream else None,
        templates=resources.templates,
    )
    cited = resolve_citations(generation.text, ())
    tokens.finish(cited.text)
    runtime.stream_writer(
        {"type": "answer", "answer": cited.text, "citations": [], "stop_reason": "known"}
    )
    return {
        "answer": cited.text,
        "removed_markers": cited.removed,
        "stop_reason": "known",
        "usage": usage_with(state, "answer_directly", generation.usage),
    }


def retrieve(search: Search, resources: Resources, runtime: Run) -> Flow[Plain]:
    """Search one query, in the retriever and in the store beside it. A failure is a finding."""
    query = search["query"]
    runtime.stream_writer({"type": "query", "round": search["round"], "query": query})
    sources: dict[int, Retriever] = {
        id(source): source
        for source in (resources.retriever, resources.store)
        if source is not None
    }
    errors = [] if sources else ["there is no retriever"]

    def attempt(source: Retriever) -> Flow[Sequence[Reference]]:
        try:
            return (yield from call(source.retrieve, source.aretrieve, query))
        except GraphBubbleUp:  # an interrupt inside a retriever is not a failure
            raise
        except Exception as failure:  # whatever a user's retriever raises, the question goes on
            errors.append(f"{query}: {failure}")
            return ()

    rankings = yield from gather([attempt(source) for source in sources.values()])
    found = rankings[0] if len(rankings) == 1 else reciprocal_rank_fusion(rankings)
    return {
        "found": {
            "position": search["position"],
            "references": [to_plain(reference) for reference in found],
            "error": "; ".join(errors),
        }
    }


def merge(state: SKRState, resources: Resources, runtime: Run) -> Flow[Plain]:
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
    everything = {key: from_plain(Reference, plain) for key, plain in pool.items()}
    merged = merge_references(
        [[[everything[key] for key in ranking] for ranking in round_] for round_ in rankings],
        limit=resources.budget.max_references,
    )
    failed = all(each["error"] and not each["references"] for each in found)
    not_kept = yield from _remember([everything[key] for key in added], resources)
    errors = (*(each["error"] for each in found if each["error"]), *not_kept)
    round_ = Round(
        queries=tuple(state["queries"]),
        found=tuple(added),
        given=tuple(reference.id for reference in merged),
        errors=errors,
    )
    runtime.stream_writer(
        {
            "type": "references",
            "round": len(rankings),
            "added": list(added.values()),
            "total": len(merged),
        }
    )
    stop_reason: StopReason | str = ""
    if failed:
        stop_reason = "retriever_failed"
    elif not added:
        stop_reason = "no_new_references"
    return {
        "references": [to_plain(reference) for reference in merged],
        "rankings": rankings,
        "pool": pool,
        "rounds": [*state["rounds"], to_plain(round_)],
        "stop_reason": stop_reason or call_limit(state, resources) or "",
    }


def answer(state: SKRState, resources: Resources, runtime: Run) -> Flow[Plain]:
    """Draft an answer from the references in hand, or the refusal sentence."""
    # A draft that another reflector may reject is not streamed before it has passed.
    streams = resources.stream and isinstance(resources.reflector, RefusalReflector)
    references = references_of(state)
    tokens = TokenStream(runtime.stream_writer, references, hold_refusals=True)
    generation = yield from answering.answer_with_references(
        resources.model,
        state["question"],
        references,
        resources.demonstrations,
        tokens.write if streams else None,
        templates=resources.templates,
    )
    *earlier, last = state["rounds"]
    draft = generation.text.strip()
    runtime.stream_writer({"type": "draft", "round": len(state["rounds"]), "text": draft})
    return {
        "rounds": [*earlier, {**last, "draft": draft}],
        "streamed": tokens.streamed,
        "usage": usage_with(state, "answer_with_references", generation.usage),
    }


def reflect(state: SKRState, resources: Resources, runtime: Run) -> Flow[Plain]:
    """Judge the draft, and whether the budget allows another round."""
    *earlier, last = state["rounds"]
    reflector = resources.reflector
    spent = call_limit(state, resources)
    if spent and not isinstance(reflector, RefusalReflector):
        return {"stop_reason": spent}  # a judge may call a model, and no call is left
    reflection: Reflection = yield from call(
        reflector.reflect,
        reflector.areflect,
        state["question"],
        references_of(state),
        last["draft"],
    )
    runtime.stream_writer(
        {
            "type": "reflection",
            "round": len(state["rounds"]),
            "reflection": to_plain(reflection),
        }
    )
    usage = state["usage"]
    if reflection.usage.calls:
        usage = usage_with(state, "reflect", reflection.usage)
    after: SKRState = {**state, "usage": usage}
    return {
        "rounds": [*earlier, {**last, "reflection": to_plain(reflection)}],
        "usage": usage,
        "stop_reason": "sufficient"
        if reflection.sufficient
        else round_limit(after, resources) or "",
    }


def follow_up(state: SKRState, resources: Resources, runtime: Run) -> Flow[Plain]:
    """Ask the model what is missing; what has been searched is not searched again."""
    queries, spent = yield from answering.self_complete(
        resources.model,
        state["question"],
        references_of(state),
        queries_asked(state),
        templates=resources.templates,
    )
    usage = usage_with(state, "self_complete", spent)
    after: SKRState = {**state, "usage": usage}
    stop_reason = call_limit(after, resources) if queries else "no_new_queries"
    return {"queries": list(queries), "usage": usage, "stop_reason": stop_reason or ""}


def _remember(references: list[Reference], resources: Resources) -> Flow[list[str]]:
    """Write back what another retriever found, so that a later question finds it in the store.

    Returns:
        What failed; this question has its references all the same.
    """
    store = resources.store
    if store is not None and store is not resources.retriever and references:
        try:
            yield from call(store.add, store.aadd, references)
        except GraphBubbleUp:
            raise
        except Exception as failure:
            return [f"the store kept nothing: {failure}"]
    return []
