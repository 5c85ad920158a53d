"""The end of the loop: the choice of the answer among the drafts, and its citations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from langchain_core.messages import AnyMessage
from langgraph.types import Command

from skr_core import answering
from skr_core._compat import cached_property
from skr_core.conversation import exchanges
from skr_core.errors import DeadlineError, ModelError
from skr_core.flow import Flow
from skr_core.plain import Plain, from_plain, to_plain
from skr_core.ports import ClimbingRouter
from skr_core.references.citations import CitedText, cite_beside, resolve_citations
from skr_core.reflectors import CITES_NOTHING
from skr_core.replies.refusals import is_refusal, refuse, say_partial
from skr_core.settings import Settings
from skr_core.texts import is_json
from skr_core.types import NO_USAGE, Answer, Image, Reference, Reflection, Usage
from skr_graphs import events
from skr_graphs.asking import TokenStream, ask_with_fitting, call_left
from skr_graphs.node import StepContext, call_limit
from skr_graphs.state import (
    SKRState,
    Update,
    answer_of,
    answered,
    images_of,
    references_of,
    usage_of,
    usage_with,
)

if TYPE_CHECKING:
    from skr_core.schemas import ObjectStream


@dataclass(frozen=True)
class Conclusion:
    """The answer that was chosen.

    Attributes:
        text: The text, as the model wrote it.
        references: The references in its prompt, which its markers count.
        sufficient: Whether it was found to answer the whole question.
        missing: The information that was found missing; may be empty.
        is_part: Whether it was found to be a part of the answer alone.
        usage: The cost of that call, where it was made.
        numbers: The numbers that an object's envelope cites; None for a text.
    """

    text: str
    references: Sequence[Reference]
    sufficient: bool = False
    missing: str = ""
    is_part: bool = False
    usage: Usage = NO_USAGE
    numbers: Sequence[int] | None = None

    @cached_property
    def cited(self) -> CitedText:
        """The text with its markers resolved, or an object's with what stands beside it."""
        if self.numbers is not None:
            return cite_beside(self.text, self.numbers, self.references)
        return resolve_citations(self.text, self.references)

    @property
    def grounded(self) -> bool:
        """Whether it rests on references, see `skr_core.types.Answer`."""
        return self.sufficient and bool(self.cited.citations)

    def as_part(self, question: str) -> Conclusion:
        """The same draft behind a line that says that it is a part, where it was found to be.

        Data stays as it is.
        """
        if not self.is_part or is_json(self.text):
            return self
        return replace(self, text=say_partial(question, self.text, self.missing))


def conclude(
    question: str,
    rounds: Sequence[Plain],
    pool: Mapping[str, Plain],
    settings: Settings,
    *,
    sufficient: bool,
    may_call: bool,
    spent: Usage = NO_USAGE,
    write: Callable[[events.Event], None] = lambda event: None,
    history: Sequence[str] = (),
    images: Sequence[Image] = (),
) -> Flow[Conclusion]:
    """Choose the answer among the drafts, as the settings say.

    A sufficient draft is the answer. Otherwise `when_insufficient` chooses among the latest draft
    that cites a reference, a draft that cites none, one more call for the best the model can say,
    and a refusal that names what is missing. Before a draft that is a part of the answer stands
    that it is one.

    Args:
        question: The user's question.
        rounds: All rounds, or those that a system with a smaller budget would have made.
        pool: Every reference found, by id.
        settings: The settings of the system.
        sufficient: Whether the last draft is to be served.
        may_call: Whether the budget has a call left.
        spent: The cost of the question so far.
        write: The function that emits the event of a call that begins.
        history: The turns before the question.
        images: The images of the question and of these turns.

    Raises:
        ModelError: The model failed at that call, and no draft could be the answer.
    """

    wanted = settings.response_format

    def references_of(round_: Plain) -> list[Reference]:
        """The references in a draft's prompt, which its markers count."""
        return [from_plain(Reference, pool[key]) for key in round_["given"]]

    def drafted(round_: Plain) -> Conclusion:
        judged = from_plain(Reflection, round_["reflection"] or {"sufficient": True})
        return Conclusion(
            round_["draft"],
            references_of(round_),
            sufficient=judged.sufficient and round_["reflection"] is not None,
            missing=judged.missing,
            is_part=not judged.sufficient and judged.reason != CITES_NOTHING,
            numbers=None if wanted is None else round_.get("citations", ()),
        )

    # A draft whose only text is markers that name no reference is empty once they are resolved.
    if sufficient and (served := drafted(rounds[-1])).cited.text:
        return served
    last = references_of(rounds[-1]) if rounds else []
    missing = _missing(rounds)
    refused = Conclusion(refuse(question, missing), last, missing=missing)
    if settings.when_insufficient == "refuse":
        return refused
    drafts = (drafted(each) for each in reversed(rounds) if not is_refusal(each["draft"]))
    answers = [each for each in drafts if each.cited.text]
    for each in answers:
        if each.cited.citations:
            return each.as_part(question)
    if settings.when_insufficient == "own_knowledge" and may_call:
        write(events.start("answer_anyway", len(rounds)))
        try:
            packed, generation = yield from ask_with_fitting(
                lambda references: answering.answer_anyway(
                    settings.model,
                    question,
                    references,
                    settings.demonstrations,
                    templates=settings.templates,
                    metadata_keys=settings.metadata_keys,
                    history=history,
                    images=images,
                    response_format=wanted,
                    may_ask=call_left(settings, spent),
                ),
                last,
                settings,
                settings.templates.answer_anyway,
                [question, *history],
                spent=spent,
            )
        except ModelError:
            if not answers:
                raise
        else:
            text, numbers = generation.text.strip(), None
            handed = last[: len(packed.references)]
            if wanted is not None:
                reply = wanted.read(text, "answer_anyway", len(handed))
                text, numbers = reply.text, reply.citations
            return Conclusion(
                text, handed, missing=missing, usage=generation.usage, numbers=numbers
            )
    return answers[0].as_part(question) if answers else refused


