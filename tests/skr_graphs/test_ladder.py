"""A ladder as a system's router: it climbs and serves as it would on the same answers on record."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from skr_core import (
    Answer,
    AnswerArbiter,
    ClimbingRouter,
    Generation,
    Prompt,
    Question,
    Settings,
    load_router,
)
from skr_core.errors import InputError, StampMismatch
from skr_core.replies import say_partial
from skr_core.routers import AlwaysRetrieve
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_graphs import GraphAnswerer, SKRContext, create_self_completion_graph
from skr_graphs.state import OUTPUT_KEYS
from skr_learn import Records, acollect, calibrate, collect
from tests.skr_graphs.climbing import BEST, KINDS, Knowing, ladder, library, question_of
from tests.skr_graphs.doubles import Invoke, both

pytestmark = pytest.mark.usefixtures("few_trees")

UNSEEN = range(30, 36)
ASKED = {kind: question_of(kind, 30).asked for kind in KINDS}
EAGER = SKRContext(stream=True)


def graph_of(model: Any, **options: Any) -> Any:
    chosen = {"router": ladder(), "retriever": library(UNSEEN), **options}
    return create_self_completion_graph(model=model, **chosen).compile()


def tasks(model: Knowing) -> list[str]:
    return [prompt.task for prompt in model.prompts]


@pytest.mark.parametrize("form", ["sync", "async"])
def test_each_kind_goes_as_far_as_its_answer_is(form: str):
    system = GraphAnswerer(Settings.of(Knowing(), library(UNSEEN), router=ladder()))
    asked = [question_of(kind, n).asked for kind in KINDS for n in UNSEEN]
    answers: list[Answer] = [
        system.answer(each) if form == "sync" else asyncio.run(system.aanswer(each))
        for each in asked
    ]
    right = [BEST[kind] for kind in KINDS for _ in UNSEEN]
    assert [answer.decision.action for answer in answers] == right


@both
def test_a_known_question_costs_its_draft_alone(invoke: Invoke):
    model = Knowing()
    output = invoke(graph_of(model), ASKED["sum"])
    assert (output["answer"], output["stop_reason"]) == ("31 apples.", "known")
    assert tasks(model) == ["answer_directly"]
    assert set(output) == {*OUTPUT_KEYS} - {"verdict", "structured_response"}
    assert "judging by the answer from memory, searching on" in output["decision"]["reason"]


@both
def test_it_ends_where_another_round_is_not_worth_it(invoke: Invoke):
    model = Knowing()
    output = invoke(graph_of(model), ASKED["hut"])
    hill = say_partial(ASKED["hut"], "On hill 30 [1].")
    assert (output["answer"], output["stop_reason"]) == (hill, "not_worth_it")
    assert tasks(model) == ["answer_directly", "answer_with_references"]
    assert (output["grounded"], len(output["rounds"])) == (False, 1)
    assert output["decision"]["max_rounds"] == 1
    assert "the answer from memory and the answer after one search" in output["decision"]["reason"]
    assert output["decision"]["score"] <= output["decision"]["threshold"]
    assert output["decision"]["draft"] == "Seven of them."
    verdict = output["verdict"]
    assert verdict["served"] == "single"
    assert verdict["answers"] == {"direct": "Seven of them.", "single": hill}
    assert output["usage"]["route"]["calls"] == 1


@both
def test_a_round_that_suffices_ends_as_such(invoke: Invoke):
    output = invoke(graph_of(Knowing()), ASKED["leader"])
    assert (output["answer"], output["stop_reason"]) == ("Ada 30 [1].", "sufficient")
    assert set(output["verdict"]["answers"]) == {"direct", "single"}


@both
def test_it_goes_on_where_that_is_worth_it(invoke: Invoke):
    model = Knowing()
    output = invoke(graph_of(model), ASKED["captain"])
    assert (output["answer"], output["stop_reason"]) == ("Bo 30 [2].", "sufficient")
    assert tasks(model) == ["answer_directly"] + ["answer_with_references"] * 2
    assert output["decision"]["max_rounds"] is None
    assert output["verdict"]["answers"] == {
        "direct": "Seven of them.",
        "single": say_partial(ASKED["captain"], "A sailor [1]."),
        "loop": "Bo 30 [2].",
    }


def test_it_tells_both_decisions_and_streams_what_is_served():
    events = list(
        graph_of(Knowing()).stream({"question": ASKED["hut"]}, stream_mode="custom", context=EAGER)
    )
    kinds = [event["type"] for event in events]
    assert kinds.count("route") == 2
    assert kinds[-4:] == ["verdict", "sources", "token", "answer"]
    assert "retract" not in kinds
    hill = say_partial(ASKED["hut"], "On hill 30 [1].")
    assert "".join(each["text"] for each in events if each["type"] == "token") == hill
    at_once = SKRContext(stream=True, stream_undecided=True)
    streamed = list(
        graph_of(Knowing()).stream(
            {"question": ASKED["leader"]}, stream_mode="custom", context=at_once
        )
    )
    kinds = [event["type"] for event in streamed]
    assert kinds.index("token") < kinds.index("verdict")
    assert "".join(each["text"] for each in streamed if each["type"] == "token") == "Ada 30 [1]."


@both
def test_its_file_is_a_router_s_and_brings_all_of_it_along(tmp_path: Path, invoke: Invoke):
    ladder().save(tmp_path / "router")
    graph = graph_of(Knowing(), router=tmp_path / "router")
    for kind, stopped in (("sum", "known"), ("hut", "not_worth_it"), ("captain", "sufficient")):
        assert invoke(graph, ASKED[kind])["stop_reason"] == stopped
    settings = Settings.of(Knowing(), library(UNSEEN), router=tmp_path / "router")
    assert settings.arbiter is settings.router
    assert isinstance(settings.router, ClimbingRouter)
    assert isinstance(settings.router, AnswerArbiter)
    with pytest.raises(
        StampMismatch, match="this policy router was made with the model 'scripted'"
    ):
        Settings.of(Knowing(name="other"), library(UNSEEN), router=tmp_path / "router")


@both
def test_a_run_that_replaces_the_router_weighs_no_answers(invoke: Invoke):
    model = Knowing()
    always = SKRContext(router=AlwaysRetrieve())
    output = invoke(graph_of(model), ASKED["hut"], context=always)
    assert tasks(model) == ["answer_with_references"] * 2
    assert (output["answer"], "verdict" in output) == ("In the Dead Sea [2].", False)


def test_a_run_may_bring_a_ladder_of_its_own():
    frugal = ladder().with_rules(weight=5.0)
    plain = graph_of(Knowing(), router=None)
    for graph in (plain, graph_of(Knowing())):
        output = graph.invoke({"question": ASKED["hut"]}, context=SKRContext(router=frugal))
        assert (output["answer"], output["stop_reason"]) == ("Seven of them.", "known")


def test_actions_that_are_asked_for_are_answered_by_themselves():
    model = Knowing()
    answers = GraphAnswerer(Settings.of(model, library(UNSEEN), router=ladder())).answer_each(
        ASKED["hut"]
    )
    assert {action: answer.text for action, answer in answers.items()} == {
        "direct": "Seven of them.",
        "single": say_partial(ASKED["hut"], "On hill 30 [1]."),
        "loop": "In the Dead Sea [2].",
    }
    assert all(answer.verdict is None for answer in answers.values())
    assert tasks(model) == ["answer_directly"] + ["answer_with_references"] * 2


def test_alone_it_asks_its_own_model(tmp_path: Path):
    climbing = ladder()
    with pytest.raises(InputError, match="give model="):
        climbing.decide(ASKED["sum"])
    ladder().save(tmp_path / "router")
    alone = load_router(tmp_path / "router", model=Knowing())
    decision = alone.decide(ASKED["sum"])
    assert (decision.retrieve, decision.draft) == (False, "31 apples.")
    assert asyncio.run(alone.adecide(ASKED["hut"])).retrieve


# From collected records to a served verdict: an arbiter learns from what it weighs when serving.

NUMBERS = range(40)
SUMS = [Question(f"s{n}", f"What is {n} plus 1?", (f"{n + 1} apples",)) for n in NUMBERS]
TEAMS = [Question(f"t{n}", f"Who led team {n}?", (f"Ada {n}",)) for n in NUMBERS]


class Half(ScriptedModel):
    """Adds right without references and is misled by them; knows leaders from references alone."""

    def generate(self, prompt: Prompt, *, on_token: object = None) -> Generation:
        *_, last = prompt.question.rstrip("?").split()
        from_references = prompt.task == "answer_with_references"
        if prompt.question.startswith("Who"):
            return Generation(f"SUFFICIENT\nAda {last} [1]." if from_references else "Bob.")
        said = f"{int(prompt.question.split()[2]) + 1} apples."
        return Generation("SUFFICIENT\nOne basket [1]." if from_references else said)


def found(questions: list[Question]) -> MappingRetriever:
    return MappingRetriever(
        {
            each.asked: [
                f"In that year {each.gold[0]} led it."
                if each.asked.startswith("Who")
                else "Apples come in one basket."
            ]
            for each in questions
        }
    )


@pytest.mark.parametrize("form", ["sync", "async"])
def test_what_is_collected_decides_what_is_served(form: str, tmp_path: Path):
    asked = [*SUMS, *TEAMS]
    settings = Settings.of(Half(), found(asked))
    out = tmp_path / "records.jsonl"
    seen, unseen = [*SUMS[:-1], *TEAMS[:-1]], (SUMS[-1], TEAMS[-1])
    if form == "sync":
        collect(seen, GraphAnswerer(settings), out=out)
    else:
        asyncio.run(acollect(seen, GraphAnswerer(settings), out=out))
    records = Records.read(out)
    assert all(each.outcomes["loop"].standing is not None for each in records)
    calibrate(records, routers=["arbiter"], anyway=True).save(tmp_path / "router")

    system = GraphAnswerer(Settings.of(Half(), found(asked), router=tmp_path / "router"))
    answers: list[Answer] = [
        system.answer(each.asked) if form == "sync" else asyncio.run(system.aanswer(each.asked))
        for each in unseen
    ]
    assert [answer.text for answer in answers] == ["40 apples.", "Ada 39 [1]."]
    assert [answer.grounded for answer in answers] == [False, True]
    chances = [answer.verdict.chances for answer in answers if answer.verdict]
    assert chances[0]["direct"] > 0.8 > 0.2 > chances[0]["loop"]
    assert chances[1]["loop"] > 0.8 > 0.2 > chances[1]["direct"]
    with pytest.raises(StampMismatch, match="this policy router was made with the model"):
        Settings.of(Half(name="other"), found(asked), router=tmp_path / "router")
