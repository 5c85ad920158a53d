"""The steps that read the question, decide, answer and reflect.

Each is a flow that takes the state and returns an update. A step that ends the loop says so by
setting ``stop_reason``; the edges only read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from langgraph.types import Overwrite

from skr_core import answering, conversation
from skr_core.bounds import steady_time
from skr_core.conversation import exchanges
from skr_core.errors import ModelError
from skr_core.flow import Flow, call
from skr_core.models.windows import history_tokens_for
from skr_core.plain import Plain, from_plain, to_plain
from skr_core.ports import ClimbingRouter, DraftRouter
from skr_core.prompts.asking import checked_question
from skr_core.prompts.templates import ChatTemplate
from skr_core.references.citations import resolve_citations, without_markers
from skr_core.reflectors import RefusalReflector, judge_reply
from skr_core.replies.refusals import is_refusal
from skr_core.replies.reply import Reply, read_reply
from skr_core.settings import Settings, decided, reflected, refreshed
from skr_core.types import NO_USAGE, Decision, Generation, Image, Reference
from skr_graphs import events
from skr_graphs.arbitration import decide_again
from skr_graphs.asking import TokenStream, ask_directly, ask_with_fitting, call_left
from skr_graphs.finish import abstention_for, best_draft, missing_in, object_of, object_stream
from skr_graphs.node import StepContext, call_limit, round_limit, warn_once
from skr_graphs.state import (
    AskedQuestion,
    DraftedReply,
    FirstState,
    Opening,
    SKRState,
    answered,
    images_of,
    open_conversation,
    queries_asked,
    references_of,
    said_in,
    usage_of,
    usage_with,
)


def condense(state: FirstState, step: StepContext) -> Flow[Plain]:
    """Begin the state anew, and rewrite a question that leans on its conversation.

    Raises:
        InputError: There is no question, or the conversation is none, see `open_conversation`.
    """
    started_at = steady_time()
    opening = open_conversation(state)
    yield from refreshed(step.settings.router)
    question, settings = opening.question, step.settings
    room = history_tokens_for(settings.budget, settings.model)
    turns = conversation.latest_turns(said_in(opening.before), room)
    condensed = conversation.CondensedQuestion(question)
    if conversation.needs_condensing(question, turns, settings.budget):
        step.write(events.start("condense", 0))
        condensed = yield from conversation.condense(
            settings.model,
            question,
            turns,
            templates=settings.templates,
            allow_query=settings.allow_query,
        )
        step.write(events.condense(condensed.question, condensed.error))
        if condensed.error:
            warn_once("condense", condensed.error)
    spent = condensed.usage
    begun: SKRState = {
        "question": question,
        "answer": "",
        "citations": [],
        "references": [],
        "decision": to_plain(Decision(True)),
        "rounds": [],
        "stop_reason": "",
        "usage": {"condense": to_plain(spent)} if spent != NO_USAGE else {},
        "removed_markers": 0,
        "logprob": None,
        "grounded": False,
        "sufficient": False,
        "missing": "",
        "chance": None,
        "messages": [] if opening.is_in_thread else [_as_message(opening)],
        "asked": AskedQuestion(
            question=question,
            id=opening.id,
            standalone=checked_question(condensed.question),
            turns=list(turns),
            system=opening.system,
            images=[to_plain(each) for each in opening.shown_images(turns)],
            started_at=started_at,
        ),
        "queries": [],
        "rankings": [],
        "drafted": None,
    }
    return {**begun, "pool": Overwrite({})}


def _as_message(opening: Opening) -> Any:
    # Not yet as a message: LangGraph would stream it among those of the answer.
    return {"role": "user", "content": opening.content, "id": opening.id}


def route(state: SKRState, step: StepContext) -> Flow[Plain]:
    """Decide whether to retrieve."""
    step.write(events.start("route", 0))
    decision, logprob = yield from _decide(
        state["asked"]["standalone"],
        step.settings,
        state["question"],
        exchanges(state["asked"]["turns"]),
        images_of(state),
    )
    plain = to_plain(decision)
    step.write(events.route(plain))
    usage = state["usage"]
    if decision.usage != NO_USAGE:
        usage = usage_with(state, "route", decision.usage)
    after: SKRState = {**state, "usage": usage}
    is_answered = not decision.retrieve and decision.draft
    spent = None if is_answered else call_limit(after, step.settings.budget)
    is_looked_at = step.settings.arbiter or isinstance(step.settings.router, ClimbingRouter)
    return {
        "decision": plain,
        "usage": usage,
        "queries": [] if step.settings.decompose else [state["asked"]["standalone"]],
        "stop_reason": spent or "",
        **({"direct": _candidate(decision.draft, logprob)} if is_looked_at else {}),
    }


def decide(
    question: str, settings: Settings, *, asked: str = "", history: Sequence[str] = ()
) -> Flow[Decision]:
    """Ask the router; one that looks at the direct answer is given that of this system.

    Args:
        question: The question, as it can be understood alone.
        settings: The settings of the system.
        asked: The question as it was asked after the history, where that differs.
        history: The turns before it, user and assistant in turn.
    """
    yield from refreshed(settings.router)
    decision, _ = yield from _decide(question, settings, asked, history, ())
    return decision


def _decide(
    question: str,
    settings: Settings,
    asked: str,
    history: Sequence[str],
    images: Sequence[Image],
) -> Flow[tuple[Decision, float | None]]:
    """Make the decision; returns also the mean log-probability of its draft's tokens."""
    router = settings.router
    if not (isinstance(router, DraftRouter) and router.drafts):
        decision: Decision = yield from decided(router, question)
        # Its own prompt had neither the app's words nor the images, which an answer must heed.
        is_own = images or isinstance(settings.templates.answer_directly, ChatTemplate)
        return (replace(decision, draft="") if is_own else decision), None
    direct = yield from answering.answer_directly(
        settings.model,
        asked or question,
        settings.demonstrations,
        templates=settings.templates,
        history=history,
        images=images,
        response_format=settings.response_format,
        may_ask=call_left(settings, NO_USAGE),
    )
    decision = yield from decide_on(question, router, direct)
    # An answer that was cut off is no answer to serve; it may be asked for again.
    return (replace(decision, draft="") if direct.is_cut_off else decision), direct.mean_logprob


