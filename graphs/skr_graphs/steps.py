"""The steps that ask a model before an answer stands: route, answer, reflect, follow up.

Each is a flow that takes the state and returns an update. A step that ends the loop says so by
setting ``stop_reason``; the edges only read it.
"""

from __future__ import annotations

import time
from dataclasses import replace

from skr_core import answering
from skr_core.errors import ModelError
from skr_core.flow import Flow, call
from skr_core.plain import from_plain, to_plain
from skr_core.ports import DraftRouter
from skr_core.prompts.templates import checked_question
from skr_core.references.citations import resolve_citations
from skr_core.reflectors import RefusalReflector
from skr_core.replies.refusal import is_refusal
from skr_core.types import Decision, Reflection
from skr_graphs import events
from skr_graphs.limits import call_limit, round_limit
from skr_graphs.node import StepContext
from skr_graphs.state import Plain, SKRState, queries_asked, references_of, usage_with
from skr_graphs.streaming import TokenStream


def route(state: SKRState, step: StepContext) -> Flow[Plain]:
    """Decide whether to retrieve, and begin the state anew."""
    question = checked_question(state.get("question", ""))
    started_at = time.time()
    decision = yield from decide(question, step)
    plain = to_plain(decision)
    step.write(events.route(plain))
    begun: SKRState = {
        "question": question,
        "answer": "",
        "citations": [],
        "references": [],
        "decision": plain,
        "rounds": [],
        "stop_reason": "",
        "usage": {"route": plain["usage"]} if decision.usage.calls else {},
        "removed_markers": 0,
        "logprob": None,
        "queries": [question],
        "rankings": [],
        "pool": {},
        "streamed": None,
        "started_at": started_at,
    }
    is_answered = not decision.retrieve and decision.draft.strip()
    spent = None if is_answered else call_limit(begun, step.settings.budget)
    return {**begun, "stop_reason": spent or ""}


def decide(question: str, step: StepContext) -> Flow[Decision]:
    """Ask the router; one that looks at the direct answer gets the one this system gives."""
    settings = step.settings
    router = settings.router
    if not (isinstance(router, DraftRouter) and router.drafts):
        return (yield from call(router.decide, router.adecide, question))
    direct = yield from answering.answer_directly(
        settings.model, question, settings.demonstrations, templates=settings.templates
    )
    # As it would be served, which is how it stands in the records that the router learnt from.
    served = replace(direct, text=resolve_citations(direct.text, ()).text)
    decision = yield from call(router.decide_on, router.adecide_on, question, served)
    return replace(decision, draft=direct.text)


def answer_directly(state: SKRState, step: StepContext) -> Flow[Plain]:
    """Answer a known question from what the model knows, or with the router's draft."""
    settings = step.settings
    tokens = TokenStream(step.write)
    text, usage, logprob = state["decision"]["draft"].strip(), state["usage"], None
    if not text:
        generation = yield from answering.answer_directly(
            settings.model,
            state["question"],
            settings.demonstrations,
            tokens.write if step.stream else None,
            templates=settings.templates,
        )
        text, logprob = generation.text, generation.mean_logprob
        usage = usage_with(state, "answer_directly", generation.usage)
    cited = resolve_citations(text, ())
    tokens.finish(cited.text)
    step.write(events.answer(cited.text, [], "known"))
    return {
        "answer": cited.text,
        "removed_markers": cited.removed,
        "stop_reason": "known",
        "usage": usage,
        "logprob": logprob,
    }


def answer(state: SKRState, step: StepContext) -> Flow[Plain]:
    """Draft an answer from the references in hand, or the refusal sentence."""
    settings = step.settings
    # A draft that another reflector may reject is not streamed before it has passed.
    streams = step.stream and isinstance(settings.reflector, RefusalReflector)
    references = references_of(state)
    tokens = TokenStream(step.write, references, hold_refusals=True)
    try:
        generation = yield from answering.answer_with_references(
            settings.model,
            state["question"],
            references,
            settings.demonstrations,
            tokens.write if streams else None,
            templates=settings.templates,
        )
    except ModelError as failure:
        return {**_best_draft(state, failure), "streamed": tokens.streamed}
    *earlier, last = state["rounds"]
    draft = generation.text.strip()
    step.write(events.draft(len(state["rounds"]), draft))
    drafted = {**last, "draft": draft, "usage": to_plain(generation.usage)}
    return {
        "rounds": [*earlier, drafted],
        "streamed": tokens.streamed,
        "usage": usage_with(state, "answer_with_references", generation.usage),
    }


def reflect(state: SKRState, step: StepContext) -> Flow[Plain]:
    """Judge the draft, and whether the budget allows another round."""
    *earlier, last = state["rounds"]
    reflector, budget = step.settings.reflector, step.settings.budget
    reads_alone = isinstance(reflector, RefusalReflector)
    if not reads_alone and (spent := call_limit(state, budget)):
        return {"stop_reason": spent}  # a judge may call a model, and no call is left
    try:
        reflection: Reflection = yield from call(
            reflector.reflect,
            reflector.areflect,
            state["question"],
            () if reads_alone else references_of(state),
            last["draft"],
        )
    except ModelError as failure:
        return _best_draft(state, failure)
    tokens = TokenStream(step.write, streamed=state["streamed"])
    if not reflection.sufficient:
        tokens.retract()
    plain = to_plain(reflection)
    step.write(events.reflection(len(state["rounds"]), plain))
    usage = state["usage"]
    if reflection.usage.calls:
        usage = usage_with(state, "reflect", reflection.usage)
    after: SKRState = {**state, "usage": usage}
    return {
        "rounds": [*earlier, {**last, "reflection": plain}],
        "streamed": tokens.streamed,
        "usage": usage,
        "stop_reason": "sufficient" if reflection.sufficient else round_limit(after, budget) or "",
    }


def follow_up(state: SKRState, step: StepContext) -> Flow[Plain]:
    """Ask the model what is missing; what has been searched is not searched again."""
    settings = step.settings
    reflection = from_plain(Reflection, state["rounds"][-1]["reflection"] or {"sufficient": False})
    try:
        queries, spent = yield from answering.self_complete(
            settings.model,
            state["question"],
            references_of(state),
            queries_asked(state),
            missing=reflection.missing,
            templates=settings.templates,
        )
    except ModelError as failure:
        return _best_draft(state, failure)
    usage = usage_with(state, "self_complete", spent)
    after: SKRState = {**state, "usage": usage}
    stop_reason = call_limit(after, settings.budget) if queries else "no_new_queries"
    return {"queries": list(queries), "usage": usage, "stop_reason": stop_reason or ""}


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