def object_of(settings: Settings, text: str) -> Plain:
    """The state's key for the object of an answer's text; nothing where texts are wanted."""
    wanted = settings.response_format
    return {} if wanted is None else {"structured_response": wanted.object_in(text)}


def object_stream(settings: Settings, *, states_verdict: bool = False) -> ObjectStream | None:
    """What passes on an object as its pieces arrive; None where texts are wanted."""
    if settings.response_format is None:
        return None
    from skr_core.schemas import ObjectStream

    return ObjectStream(states_verdict=states_verdict)


def is_served(stop_reason: str, settings: Settings) -> bool:
    """Whether the last draft is the answer, as the model wrote it."""
    # As a best draft, an answer that cites nothing is served, and may have been streamed already.
    uncited = stop_reason == "uncited" and settings.when_insufficient == "best_draft"
    return uncited or stop_reason == "sufficient"


def answer_in(conclusion: Conclusion, made: Answer) -> Answer:
    """Make an answer of a conclusion, with the decision, rounds and cost of `made`."""
    cited = conclusion.cited
    return replace(
        made,
        text=cited.text,
        citations=cited.citations,
        references=tuple(conclusion.references),
        removed_markers=cited.removed,
        grounded=conclusion.grounded,
        sufficient=conclusion.sufficient,
        missing=conclusion.missing,
    )


def abstention_for(question: str, chance: float | None, settings: Settings) -> str | None:
    """What is said in place of an answer that is too unlikely to be right; None where it is not."""
    least = settings.abstain_below
    if least is None or chance is None or chance >= least:
        return None
    return settings.abstention or refuse(question)


def abstaining(made: Answer, chance: float | None, settings: Settings) -> Answer:
    """Say that nothing is known for sure in place of an answer that is too unlikely to be right."""
    said = abstention_for(made.question, chance, settings)
    if said is None:
        return made
    return replace(
        made, text=said, citations=(), removed_markers=0, grounded=False, sufficient=False
    )


def _missing(rounds: Sequence[Plain]) -> str:
    """The latest missing information that a reflection names."""
    reflections = [each["reflection"] for each in reversed(rounds) if each["reflection"]]
    return next((each["missing"] for each in reflections if each["missing"]), "")


def missing_in(round_: Plain | None) -> str:
    """The information that the reflection on a round found missing."""
    reflection = round_["reflection"] if round_ else None
    return str(reflection["missing"]) if reflection else ""


