"""Where there is an arbiter, it decides between the answers at hand; elsewhere nothing changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from skr_core import Budget, Generation, Settings, Verdict
from skr_core.errors import InputError, StampMismatch
from skr_core.prompts import REFUSAL
from skr_core.replies import say_partial
from skr_core.routers import (
    AlwaysRetrieve,
    NeverRetrieve,
)
from skr_core.testing import ScriptedModel
from skr_graphs import GraphAnswerer, SKRContext, answer_of, create_self_completion_graph
from skr_graphs.state import OUTPUT_KEYS
from skr_learn import Record
from skr_learn.policy import WeighingPolicy
from tests.skr_graphs.deciding import (
    DOUBLE,
    HUT,
    LEADER,
    SUM,
    WRONG,
    adding,
    arbiter,
    drafting,
    graph_of,
    library,
    model_of,
    weighing,
)
from tests.skr_graphs.doubles import FailingModel, Invoke, both

pytestmark = pytest.mark.usefixtures("few_trees")

EAGER = SKRContext(stream=True)


def tasks(model: ScriptedModel) -> list[str]:
    return [prompt.task for prompt in model.prompts]


@both
def test_the_model_s_own_answer_is_served_where_it_is_likelier_right(invoke: Invoke):
    model = adding()
    output = invoke(graph_of(model), SUM)
    assert tasks(model) == ["answer_with_references", "answer_directly"]
    assert (output["answer"], output["stop_reason"]) == ("42", "sufficient")
    assert (output["grounded"], output["citations"], output["references"]) == (False, [], [])
    assert {task: spent["calls"] for task, spent in output["usage"].items()} == {
        "answer_with_references": 1,
        "arbitrate": 1,
    }
    assert [message.text for message in output["messages"]] == [SUM, "42"]
    verdict = output["verdict"]
    assert verdict["served"] == "direct"
    assert verdict["answers"] == {"direct": "42", "single": WRONG, "loop": WRONG}
    assert verdict["chances"]["direct"] > verdict["chances"]["loop"]
    assert "the answer from memory is the likeliest" in verdict["reason"]


@both
def test_the_loop_s_answer_is_served_where_that_is(invoke: Invoke):
    output = invoke(graph_of(model_of("7", "SUFFICIENT\nAda 50 [1].")), LEADER)
    assert (output["answer"], output["grounded"]) == ("Ada 50 [1].", True)
    assert output["verdict"]["served"] in ("single", "loop")
    assert output["verdict"]["answers"]["direct"] == "7"
    assert [each["text"] for each in output["references"]] == [f"about {LEADER}"]
    assert len(output["citations"]) == 1


@both
def test_the_first_round_s_answer_is_served_at_no_cost(invoke: Invoke):
    first = "INSUFFICIENT\nOn hill 50 [1].\nSearch: more"
    model = model_of("7", first, f"SUFFICIENT\n{WRONG}")
    output = invoke(graph_of(model), HUT)
    assert tasks(model) == ["answer_with_references"] * 2 + ["answer_directly"]
    assert output["verdict"]["served"] == "single"
    assert output["verdict"]["answers"] == {
        "direct": "7",
        "single": say_partial(HUT, "On hill 50 [1]."),
        "loop": WRONG,
    }
    assert output["answer"] == say_partial(HUT, "On hill 50 [1].")
    assert (output["grounded"], output["sufficient"]) == (False, False)
    assert [each["text"] for each in output["references"]] == [f"about {HUT}"]
    assert len(output["rounds"]) == 2


@both
def test_answers_that_agree_are_served_with_their_references(invoke: Invoke):
    output = invoke(graph_of(model_of("42", "SUFFICIENT\n42 [1].")), SUM)
    assert (output["answer"], output["grounded"]) == ("42 [1].", True)
    assert output["verdict"]["reason"] == "all answers agree"


@both
def test_a_draft_of_the_router_costs_no_further_call(invoke: Invoke):
    model = adding()
    router = drafting(retrieves=True)
    output = invoke(graph_of(model, router=router, budget=Budget(max_calls=2)), SUM)
    assert tasks(model) == ["answer_directly", "answer_with_references"]
    assert (output["answer"], output["verdict"]["served"]) == ("42", "direct")
    assert "arbitrate" not in output["usage"]


def test_it_sees_how_likely_the_draft_s_tokens_are():
    class Certain(ScriptedModel):
        def generate(self, prompt: Any, *, on_token: Any = None) -> Generation:
            made = super().generate(prompt, on_token=on_token)
            return Generation(made.text, made.usage, logprobs=(-0.25, -0.75))

    replies: Any = {"answer_directly": ["42"], "answer_with_references": [f"SUFFICIENT\n{WRONG}"]}
    router = drafting(retrieves=True)
    for options in ({}, {"router": router}):
        output = graph_of(Certain(replies), **options).invoke({"question": SUM})
        assert (output["answer"], output["logprob"]) == ("42", -0.5)


@both
def test_no_call_is_made_that_the_budget_has_not_left(invoke: Invoke):
    model = adding()
    output = invoke(graph_of(model, budget=Budget(max_calls=1)), SUM)
    assert tasks(model) == ["answer_with_references"]
    assert output["answer"] == WRONG
    assert "verdict" not in output


@both
def test_where_the_model_fails_the_loop_s_answer_stands(invoke: Invoke):
    replies: Any = {"answer_with_references": [f"SUFFICIENT\n{WRONG}"]}
    output = invoke(graph_of(FailingModel(replies, fails="answer_directly")), SUM)
    assert (output["answer"], output["grounded"]) == (WRONG, True)
    assert output["rounds"][-1]["errors"] == ["the model failed: the model is away"]
    assert "verdict" not in output
    assert output["messages"][-1].text == WRONG


@both
def test_a_refusal_stands_where_the_settings_always_refuse(invoke: Invoke):
    model = model_of("100", REFUSAL, self_complete=["NONE"])
    output = invoke(graph_of(model, when_insufficient="refuse"), DOUBLE)
    assert "answer_directly" not in tasks(model)
    assert output["answer"].startswith(REFUSAL)
    assert "verdict" not in output


@both
@pytest.mark.parametrize("when_insufficient", ["best_draft", "own_knowledge"])
def test_elsewhere_a_refusal_is_weighed_like_any_answer(when_insufficient: str, invoke: Invoke):
    model = model_of("100", REFUSAL, self_complete=["NONE"], answer_anyway=[REFUSAL])
    output = invoke(graph_of(model, when_insufficient=when_insufficient), DOUBLE)
    assert (output["answer"], output["verdict"]["served"]) == ("100", "direct")
    assert not output["grounded"]
    assert output["verdict"]["answers"]["loop"].startswith(REFUSAL)


@both
def test_a_known_question_is_not_weighed(invoke: Invoke):
    model = adding()
    output = invoke(graph_of(model, router=NeverRetrieve()), SUM)
    assert tasks(model) == ["answer_directly"]
    assert (output["answer"], output["stop_reason"]) == ("42", "known")
    assert "verdict" not in output


@both
def test_an_arbiter_of_two_actions_weighs_the_loop_s_answer(invoke: Invoke):
    two = [
        Record.of(f"What is {n} plus 1?", direct=(f"{n + 1}", 1), single=(WRONG, 0))
        for n in range(30)
    ]
    model = model_of("42", "INSUFFICIENT\nNo [1].\nSearch: more", f"SUFFICIENT\n{WRONG}")
    output = invoke(graph_of(model, arbiter=weighing(two)), SUM)
    assert output["verdict"]["answers"] == {"direct": "42", "single": WRONG}
    assert output["answer"] == "42"


def blocking(graph: Any, mode: Any, question: str = SUM, context: Any = EAGER) -> list[Any]:
    return list(graph.stream({"question": question}, stream_mode=mode, context=context))


def awaited(graph: Any, mode: Any, question: str = SUM, context: Any = EAGER) -> list[Any]:
    async def collect() -> list[Any]:
        stream = graph.astream({"question": question}, stream_mode=mode, context=context)
        return [each async for each in stream]

    return asyncio.run(collect())


streamed = pytest.mark.parametrize("stream", [blocking, awaited])
Stream = Callable[..., list[Any]]


@streamed
def test_tokens_come_once_it_is_decided(stream: Stream):
    events = stream(graph_of(adding()), "custom")
    kinds = [event["type"] for event in events]
    assert kinds[-6:] == ["reflection", "start", "verdict", "sources", "token", "answer"]
    assert kinds.count("token") == 1
    assert events[-5]["task"] == "arbitrate"
    assert events[-4]["verdict"]["served"] == "direct"
    assert events[-3]["references"] == []
    assert (events[-2]["text"], events[-1]["answer"]) == ("42", "42")
    assert events[-1]["citations"] == []


def shown(events: list[Any]) -> str:
    """What stands on the screen of somebody who clears it at a retract event."""
    text = ""
    for event in events:
        text = (
            ""
            if event["type"] == "retract"
            else text + event.get("text", "") * (event["type"] == "token")
        )
    return text


@streamed
def test_who_asks_for_it_reads_tokens_at_once(stream: Stream):
    at_once = SKRContext(stream=True, stream_undecided=True)
    lost = stream(graph_of(adding()), "custom", context=at_once)
    kinds = [event["type"] for event in lost]
    assert kinds.index("token") < kinds.index("verdict") < kinds.index("retract")
    assert shown(lost) == "42"
    pieces = [message for message, _ in stream(graph_of(adding()), "messages", context=at_once)]
    final = pieces[-1].id
    assert "".join(each.text for each in pieces if each.id == final) == "42"
    assert "".join(each.text for each in pieces if each.id != final) == WRONG

    led = graph_of(model_of("7", "SUFFICIENT\nAda 50 [1]."))
    kept = stream(led, "custom", LEADER, at_once)
    kinds = [event["type"] for event in kept]
    assert kinds.index("token") < kinds.index("verdict")
    assert "retract" not in kinds
    assert (shown(kept), kinds.count("sources")) == ("Ada 50 [1].", 1)


@streamed
def test_messages_are_those_of_the_served_answer(stream: Stream):
    pieces = [message for message, _ in stream(graph_of(adding()), "messages")]
    assert [piece.text for piece in pieces] == ["42"]


@streamed
def test_without_an_arbiter_nothing_differs(stream: Stream):
    model = adding()
    plain = graph_of(model, arbiter=None)
    output = plain.invoke({"question": SUM})
    assert set(output) == {*OUTPUT_KEYS} - {"verdict", "structured_response"}
    assert tasks(model) == ["answer_with_references"]
    kinds = [event["type"] for event in stream(plain, "custom")]
    assert "verdict" not in kinds
    nodes = [name for update in stream(plain, "updates") for name in update]
    assert nodes[-1] == "finish"
    keys = {key for update in stream(plain, "updates") for each in update.values() for key in each}
    assert not {"verdict", "undecided", "direct"} & keys
    # Tokens come as the model makes them, before the draft is judged.
    assert kinds.index("token") < kinds.index("reflection")


def test_a_thread_inherits_no_verdict():
    graph = create_self_completion_graph(
        model=model_of("42", f"SUFFICIENT\n{WRONG}"), retriever=library(), arbiter=arbiter()
    ).compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    assert "verdict" in graph.invoke({"question": SUM}, thread)
    known = SKRContext(router=NeverRetrieve())
    assert "verdict" not in graph.invoke({"question": LEADER}, thread, context=known)


def test_actions_that_are_asked_for_are_answered_by_themselves():
    answerer = GraphAnswerer(Settings.of(adding(), library(), arbiter=arbiter()))
    served = answerer.answer(SUM)
    assert isinstance(served.verdict, Verdict)
    assert (served.text, served.verdict.served) == ("42", "direct")
    assert answerer.answer(SUM, "loop").text == WRONG
    each = answerer.answer_each(SUM)
    assert {action: answer.text for action, answer in each.items()} == {
        "direct": "42",
        "single": WRONG,
        "loop": WRONG,
    }
    assert all(answer.verdict is None for answer in each.values())


@both
def test_a_saved_router_that_is_an_arbiter_brings_it_along(tmp_path: Path, invoke: Invoke):
    AlwaysRetrieve().save(tmp_path / "always")
    assert Settings.of(adding(), library(), router=tmp_path / "always").arbiter is None
    arbiter().save(tmp_path / "router")
    graph = graph_of(adding(), router=tmp_path / "router", arbiter=None)
    assert invoke(graph, SUM)["answer"] == "42"
    # It stays where a run replaces something else, and goes with the router.
    assert invoke(graph, SUM, context=SKRContext(budget=Budget(max_rounds=1)))["answer"] == "42"
    for router in (AlwaysRetrieve(), "always"):
        output = invoke(graph, SUM, context=SKRContext(router=router))
        assert (output["answer"], "verdict" in output) == (WRONG, False)
    other = ScriptedModel(name="other")
    with pytest.raises(StampMismatch, match="router was made with the model 'scripted'"):
        Settings.of(other, library(), router=tmp_path / "router")
    with pytest.raises(StampMismatch):
        invoke(graph, SUM, context=SKRContext(model=other))


@both
def test_an_arbiter_of_one_s_own_stays_where_a_run_replaces_the_router(invoke: Invoke):
    graph = graph_of(adding(), router=AlwaysRetrieve())
    assert invoke(graph, SUM, context=SKRContext(router=AlwaysRetrieve()))["answer"] == "42"
    plain = graph_of(adding(), arbiter=None)
    assert invoke(plain, SUM)["answer"] == WRONG
    assert invoke(plain, SUM, context=SKRContext(arbiter=arbiter()))["answer"] == "42"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (42, "an arbiter has actions, judge and ajudge, which int lacks"),
        ("a/file", "which str lacks: give one$"),
        (WeighingPolicy, r"give WeighingPolicy\(...\), not the class itself"),
    ],
)
def test_what_is_no_arbiter_is_refused(given: Any, message: str):
    with pytest.raises(InputError, match=message):
        Settings.of(adding(), library(), arbiter=given)


def test_the_answer_of_an_output_holds_the_verdict():
    output = graph_of(adding()).invoke({"question": SUM})
    verdict = answer_of(output).verdict
    assert verdict is not None
    assert (verdict.served, verdict.answers["loop"]) == ("direct", WRONG)
