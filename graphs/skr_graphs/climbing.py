"""Where the router is a ladder: is another round worth its price, once the first has answered?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from skr_core.flow import Flow, call
from skr_core.plain import from_plain, to_plain
from skr_core.ports import ClimbingRouter
from skr_core.references.citations import resolve_citations
from skr_core.replies.opening import strip_thoughts
from skr_core.types import Action, Answer, Decision
from skr_graphs import events
from skr_graphs.finish import answer_in, conclude, is_served
from skr_graphs.node import StepContext
from skr_graphs.state import Plain, SKRState, answer_of

if TYPE_CHECKING:
    from skr_core.candidates import CandidateAnswer


def decide_again(
    state: SKRState, step: StepContext, rounds: Sequence[Plain], stop_reason: str
) -> Flow[Decision | None]:
    """What a ladder decides once the first round has answered; None of other routers and rounds.

    It is asked also where the loop ends with this round in any case. Where it would have ended it
    too, the direct answer and this round's are all that is weighed for being served.

    Args:
        state: Of the question.
        step: What the step works with.
        rounds: All rounds, the last with its reflection.
        stop_reason: Why the loop ends with this round; empty where it does not.
    """
    router = step.settings.router
    if len(rounds) > 1 or not hasattr(router, "decide_after"):
        return None
    before = from_plain(Decision, state["decision"])
    if (
        not isinstance(router, ClimbingRouter)
        or not {"single", "loop"} <= {*router.actions}
        or before.max_rounds is not None
    ):
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
    direct = resolve_citations(strip_thoughts(before.draft), ()).text
    seen = seen_of(
        {
            "direct": replace(
                made, text=direct, decision=Decision(False), logprob=state.get("draft_logprob")
            ),
            "single": answer_in(first, made),
        }
    )
    found: Decision = yield from call(
        router.decide_after, router.adecide_after, state["asked"]["standalone"], seen
    )
    decision = replace(found, usage=before.usage, draft=before.draft)
    step.write(events.route(to_plain(decision)))
    return decision


def seen_of(answers: Mapping[Action, Answer]) -> dict[Action, CandidateAnswer]:
    """What is seen of answers, the direct one among them, that stand beside each other."""
    from skr_core.rivals import candidate_of_answer  # who has no arbiter needs none of it

    direct = answers["direct"].text
    return {action: candidate_of_answer(answer, direct) for action, answer in answers.items()}
