"""The last step: which draft is the answer, and what its markers mean."""

from __future__ import annotations

from langgraph.runtime import Runtime

from skr_core import answering
from skr_core.flow import Flow
from skr_core.plain import from_plain, to_plain
from skr_core.prompts.templates import REFUSAL
from skr_core.references.citations import resolve_citations
from skr_core.replies.answer import is_refusal
from skr_core.types import Reference, Round
from skr_graphs.context import Resources, SKRContext
from skr_graphs.limits import call_limit
from skr_graphs.state import Plain, SKRState, references_of, usage_with
from skr_graphs.streaming import TokenStream


def finish(state: SKRState, resources: Resources, runtime: Runtime[SKRContext]) -> Flow[Plain]:
    """Choose the answer and resolve its citations.

    A sufficient draft is the answer. Where the loop ended otherwise, the latest draft that is no
    refusal is; where there is none, the model is asked once more for the best it can say. A caller
    who prefers silence gets the refusal sentence instead of either.
    """
    rounds = [from_plain(Round, each) for each in state["rounds"]]
    drafted = next((each for each in reversed(rounds) if not is_refusal(each.draft)), None)
    usage, references, text = state["usage"], references_of(state), REFUSAL
    if resources.abstain and state["stop_reason"] != "sufficient":
        pass
    elif drafted is not None:
        text, references = drafted.draft, _given(drafted, state)
    elif not call_limit(state, resources):
        generation = yield from answering.answer_anyway(
            resources.model,
            state["question"],
            references,
            resources.demonstrations,
            templates=resources.templates,
        )
        usage = usage_with(state, "answer_anyway", generation.usage)
        text = generation.text
    cited = resolve_citations(text, references)
    TokenStream(runtime.stream_writer, streamed=state["streamed"]).finish(cited.text)
    citations = [to_plain(citation) for citation in cited.citations]
    runtime.stream_writer(
        {
            "type": "answer",
            "answer": cited.text,
            "citations": citations,
            "stop_reason": state["stop_reason"],
        }
    )
    return {
        "answer": cited.text,
        "citations": citations,
        "references": [to_plain(reference) for reference in references],
        "usage": usage,
        "removed_markers": cited.removed,
    }


def _given(round_: Round, state: SKRState) -> list[Reference]:
    """What a draft was given; its markers count these, not what later rounds brought."""
    return [from_plain(Reference, state["pool"][key]) for key in round_.given]
