"""The steps that ask a model before an answer stands: route, answer, reflect, follow up.

Each is a flow that takes the state and returns an update. A step that ends the loop says so by
setting ``stop_reason``; the edges only read it.
"""

from __future__ import annotations

import time

from langgraph.runtime import Runtime

from skr_core import answering
from skr_core.errors import ModelError
from skr_core.flow import Flow, call
from skr_core.plain import from_plain, to_plain
from skr_core.prompts.templates import DEFAULT_TEMPLATES, checked_question
from skr_core.references.citations import resolve_citations
from skr_core.reflectors import RefusalReflector
from skr_core.replies.answer import is_refusal
from skr_core.types import Decision, Reflection
from skr_graphs.context import Resources, SKRContext
from skr_graphs.limits import call_limit, round_limit
from skr_graphs.state import Plain, SKRState, queries_asked, references_of, usage_with
from skr_graphs.streaming import TokenStream

Run = Runtime[SKRContext]


def route(state: SKRState, resources: Resources, runtime: Run) -> Flow[Plain]:
    """Decide whether to retrieve, and begin the state anew."""
    question = checked_question(state.get("question", ""))
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
    spent = None if _known_draft(begun, resources) else call_limit(begun, resources)
    return {**begun, "stop_reason": spent or ""}


def answer_directly(state: SKRState, resources: Resources, runtime: Run) -> Flow[Plain]:
    """Answer a known question from what the model knows."""
    tokens = TokenStream(runtime.stream_writer)
    text, usage = _known_draft(state, resources), state["usage"]
    if not text:
        generation = yield from answering.answer_directly(
            resources.model,
            state["question"],
            resources.demonstrations,
            tokens.write if resources.stream else None,
            templates=resources.templates,
        )
        text, usage = generation.text, usage_with(state, "answer_directly", generation.usage)
    cited = resolve_citations(text, ())
    tokens.finish(cited.text)
    runtime.stream_writer(
        {"type": "answer", "answer": cited.text, "citations": [], "stop_reason": "known"}
    )
    return {
        "answer": cited.text,
        "removed_markers": cited.removed,
        "stop_reason": "known",
        "usage": usage,
    }


def answer(state: SKRState, resources: Resources, runtime: Run) -> Flow[Plain]:
    """Draft an answer from the references in hand, or the refusal sentence."""
    # A draft that another reflector may reject is not streamed before it has passed.
    streams = resources.stream and isinstance(resources.reflector, RefusalReflector)
    references = references_of(state)
    tokens = TokenStream(runtime.stream_writer, references, hold_refusals=True)
    try:
        generation = yield from answering.answer_with_references(
            resources.model,
            state["question"],
            references,
            resources.demonstrations,
            tokens.write if streams else None,
            templates=resources.templates,
        )
    except ModelError as failure:
        return {**_best_draft(state, failure), "streamed": tokens.streamed}
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
    try:
        reflection: Reflection = yield from call(
            reflector.reflect,
            reflector.areflect,
            state["question"],
            references_of(state),
            last["draft"],
        )
    except ModelError as failure:
        return _best_draft(state, failure)
    tokens = TokenStream(runtime.stream_writer, streamed=state["streamed"])
    if not reflection.sufficient:
        tokens.retract()
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
        "streamed": tokens.streamed,
        "usage": usage,
        "stop_reason": "sufficient"
        if reflection.sufficient
        else round_limit(after, resources) or "",
    }


def follow_up(state: SKRState, resources: Resources, runtime: Run) -> Flow[Plain]:
    """Ask the model what is missing; what has been searched is not searched again."""
    try:
        queries, spent = yield from answering.self_complete(
            resources.model,
            state["question"],
            references_of(state),
            queries_asked(state),
            templates=resources.templates,
        )
    except ModelError as failure:
        return _best_draft(state, failure)
    usage = usage_with(state, "self_complete", spent)
    after: SKRState = {**state, "usage": usage}
    stop_reason = call_limit(after, resources) if queries else "no_new_queries"
    return {"queries": list(queries), "usage": usage, "stop_reason": stop_reason or ""}


def _known_draft(state: SKRState, resources: Resources) -> str:
    """The direct answer that the router has asked for, so that it is not asked for twice.

    It was made without demonstrations and with the default words: a run that has its own asks anew.
    """
    decision = from_plain(Decision, state["decision"])
    own = resources.demonstrations or resources.templates != DEFAULT_TEMPLATES
    return "" if decision.retrieve or own else decision.draft.strip()


def _best_draft(state: SKRState, failure: ModelError) -> Plain:
    """End with the best draft so far where the model fails.

    Raises:
        ModelError: There is none that could be the answer.
    """
    if all(is_refusal(each["draft"]) for each in state["rounds"]):
        raise failure
    *earlier, last = state["rounds"]
    errors = [*last["errors"], f"the model failed: {failure}"]
    return {"rounds": [*earlier, {**last, "errors": errors}], "stop_reason": "model_failed"}
