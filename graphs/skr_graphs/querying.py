"""The steps that name what to search: the parts of a question, and follow-ups to a draft."""

from __future__ import annotations

from skr_core import answering
from skr_core.errors import ModelError
from skr_core.flow import Flow
from skr_core.replies.queries import not_asked
from skr_graphs import events
from skr_graphs.limits import call_limit
from skr_graphs.node import StepContext
from skr_graphs.state import Plain, SKRState, queries_asked, references_of, usage_with
from skr_graphs.steps import best_draft, missing_in


def decompose(state: SKRState, step: StepContext) -> Flow[Plain]:
    """Ask for the parts of the question; the first round searches them beside the question."""
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
    """Search what the reply asked for, or ask the model; nothing is searched twice."""
    settings = step.settings
    asked = queries_asked(state)
    drafted = state["drafted"]
    if drafted and (named := drafted["reply"]["queries"]):
        fresh = not_asked(named, asked)
        return {"queries": list(fresh), "stop_reason": "" if fresh else "no_new_queries"}
    last = state["rounds"][-1]
    step.write(events.start("self_complete", len(state["rounds"])))
    try:
        queries, spent = yield from answering.self_complete(
            settings.model,
            state["asked"]["standalone"],
            references_of(state),
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
