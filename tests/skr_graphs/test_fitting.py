"""References that do not fit into a model's context are packed, told of and asked about anew."""

from __future__ import annotations

import pytest

from skr_core.budget import Budget
from skr_core.errors import ModelError
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_core.types import Generation, Prompt
from skr_graphs import create_self_completion_graph
from tests.skr_graphs.doubles import Invoke, both

QUESTION = "Where is it?"
LONG = [f"Passage {n} says that it is in town {n}. " * 200 for n in range(10)]


def retriever(texts: list[str]) -> MappingRetriever:
    return MappingRetriever({QUESTION: texts})


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
def test_references_are_packed_by_rank_and_the_rest_is_told(invoke: Invoke):
    model = ScriptedModel(["SUFFICIENT\nIt is in town 0 [1]."])
    graph = create_self_completion_graph(
        model=model, retriever=retriever(LONG), budget=Budget(max_reference_tokens=3000)
    ).compile()
    output = invoke(graph, QUESTION)
    [prompt] = model.prompts
    assert len(prompt.text) < 16_000
    assert 0 < len(output["rounds"][0]["given"]) < 10
    assert output["rounds"][0]["given"] == [each["id"] for each in output["references"]]
    assert output["grounded"]
    events = list(graph.stream({"question": QUESTION}, stream_mode="custom"))
    [packed] = [event for event in events if event["type"] == "packed"]
    assert len(packed["dropped"]) == 10 - len(output["references"])


@both
def test_a_short_context_holds_what_each_round_found(invoke: Invoke):
    model = ScriptedModel(
        [
            "INSUFFICIENT\nIt is in a town [1].\nSearch: the name of the town",
            "SUFFICIENT\nIt is in Port Elm [2].",
        ]
    )
    found = {QUESTION: LONG, "the name of the town": ["The town is Port Elm.", *LONG[:3]]}
    graph = create_self_completion_graph(
        model=model, retriever=MappingRetriever(found), budget=Budget(max_reference_tokens=3000)
    ).compile()
    output = invoke(graph, QUESTION)
    first, second = model.prompts
    assert "Port Elm" not in first.text
    assert "The town is Port Elm." in second.text
    assert max(len(each.text) for each in model.prompts) < 16_000
    (citation,) = output["citations"]
    assert citation["quote"] == "The town is Port Elm."
    assert [each["id"] for each in output["references"]] == output["rounds"][1]["given"]


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
        QUESTION: LONG[:3],
        "the name of the town": [elm],
        "the town once more": [elm, LONG[0]],
    }
    graph = create_self_completion_graph(
        model=model, retriever=MappingRetriever(found), budget=Budget(max_reference_tokens=3000)
    ).compile()
    output = invoke(graph, QUESTION)
    assert (output["stop_reason"], len(model.prompts)) == ("no_new_references", 2)
    assert [len(each["given"]) for each in output["rounds"][:2]] == [2, 2]


@both
def test_a_context_that_is_too_long_is_halved_once(invoke: Invoke):
    model = Narrow(50_000)
    graph = create_self_completion_graph(model=model, retriever=retriever(LONG)).compile()
    assert invoke(graph, QUESTION)["answer"] == "It is in town 0 [1]."
    assert model.refused == 1
    with pytest.raises(ModelError, match="maximum context"):
        invoke(
            create_self_completion_graph(model=Narrow(100), retriever=retriever(LONG)).compile(),
            QUESTION,
        )


@both
def test_ten_megabytes_are_not_sent(invoke: Invoke):
    model = ScriptedModel(["SUFFICIENT\nIt is there [1]."])
    texts = [f"{n} It is there. " * 70_000 for n in range(10)]
    graph = create_self_completion_graph(model=model, retriever=retriever(texts)).compile()
    assert invoke(graph, QUESTION)["grounded"]
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
    output = invoke(graph, QUESTION)
    assert output["stop_reason"] != "sufficient"
    assert output["answer"] == "It is in town 0 [1], which"