def best_draft(state: SKRState, failure: ModelError) -> Plain:
    """End with the best draft so far, after the model failed or its time was over.

    Raises:
        ModelError: No draft could be the answer.
    """
    if all(is_refusal(each["draft"]) for each in state["rounds"]):
        raise failure
    stop_reason = "deadline" if isinstance(failure, DeadlineError) else "model_failed"
    return {"rounds": rounds_with(state, failure), "stop_reason": stop_reason}


def rounds_with(state: SKRState, failure: ModelError) -> list[Plain]:
    """The rounds, with the model's failure among the errors of the last."""
    *earlier, last = state["rounds"]
    return [*earlier, {**last, "errors": [*last["errors"], f"the model failed: {failure}"]}]


def finish(state: SKRState, step: StepContext) -> Flow[Update]:
    """Choose the answer and resolve its citations; an arbiter may yet set it aside."""
    settings = step.settings
    if state["stop_reason"] == "confirmed":
        return _confirmed(state, step)
    chosen = yield from conclude(
        state["question"],
        state["rounds"],
        state["pool"],
        settings,
        sufficient=is_served(state["stop_reason"], settings),
        may_call=not call_limit(state, settings.budget),
        spent=usage_of(state),
        write=step.write,
        history=exchanges(state["asked"]["turns"]),
        images=images_of(state),
    )
    cited = chosen.cited
    citations = [to_plain(citation) for citation in cited.citations]
    called = chosen.usage != NO_USAGE
    concluded: Plain = {
        "citations": citations,
        "references": [state["pool"][reference.id] for reference in chosen.references],
        "usage": usage_with(state, "answer_anyway", chosen.usage) if called else state["usage"],
        "removed_markers": cited.removed,
        "grounded": chosen.grounded,
        "sufficient": chosen.sufficient,
        "missing": chosen.missing,
        **object_of(settings, cited.text),
    }
    if _is_undecided(state, cited.text, concluded["usage"], settings):
        return Command(update={"answer": cited.text, **concluded}, goto="arbitrate")
    message = say(cited.text, citations, chosen.references, state, step)
    return {"answer": cited.text, "messages": [message], **concluded}


def _confirmed(state: SKRState, step: StepContext) -> Plain:
    """Serve the direct answer, with the first passage in which it stands cited."""
    decision, found = state["decision"], references_of(state)
    text = resolve_citations(decision["draft"], ()).text
    numbers = (1,) if found else ()
    cited = cite_beside(text, numbers, found)
    if found and not is_json(text):
        cited = resolve_citations(f"{text} [1]", found)
    made = replace(
        answer_of(state),
        text=cited.text,
        citations=cited.citations,
        references=tuple(found),
        sufficient=not is_refusal(text),
    )
    served = abstaining(made, decision["chance"], step.settings)
    citations = [to_plain(citation) for citation in served.citations]
    return {
        "answer": served.text,
        "citations": citations,
        "references": [state["pool"][each.id] for each in found],
        "logprob": (state.get("direct") or {}).get("confidence"),
        "sufficient": served.sufficient,
        "chance": decision["chance"],
        **object_of(step.settings, served.text),
        "messages": [say(served.text, citations, found, state, step)],
    }


def say(
    text: str,
    citations: Sequence[Plain],
    references: Sequence[Reference],
    state: SKRState,
    step: StepContext,
) -> AnyMessage:
    """Emit the final answer; returns the message that the conversation keeps."""
    drafted = state["drafted"]
    streamed = drafted["streamed"] if drafted else None
    tokens = TokenStream(step.write, references, streamed=streamed)
    tokens.finish(text)
    step.write(events.answer(text, citations, state["stop_reason"]))
    return answered(text, tokens.message_id, step.config)


def _is_undecided(
    state: SKRState, text: str, usage: Mapping[str, Plain], settings: Settings
) -> bool:
    """Whether an arbiter may serve another answer than the loop's, or a ladder tell its chance.

    A refusal stands where the settings always refuse. The model's own answer must be known already
    or within the budget.
    """
    if not state["rounds"]:
        return False
    if settings.arbiter is None:
        return isinstance(settings.router, ClimbingRouter) and bool(state["decision"]["draft"])
    if is_refusal(text) and settings.when_insufficient == "refuse":
        return False
    if state["decision"]["draft"]:
        return True
    after: SKRState = {**state, "usage": dict(usage)}
    return state["stop_reason"] != "model_failed" and not call_limit(after, settings.budget)