def _cut_off(generation: Generation) -> str:
    return f"the reply was cut off (finish reason: {generation.finish_reason})"


def decide_on(question: str, router: DraftRouter, direct: Generation) -> Flow[Decision]:
    """Ask a router that looks at the direct answer, which is there already.

    Args:
        question: The question, as it can be understood alone.
        router: The router.
        direct: The direct answer, without its thoughts.
    """
    # The router learnt from records of direct answers as they are served.
    text = direct.text.strip()
    served = replace(direct, text=resolve_citations(text, ()).text)
    decision: Decision = yield from call(router.decide_on, router.adecide_on, question, served)
    return replace(decision, draft=text)


def _candidate(draft: str, logprob: float | None) -> Plain | None:
    """A draft as whoever chooses among answers sees it; None where there is none."""
    if not draft:
        return None
    from skr_core.rivals import candidate_of_generation  # a plain chain needs none of it

    plain: Plain = to_plain(candidate_of_generation(Generation(draft)))
    return {**plain, "confidence": logprob}


def answer_directly(state: SKRState, step: StepContext) -> Flow[Plain]:
    """Answer a known question with the router's draft, or from what the model knows."""
    settings = step.settings
    tokens = TokenStream(
        step.write, without_thoughts=True, objects=object_stream(settings), is_closed=step.is_closed
    )
    text, usage, logprob = state["decision"]["draft"], state["usage"], None
    missing = ""
    # A router's own draft need not be an object.
    if not text or object_of(settings, text).get("structured_response", text) is None:
        step.write(events.start("answer_directly", 0))
        generation = yield from ask_directly(state, settings, tokens.write if step.stream else None)
        text, logprob = generation.text.strip(), generation.mean_logprob
        usage = usage_with(state, "answer_directly", generation.usage)
        missing = _cut_off(generation) if generation.is_cut_off else ""
    cited = resolve_citations(text, ())
    chance = state["decision"]["chance"] if text == state["decision"]["draft"] else None
    said = abstention_for(state["question"], chance, settings)
    served = cited.text if said is None else said
    tokens.finish(served)
    step.write(events.answer(served, [], "known"))
    return {
        "answer": served,
        "messages": [answered(served, tokens.message_id, step.config)],
        "removed_markers": cited.removed if said is None else 0,
        "stop_reason": "known",
        "sufficient": said is None and not is_refusal(served) and not missing,
        "missing": missing,
        "usage": usage,
        "logprob": logprob,
        "chance": chance,
        **object_of(settings, served),
    }


