"""What a system returned, read as an answer: what feedback and monitoring need of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skr_core.errors import InputError
from skr_core.plain import from_plain
from skr_core.types import Answer, Decision, Round, Usage, Verdict


def answer_of_output(output: object) -> Answer:
    """Return what was asked, decided and answered, without references and citations.

    Args:
        output: An `Answer`; the output of a graph, or of a chain with ``return_sources=True``; the
            response of an engine of LlamaIndex; the state of an agent with `SKRMiddleware`; or what
            JSON holds of one of them.

    Raises:
        InputError: It is nothing of the kind, or no question was decided on.

    Example:
        >>> output = {"question": "Who?", "answer": "Ada", "decision": {"retrieve": False}}
        >>> answer_of_output(output).decision.action
        'direct'
    """
    if isinstance(output, Answer):
        return output
    about = output if isinstance(output, Mapping) else getattr(output, "metadata", None)
    if isinstance(about, Mapping) and "skr_decision" in about:
        about = _of_agent(about)
    if not isinstance(about, Mapping) or not isinstance(about.get("decision"), Mapping):
        raise InputError(
            f"this {type(output).__name__} says nothing of a decision: give an Answer, the output "
            "of a graph, of a chain with return_sources=True or of an engine, or an agent's state"
        )
    text = about.get("answer", getattr(output, "response", ""))
    verdict, chance = about.get("verdict"), about.get("chance")
    return Answer(
        question=str(about.get("question") or about.get("input") or ""),
        text=str(text or ""),
        citations=(),
        references=(),
        decision=from_plain(Decision, about["decision"]),
        rounds=tuple(from_plain(Round, each) for each in about.get("rounds") or ()),
        stop_reason=about.get("stop_reason", ""),
        usage={name: from_plain(Usage, each) for name, each in about.get("usage", {}).items()},
        logprob=about.get("logprob"),
        grounded=bool(about.get("grounded")),
        verdict=from_plain(Verdict, verdict) if verdict else None,
        chance=None if chance is None else float(chance),
    )


def _of_agent(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state of an agent, by the names of an answer."""
    decision, verdict = state["skr_decision"], state.get("skr_verdict")
    chance = verdict["chances"].get(verdict["served"]) if verdict else None
    if decision and not decision["retrieve"]:
        chance = decision.get("chance")
    said = state["messages"][-1] if state.get("messages") else ""
    queries = state.get("skr_queries") or ()
    return {
        "question": state.get("skr_question"),
        "answer": said["content"] if isinstance(said, Mapping) else getattr(said, "text", said),
        "decision": decision,
        "rounds": [{"queries": [each]} for each in queries],
        "stop_reason": state.get("skr_stop_reason"),
        "usage": {"agent": state["skr_usage"]} if state.get("skr_usage") else {},
        "grounded": state.get("skr_grounded"),
        "verdict": verdict,
        "chance": chance,
    }
