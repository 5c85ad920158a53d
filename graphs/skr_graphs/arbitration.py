"""Weighing answers against each other: the model's own, the first round's and the loop's.

An arbiter weighs them at the end of the loop. A router that is a ladder weighs them after the first
round already, to decide whether another is worth its cost. The model's own answer takes one short
call, unless the router has it; the first round's takes none: what a system of one round would have
answered is read off the rounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from skr_core.errors import ModelError
from skr_core.flow import Flow, call
from skr_core.plain import Plain, from_plain, to_plain
from skr_core.ports import AnswerArbiter, ClimbingRouter, ConfirmingRouter
from skr_core.references.citations import resolve_citations
from skr_core.replies.refusals import is_refusal
from skr_core.types import NO_USAGE, Action, Answer, Decision, Usage, Verdict
from skr_graphs import events
from skr_graphs.asking import ask_directly
from skr_graphs.finish import (
    abstaining,
    answer_in,
    conclude,
    is_served,
    object_of,
    rounds_with,
    say,
)
from skr_graphs.node import StepContext
from skr_graphs.state import SKRState, answer_of, references_of, usage_with

if TYPE_CHECKING:
    from skr_core.candidates import CandidateAnswer


def decide_again(
    state: SKRState, step: StepContext, rounds: Sequence[Plain], stop_reason: str
) -> Flow[Decision | None]:
    """Ask a ladder whether to go on after the first round; None for other routers and rounds.

    It is asked even if the loop ends with this round anyway. If the ladder would have stopped here
    too, the arbiter weighs only the direct answer and that of this round.

    Args:
        state: The state of the question.
        step: The settings and functions of the step.
        rounds: All rounds, the last with its reflection.
        stop_reason: The reason why the loop ends with this round; empty where it does not.
    """
    router = step.settings.router
    if len(rounds) > 1 or not isinstance(router, ClimbingRouter):
        return None
    before = from_plain(Decision, state["decision"])
    if before.max_rounds is not None or not {"single", "loop"} <= {*router.actions}:
        return None
    first = yield from conclude(
        state["question"],
        rounds,
        state["pool"],
        step.settings,
        sufficient=is_served(stop_reason, step.settings),
        may_call=False,
    )
    made = answer_of(state)
    direct = replace(made, text=resolve_citations(before.draft, ()).text, decision=Decision(False))
    given = described({"direct": direct, "single": answer_in(first, made)}, state.get("direct"))
    found: Decision = yield from call(
        router.decide_after, router.adecide_after, state["asked"]["standalone"], given
    )
    decision = replace(found, usage=before.usage, draft=before.draft)
    step.write(events.route(to_plain(decision)))
    return decision


def confirm(state: SKRState, step: StepContext) -> Flow[Plain]:
    """Ask a router that looks at what the first search found whether the direct answer stands.

    Args:
        state: The state of the question, whose only round has found something.
        step: The settings and functions of the step.

    Returns:
        What changes of the state; nothing for other routers.
    """
    router = step.settings.router
    if not isinstance(router, ConfirmingRouter) or not router.searches:
        return {}
    if (drafted := state["direct"]) is None:
        return {}
    # Loaded only where there is such a router.
    from skr_core.candidates import CandidateAnswer
    from skr_core.rivals import confirmation_in, holding

    before = from_plain(Decision, state["decision"])
    question, found = state["asked"]["standalone"], references_of({**state, "drafted": None})
    direct = from_plain(CandidateAnswer, drafted)
    direct = replace(direct, confirmation=confirmation_in(question, direct.text, found))
    judged: Decision = yield from call(
        router.decide_after, router.adecide_after, question, {"direct": direct}
    )
    decision = to_plain(replace(judged, usage=before.usage, draft=before.draft))
    step.write(events.route(decision))
    update: Plain = {"decision": decision, "direct": to_plain(direct)}
    if judged.retrieve:
        return update
    given = [each.id for each in holding(direct.text, found)]
    (only,) = state["rounds"]
    return {**update, "rounds": [{**only, "given": given}], "stop_reason": "confirmed"}


def described(
    answers: Mapping[Action, Answer], direct: Plain | None = None
) -> dict[Action, CandidateAnswer]:
    """Describe answers, the direct one among them, as arbiters compare them.

    Args:
        answers: The answers.
        direct: The state's `CandidateAnswer` of the direct one, where a router drafted it.
    """
    # Loaded only where there is an arbiter.
    from skr_core.candidates import CandidateAnswer
    from skr_core.rivals import candidate_of_answer

    text = answers["direct"].text
    made = {action: candidate_of_answer(answer, text) for action, answer in answers.items()}
    return {**made, "direct": from_plain(CandidateAnswer, direct)} if direct else made


def arbitrate(state: SKRState, step: StepContext) -> Flow[Plain]:
    """Serve the answer that the arbiter finds likeliest to be right; a ladder tells its chance.

    Where the model fails, the loop's answer stands.
    """
    loop, arbiter = answer_of(state), step.settings.arbiter
    served: Answer = loop
    chance: float | None = None
    update: Plain = {}
    try:
        direct, spent = yield from _direct(state, step)
        if spent != NO_USAGE:
            update["usage"] = usage_with(state, "arbitrate", spent)
        if arbiter is not None and direct.text:
            answers = yield from _answers(arbiter, state, step, direct, loop)
            verdict = yield from _verdict(arbiter, state, answers)
            served, chance = answers[verdict.served], verdict.chances.get(verdict.served)
            update["verdict"] = to_plain(verdict)
            step.write(events.verdict(update["verdict"]))
        elif isinstance(router := step.settings.router, ClimbingRouter):
            answers = yield from _answers(router, state, step, direct, loop)
            decision: Decision = yield from call(
                router.decide_after,
                router.adecide_after,
                state["asked"]["standalone"],
                described(answers, state.get("direct")),
            )
            chance = decision.chance
    except ModelError as failure:
        update["rounds"] = rounds_with(state, failure)
    update["chance"] = chance
    served = abstaining(served, chance, step.settings)
    citations = [to_plain(citation) for citation in served.citations]
    message = say(served.text, citations, served.references, state, step)
    if served is not loop:
        update |= {
            "answer": served.text,
            "citations": citations,
            "references": [state["pool"][reference.id] for reference in served.references],
            "removed_markers": served.removed_markers,
            "logprob": served.logprob,
            "grounded": served.grounded,
            "sufficient": served.sufficient,
            "missing": served.missing,
        }
    return {**update, **object_of(step.settings, served.text), "messages": [message]}


def _direct(state: SKRState, step: StepContext) -> Flow[tuple[Answer, Usage]]:
    """The answer without references, and the cost of asking for it here."""
    text, logprob = state["decision"]["draft"], (state.get("direct") or {}).get("confidence")
    spent = NO_USAGE
    if not text:
        step.write(events.start("arbitrate", len(state["rounds"])))
        generation = yield from ask_directly(state, step.settings)
        text, logprob = generation.text.strip(), generation.mean_logprob
        spent = generation.usage
    cited = resolve_citations(text, ())
    made = replace(
        answer_of(state),
        text=cited.text,
        citations=(),
        references=(),
        decision=Decision(False),
        removed_markers=cited.removed,
        logprob=logprob,
        grounded=False,
        sufficient=not is_refusal(cited.text),
        missing="",
    )
    return made, spent


def _answers(
    arbiter: AnswerArbiter | ClimbingRouter,
    state: SKRState,
    step: StepContext,
    direct: Answer,
    loop: Answer,
) -> Flow[Mapping[Action, Answer]]:
    """The answers that the arbiter or the ladder looks at, by the actions that it knows.

    An arbiter without a loop is shown the loop's answer as that of a single round. A ladder that
    ended after the first round is shown no answer of the loop.
    """
    single = loop
    if {"single", "loop"} <= {*arbiter.actions} and len(state["rounds"]) > 1:
        # Its draft was found insufficient, or there would be no second round.
        first = yield from conclude(
            state["question"],
            state["rounds"][:1],
            state["pool"],
            step.settings,
            sufficient=False,
            may_call=False,
        )
        single = answer_in(first, loop)
    at_hand: Mapping[Action, Answer] = {"direct": direct, "single": single, "loop": loop}
    reached = state["decision"]["max_rounds"] == 1 and isinstance(arbiter, ClimbingRouter)
    left_out = "loop" if reached and "single" in arbiter.actions else None
    return {action: at_hand[action] for action in arbiter.actions if action != left_out}


def _verdict(
    arbiter: AnswerArbiter, state: SKRState, answers: Mapping[Action, Answer]
) -> Flow[Verdict]:
    given = described(answers, state.get("direct"))
    verdict: Verdict = yield from call(
        arbiter.judge, arbiter.ajudge, state["asked"]["standalone"], given
    )
    return replace(verdict, answers={action: each.text for action, each in answers.items()})
