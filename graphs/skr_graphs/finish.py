"""The last step: which draft is the answer, and what its markers mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from skr_core import answering
from skr_core.flow import Flow
from skr_core.plain import from_plain, to_plain
from skr_core.prompts.templates import REFUSAL
from skr_core.references.citations import resolve_citations
from skr_core.replies.refusal import is_refusal
from skr_core.settings import Settings
from skr_core.types import NO_USAGE, Reference, Usage
from skr_graphs import events
from skr_graphs.limits import call_limit
from skr_graphs.node import StepContext
from skr_graphs.state import Plain, SKRState, usage_with
from skr_graphs.streaming import TokenStream


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What is answered, before its markers are resolved.

    Attributes:
        text: As the model wrote it.
        references: What it was given, which its markers count.
        usage: What a last call cost, where one was made.
    """

    text: str
    references: Sequence[Reference]
    usage: Usage = NO_USAGE


def conclude(
    question: str,
    rounds: Sequence[Plain],
    references_of: Callable[[Plain], Sequence[Reference]],
    settings: Settings,
    *,
    sufficient: bool,
    may_call: bool,
) -> Flow[Conclusion]:
    """Choose the answer among the drafts, as the settings say.

    A sufficient draft is the answer. Where the loop ended otherwise, `when_insufficient` decides:
    the latest draft that is no refusal, one more call for the best the model can say, or the
    refusal sentence.

    Args:
        question: The user's.
        rounds: All rounds, or those that a system with a smaller budget would have made.
        references_of: The references that a round's draft was given.
        settings: The system's.
        sufficient: Whether the last draft was found sufficient.
        may_call: Whether the budget has a call left.
    """
    last = references_of(rounds[-1]) if rounds else ()
    if settings.when_insufficient == "refuse" and not sufficient:
        return Conclusion(REFUSAL, last)
    drafted = next((each for each in reversed(rounds) if not is_refusal(each["draft"])), None)
    if drafted is not None:
        return Conclusion(drafted["draft"], references_of(drafted))
    if settings.when_insufficient != "own_knowledge" or not may_call:
        return Conclusion(REFUSAL, last)
    generation = yield from answering.answer_anyway(
        settings.model, question, last, settings.demonstrations, templates=settings.templates
    )
    return Conclusion(generation.text, last, generation.usage)


def finish(state: SKRState, step: StepContext) -> Flow[Plain]:
    """Choose the answer and resolve its citations."""

    def given(round_: Plain) -> list[Reference]:
        """What a draft was given; its markers count these, not what later rounds brought."""
        return [from_plain(Reference, state["pool"][key]) for key in round_["given"]]

    chosen = yield from conclude(
        state["question"],
        state["rounds"],
        given,
        step.settings,
        sufficient=state["stop_reason"] == "sufficient",
        may_call=not call_limit(state, step.settings.budget),
    )
    cited = resolve_citations(chosen.text, chosen.references)
    TokenStream(step.write, streamed=state["streamed"]).finish(cited.text)
    citations = [to_plain(citation) for citation in cited.citations]
    step.write(events.answer(cited.text, citations, state["stop_reason"]))
    spent = chosen.usage.calls
    return {
        "answer": cited.text,
        "citations": citations,
        "references": [state["pool"][reference.id] for reference in chosen.references],
        "usage": usage_with(state, "answer_anyway", chosen.usage) if spent else state["usage"],
        "removed_markers": cited.removed,
    }