def answer(state: SKRState, step: StepContext) -> Flow[Plain]:
    """Draft an answer from the references in hand; the same reply says whether they suffice.

    Where there are none, or the loop has ended, nothing is drafted. This is checked here and in
    `reflect`, because LangGraph copies all of the state for each conditional edge.
    """
    if state["stop_reason"] or not state["rounds"][-1]["given"]:
        return {}
    settings = step.settings
    # Drafts are streamed only under the default reflector, since another may still reject them; and
    # where another text may yet be served, only if `stream_undecided` is set.
    streams = (
        step.stream
        and isinstance(settings.reflector, RefusalReflector)
        and (not settings.weighs or step.stream_undecided)
    )
    *earlier, last = state["rounds"]
    before = earlier[-1] if earlier else None
    number = len(state["rounds"])
    must_cite = settings.templates.asks_for_citations or settings.response_format is not None
    # As a best draft, an answer that cites nothing is served, and marked.
    hold_uncited = must_cite and settings.when_insufficient != "best_draft"
    if settings.response_format is not None:
        streams = streams and not hold_uncited  # an object's citations come last
    asked_before, history = queries_asked(state), exchanges(state["asked"]["turns"])
    images = images_of(state)
    tokens: TokenStream

    def ask(references: Sequence[Reference]) -> Flow[Generation]:
        nonlocal tokens
        tokens = TokenStream(
            step.write,
            references,
            hold_refusals=True,
            hold_uncited=hold_uncited,
            states_verdict=settings.templates.adds_protocol,
            without_thoughts=True,
            objects=object_stream(settings, states_verdict=True),
            is_closed=step.is_closed,
        )
        return (
            yield from answering.answer_with_references(
                settings.model,
                state["question"],
                references,
                settings.demonstrations,
                tokens.write if streams else None,
                templates=settings.templates,
                queries=asked_before,
                missing=missing_in(before),
                partial=without_markers(before["draft"]) if before else "",
                metadata_keys=settings.metadata_keys,
                history=history,
                images=images,
                response_format=settings.response_format,
                may_ask=call_left(settings, usage_of(state)),
            )
        )

    step.write(events.start("answer_with_references", number))
    try:
        packed, generation = yield from ask_with_fitting(
            ask,
            references_of(state),
            settings,
            settings.templates.with_references,
            [state["question"], *asked_before, *history, before["draft"] if before else ""],
            spent=usage_of(state),
            rankings=state["rankings"],
            before=before["given"] if before else (),
        )
    except ModelError as failure:
        nothing = DraftedReply(reply=to_plain(Reply(None, "")), streamed=tokens.streamed, cut=None)
        return {**best_draft(state, failure), "drafted": nothing}
    if packed.dropped or packed.cut:
        dropped = [reference.id for reference in packed.dropped]
        step.write(events.packed(number, dropped, packed.cut.id if packed.cut else None))
    last = {**last, "given": [reference.id for reference in packed.references]}
    cut = [each for each in packed.references if packed.cut and each.id == packed.cut.id]
    given = len(packed.references)
    if settings.response_format is None:
        reply = read_reply(generation.text, given)
    else:
        reply = settings.response_format.read(generation.text, "answer_with_references", given)
    if generation.is_cut_off and reply.sufficient:
        reply = replace(reply, sufficient=False)  # what is missing may be what was cut off
    if generation.is_cut_off:
        last = {**last, "errors": [*last["errors"], _cut_off(generation)]}
    step.write(events.draft(number, reply.text))
    last = {**last, "draft": reply.text, "usage": to_plain(generation.usage)}
    if reply.citations:
        last["citations"] = list(reply.citations)
    return {
        "rounds": [*earlier, last],
        "drafted": DraftedReply(
            reply=to_plain(reply),
            streamed=tokens.streamed,
            cut=to_plain(cut[0]) if cut else None,
        ),
        "usage": usage_with(state, "answer_with_references", generation.usage),
    }


def reflect(state: SKRState, step: StepContext) -> Flow[Plain]:
    """Judge the draft, where there is one, and check whether the budget allows another round."""
    drafted = state["drafted"]
    if state["stop_reason"] or drafted is None:
        return {}
    *earlier, last = state["rounds"]
    reflector, budget = step.settings.reflector, step.settings.budget
    reply = from_plain(Reply, drafted["reply"])
    # A model that finds its references insufficient needs no judge to say so.
    if isinstance(reflector, RefusalReflector) or reply.sufficient is False:
        must_cite = (
            step.settings.templates.asks_for_citations or step.settings.response_format is not None
        )
        reflection = judge_reply(reply, must_cite=must_cite)
    elif spent := call_limit(state, budget):
        return {"stop_reason": spent}  # a judge may call a model, and no call is left
    else:
        step.write(events.start("reflect", len(state["rounds"])))
        try:
            reflection = yield from reflected(
                reflector, state["asked"]["standalone"], references_of(state), last["draft"]
            )
        except ModelError as failure:
            return best_draft(state, failure)
    plain = to_plain(reflection)
    step.write(events.reflection(len(state["rounds"]), plain))
    usage = state["usage"]
    if reflection.usage != NO_USAGE:
        usage = usage_with(state, "reflect", reflection.usage)
    after: SKRState = {**state, "usage": usage}
    if reflection.sufficient:
        stop_reason = "sufficient"
    elif isinstance(reflector, RefusalReflector) and reply.sufficient:
        stop_reason = "uncited"  # more references would not make the model cite them
    else:
        stop_reason = round_limit(after, budget) or ""
    rounds = [*earlier, {**last, "reflection": plain}]
    decision = yield from decide_again(state, step, rounds, stop_reason)
    if decision and decision.max_rounds == 1:
        stop_reason = stop_reason or "not_worth_it"
    update: Plain = {"rounds": rounds, "usage": usage, "stop_reason": stop_reason}
    # Where the loop ends here, the draft may still be the answer.
    if not stop_reason and drafted["streamed"]:
        TokenStream(step.write, streamed=drafted["streamed"]).retract()
        update["drafted"] = {**drafted, "streamed": None}
    if decision:
        update["decision"] = to_plain(decision)
    return update
