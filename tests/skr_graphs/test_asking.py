"""Prompts of the answers: references that do not fit, metadata, and drafts that are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from skr_core import Budget, Demonstration, Generation, Prompt, Reference, Settings
from skr_core.errors import InputError, ModelError
from skr_core.prompts import DEFAULT_TEMPLATES, REFUSAL
from skr_core.replies import say_partial
from skr_core.routers import NeverRetrieve
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_graphs import SKRContext, create_self_completion_graph
from tests.skr_graphs.deciding import drafting
from tests.skr_graphs.doubles import QUESTION, Invoke, both, searchable

WHERE = "Where is it?"
LONG = [f"Passage {n} says that it is in town {n}. " * 200 for n in range(10)]


def retriever(texts: list[str]) -> MappingRetriever:
    return MappingRetriever({WHERE: texts})


class Narrow(ScriptedModel):
    """Refuses prompts of more characters than it takes."""

    def __init__(self, most: int) -> None:
        super().__init__(["SUFFICIENT\nIt is in town 0 [1]."])
        self.most, self.refused = most, 0

    def generate(self, prompt: Prompt, *, on_token: object = None) -> Generation:
        if len(prompt.text) > self.most:
            self.refused += 1
            raise ModelError("This model's maximum context length is 1000 tokens.")
        return super().generate(prompt)


@both
def test_references_are_packed_by_rank_and_the_rest_is_named(invoke: Invoke):
    model = ScriptedModel(["SUFFICIENT\nIt is in town 0 [1]."])
    graph = create_self_completion_graph(
        model=model, retriever=retriever(LONG), budget=Budget(max_reference_tokens=3000)
    ).compile()
    output = invoke(graph, WHERE)
    [prompt] = model.prompts
    assert len(prompt.text) < 16_000
    assert 0 < len(output["rounds"][0]["given"]) < 10
    assert output["rounds"][0]["given"] == [each["id"] for each in output["references"]]
    assert output["grounded"]
    events = list(graph.stream({"question": WHERE}, stream_mode="custom"))
    [packed] = [event for event in events if event["type"] == "packed"]
    assert len(packed["dropped"]) == 10 - len(output["references"])


@both
def test_a_short_context_holds_what_each_round_found(invoke: Invoke):
    model = ScriptedModel(
        [
            "INSUFFICIENT\nIt is in a town [1].\nSearch: the name of the town",
            "SUFFICIENT\nIt is in Port Elm [3].",
        ]
    )
    found = {WHERE: LONG, "the name of the town": ["The town is Port Elm.", *LONG[:3]]}
    graph = create_self_completion_graph(
        model=model, retriever=MappingRetriever(found), budget=Budget(max_reference_tokens=3000)
    ).compile()
    output = invoke(graph, WHERE)
    first, second = model.prompts
    assert "Port Elm" not in first.text
    assert "The town is Port Elm." in second.text
    assert max(len(each.text) for each in model.prompts) < 16_000
    (citation,) = output["citations"]
    assert citation["quote"] == "The town is Port Elm."
    assert [each["id"] for each in output["references"]] == output["rounds"][1]["given"]


@both
def test_a_prompt_begins_as_the_one_before_it(invoke: Invoke):
    """References that stay keep their places, and what is new or says more stands behind them."""
    model = ScriptedModel(
        [
            "INSUFFICIENT\nIt is in a town [1].\nSearch: the town",
            "INSUFFICIENT\nIt is Elm [6].\nMissing: more\nSearch: the river",
            "SUFFICIENT\nIt is in Elm, on the Orr [7].",
        ]
    )
    short = [f"It is in town {n}." for n in range(5)]
    found = {
        WHERE: short,
        "the town": ["It is Elm.", "Elm has a hall.", short[2]],
        "the river": ["Elm is on the Orr.", short[4]],
    }
    graph = create_self_completion_graph(
        model=model, retriever=MappingRetriever(found), budget=Budget(max_references=7)
    ).compile()
    output = invoke(graph, WHERE)
    first, second, third = ([each.text for each in prompt.references] for prompt in model.prompts)
    assert first == short
    assert second == [*short, "It is Elm.", "Elm has a hall."]
    assert third == [*short[:3], short[4], "It is Elm.", "Elm has a hall.", "Elm is on the Orr."]
    beginning, last, _ = model.prompts[0].text.partition(short[-1])
    assert "cite the references" in beginning
    assert model.prompts[1].text.startswith(beginning + last)
    assert output["citations"][-1]["quote"] == "Elm is on the Orr."


@both
def test_a_round_that_brings_nothing_new_into_a_short_context_asks_no_model(invoke: Invoke):
    model = ScriptedModel(
        [
            "INSUFFICIENT\nIt is in a town [1].\nSearch: the name of the town",
            "INSUFFICIENT\nIt is in Port Elm [2].\nSearch: the town once more",
        ]
    )
    elm = "Port Elm is a town. " * 100
    found = {
        WHERE: LONG[:3],
        "the name of the town": [elm],
        "the town once more": [elm, LONG[0]],
    }
    graph = create_self_completion_graph(
        model=model, retriever=MappingRetriever(found), budget=Budget(max_reference_tokens=3000)
    ).compile()
    output = invoke(graph, WHERE)
    assert (output["stop_reason"], len(model.prompts)) == ("no_new_references", 2)
    assert [len(each["given"]) for each in output["rounds"][:2]] == [2, 2]


@both
def test_a_context_that_is_too_long_is_halved_once(invoke: Invoke):
    model = Narrow(50_000)
    graph = create_self_completion_graph(model=model, retriever=retriever(LONG)).compile()
    assert invoke(graph, WHERE)["answer"] == "It is in town 0 [1]."
    assert model.refused == 1
    with pytest.raises(ModelError, match="maximum context"):
        invoke(
            create_self_completion_graph(model=Narrow(100), retriever=retriever(LONG)).compile(),
            WHERE,
        )


@both
def test_ten_megabytes_are_not_sent(invoke: Invoke):
    model = ScriptedModel(["SUFFICIENT\nIt is there [1]."])
    texts = [f"{n} It is there. " * 70_000 for n in range(10)]
    graph = create_self_completion_graph(model=model, retriever=retriever(texts)).compile()
    assert invoke(graph, WHERE)["grounded"]
    assert len(model.prompts[0].text) < 1_000_000


class CutOff(ScriptedModel):
    """Ends before it is done, as its provider says."""

    def generate(self, prompt: Prompt, *, on_token: object = None) -> Generation:
        said = super().generate(prompt)
        return Generation(said.text, said.usage, finish_reason="length")


@both
def test_a_reply_that_was_cut_off_is_not_sufficient(invoke: Invoke):
    model = CutOff(["SUFFICIENT\nIt is in town 0 [1], which"])
    graph = create_self_completion_graph(model=model, retriever=retriever(LONG[:1])).compile()
    output = invoke(graph, WHERE)
    assert output["stop_reason"] != "sufficient"
    assert output["answer"] == say_partial(WHERE, "It is in town 0 [1], which")
    assert not output["grounded"]
    assert output["rounds"][0]["errors"] == ["the reply was cut off (finish reason: length)"]


@both
@pytest.mark.parametrize("drafts", [False, True])
def test_a_direct_answer_that_was_cut_off_is_not_sufficient(invoke: Invoke, drafts: bool):
    router = drafting(retrieves=False) if drafts else NeverRetrieve()
    model = CutOff(["It is in town 0, which"])
    graph = create_self_completion_graph(model=model, router=router).compile()
    output = invoke(graph, WHERE)
    assert output["answer"] == "It is in town 0, which"
    assert not output["sufficient"]
    assert output["missing"] == "the reply was cut off (finish reason: length)"


# What of a reference's metadata the model sees.

HEAD = "[1] Atlas (page: 3; source: (1) atlas.pdf)\n"


class Library:
    """Has one reference with more metadata than a model should see."""

    name = "library"

    def retrieve(self, query: str) -> list[Reference]:
        metadata = {"page": 3, "source": "[1] atlas.pdf", "secret": "s3cret"}
        return [Reference.of("Paris is the capital.", "Atlas", metadata=metadata)]

    async def aretrieve(self, query: str) -> list[Reference]:
        return self.retrieve(query)


@both
def test_what_is_chosen_stands_in_the_head_of_every_prompt(invoke: Invoke):
    model = ScriptedModel(
        {
            "answer_with_references": [REFUSAL],
            "self_complete": ["one"],
            "answer_anyway": ["Paris [1]."],
        }
    )
    graph: Any = create_self_completion_graph(
        model=model,
        retriever=Library(),
        metadata_keys=["page", "source"],
        when_insufficient="own_knowledge",
    ).compile()
    output = invoke(graph, QUESTION)
    prompts = {prompt.task: prompt.text for prompt in model.prompts}
    assert set(prompts) == {"answer_with_references", "self_complete", "answer_anyway"}
    assert all(HEAD in text and "s3cret" not in text for text in prompts.values())
    assert output["references"][0]["metadata"]["secret"] == "s3cret"


@both
def test_none_is_shown_unless_it_was_chosen(invoke: Invoke):
    model = ScriptedModel(["SUFFICIENT\nParis [1]."])
    invoke(create_self_completion_graph(model=model, retriever=Library()).compile(), QUESTION)
    assert "[1] Atlas\n" in model.prompts[0].text
    assert "page" not in model.prompts[0].text


def test_keys_are_names_and_part_of_the_system():
    plain = Settings.of(ScriptedModel())
    assert plain.version != Settings.of(ScriptedModel(), metadata_keys=["page"]).version
    with pytest.raises(InputError, match="list of names"):
        Settings.of(ScriptedModel(), metadata_keys="page")


# A router that has asked for the direct answer has asked for all.


def graph(model: ScriptedModel, *, retrieves: bool, **more: Any) -> Any:
    router = drafting(retrieves=retrieves)
    return create_self_completion_graph(
        model=model, retriever=searchable(), router=router, **more
    ).compile()


@both
@pytest.mark.parametrize("budget", [Budget(), Budget(max_calls=1)])
def test_a_known_question_costs_one_call(budget: Budget, invoke: Invoke):
    model = ScriptedModel(["Paris [7]."])
    output = invoke(graph(model, retrieves=False, budget=budget))
    assert [prompt.task for prompt in model.prompts] == ["answer_directly"]
    assert (output["answer"], output["stop_reason"]) == ("Paris.", "known")
    assert output["removed_markers"] == 1
    assert output["decision"]["draft"] == "Paris [7]."
    assert {task: usage["calls"] for task, usage in output["usage"].items()} == {"route": 1}


def test_its_draft_is_streamed_as_one_token():
    events = list(
        graph(ScriptedModel(["It is Paris."]), retrieves=False).stream(
            {"question": QUESTION}, stream_mode="custom", context=SKRContext(stream=True)
        )
    )
    assert [event["type"] for event in events] == ["start", "route", "sources", "token", "answer"]
    assert events[3]["text"] == "It is Paris."


@both
def test_an_unknown_question_is_answered_from_references(invoke: Invoke):
    model = ScriptedModel({"answer_directly": ["Rome."], "answer_with_references": ["Paris [1]."]})
    assert invoke(graph(model, retrieves=True))["answer"] == "Paris [1]."
    assert len(model.prompts) == 2


@both
@pytest.mark.parametrize(
    "own",
    [
        {"demonstrations": [Demonstration("Two?", "2")]},
        {
            "templates": replace(
                DEFAULT_TEMPLATES, answer_directly=DEFAULT_TEMPLATES.answer_directly + "\nBriefly."
            )
        },
    ],
)
def test_the_draft_is_made_in_the_words_of_the_system(own: dict[str, Any], invoke: Invoke):
    served, plain = ScriptedModel(["Paris."]), ScriptedModel(["Paris."])
    output = invoke(graph(served, retrieves=False, **own))
    invoke(graph(plain, retrieves=False))
    [asked] = served.prompts
    assert asked.task == "answer_directly"
    assert asked.text != plain.prompts[0].text
    assert output["usage"] == {"route": {**output["usage"]["route"], "calls": 1}}
