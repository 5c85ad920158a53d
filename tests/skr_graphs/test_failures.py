"""What callers, models and retrievers do wrong: refused, recorded, or survived."""

from __future__ import annotations

from typing import Any

import pytest

from skr_core import Budget, Generation, Reference
from skr_core.answering import answer_directly
from skr_core.errors import InputError, ModelError, RetrieverError
from skr_core.flow import run
from skr_core.prompts import REFUSAL
from skr_core.reflectors import JudgeReflector
from skr_core.replies import say_partial
from skr_core.testing import ScriptedModel
from skr_graphs import create_self_completion_graph
from tests.skr_graphs.doubles import (
    PARIS,
    FailingModel,
    Invoke,
    ListStore,
    NeverSatisfied,
    both,
    searchable,
)

# A model that fails after a draft


def failing_graphs() -> dict[str, Any]:
    script: Any = {"answer_with_references": ["Paris [1]."], "self_complete": ["one"]}
    searching: dict[str, Any] = {"retriever": searchable("one")}
    away = FailingModel({}, fails="judge")
    return {
        "follow_up": create_self_completion_graph(
            model=FailingModel(script, fails="self_complete"),
            reflector=NeverSatisfied(),
            **searching,
        ),
        "answer": create_self_completion_graph(
            model=FailingModel(script, fails="answer_with_references", after=1),
            reflector=NeverSatisfied(),
            **searching,
        ),
        "reflect": create_self_completion_graph(
            model=ScriptedModel(script), reflector=JudgeReflector(away), **searching
        ),
    }


@both
@pytest.mark.parametrize("step", ["follow_up", "answer", "reflect"])
def test_a_usable_draft_outlives_the_model(step: str, invoke: Invoke):
    output = invoke(failing_graphs()[step].compile())
    # Where the judge failed, nobody has found the draft to be a part of an answer.
    part = say_partial("?", "Paris [1].", output["missing"])
    assert output["answer"] == ("Paris [1]." if step == "reflect" else part)
    assert (output["grounded"], output["stop_reason"]) == (False, "model_failed")
    assert [each["text"] for each in output["references"]] == [PARIS]
    assert output["rounds"][-1]["errors"] == ["the model failed: the model is away"]
    assert len(output["rounds"]) == (2 if step == "answer" else 1)


@both
@pytest.mark.parametrize(
    ("fails", "after"),
    [("answer_with_references", 0), ("self_complete", 0), ("answer_with_references", 1)],
)
def test_without_a_usable_draft_the_failure_is_raised(fails: Any, after: int, invoke: Invoke):
    script: Any = {"answer_with_references": [REFUSAL], "self_complete": ["one"]}
    graph = create_self_completion_graph(
        model=FailingModel(script, fails=fails, after=after), retriever=searchable("one")
    ).compile()
    with pytest.raises(ModelError, match="the model is away"):
        invoke(graph)


@both
def test_a_draft_outlives_a_model_that_fails_at_the_last_call(invoke: Invoke):
    script: Any = {"answer_with_references": ["Paris, surely."], "self_complete": ["None"]}
    graph = create_self_completion_graph(
        model=FailingModel(script, fails="answer_anyway"),
        retriever=searchable(),
        when_insufficient="own_knowledge",
    ).compile()
    output = invoke(graph)
    assert (output["answer"], output["grounded"]) == ("Paris, surely.", False)
    script["answer_with_references"] = [REFUSAL]
    with pytest.raises(ModelError, match="the model is away"):
        invoke(graph)


# What is no text and no reference


class SaysNothing(ScriptedModel):
    def generate(self, prompt: Any, *, on_token: Any = None) -> Any:
        return self.gives

    gives: Any = None


@both
@pytest.mark.parametrize("gives", [None, Generation(None), Generation(3), "text"])  # type: ignore[arg-type]
def test_a_reply_that_is_no_text_is_an_error_of_the_model(gives: Any, invoke: Invoke):
    model = SaysNothing()
    model.gives = gives
    with pytest.raises(ModelError, match="in place of a text"):
        run(answer_directly(model, "?"))
    with pytest.raises(ModelError, match="in place of a text"):
        invoke(create_self_completion_graph(model=model, retriever=searchable()).compile())


class Finds:
    name = "finds"

    def __init__(self, found: Any) -> None:
        self._found = found

    def retrieve(self, query: str) -> Any:
        return self._found

    async def aretrieve(self, query: str) -> Any:
        return self._found


@both
@pytest.mark.parametrize(
    ("found", "named"),
    [(None, "NoneType"), (3, "int"), ("text", "str"), (["text"], "str"), ([None], "NoneType")],
)
def test_what_is_no_reference_is_an_error_of_the_retriever(found: Any, named: str, invoke: Invoke):
    model = ScriptedModel(["Paris."])
    graph = create_self_completion_graph(model=model, retriever=Finds(found)).compile()
    with pytest.raises(RetrieverError, match=f"Finds .*{named}"):
        invoke(graph)
    assert not model.prompts


@both
def test_beside_a_store_it_is_raised_all_the_same(invoke: Invoke):
    store = ListStore()
    store.add([Reference.of("The capital? Paris.")])
    graph = create_self_completion_graph(
        model=ScriptedModel(["Paris [1]."]),
        retriever=Finds(None),
        reference_store=store,
        scope="shared",
    )
    with pytest.raises(RetrieverError, match="Finds gave NoneType"):
        invoke(graph.compile())


class FindsAsItGoes(Finds):
    """Finds one text, and breaks down behind it."""

    def retrieve(self, query: str) -> Any:
        yield Reference.of(PARIS)
        raise OSError("the line is cut")

    async def aretrieve(self, query: str) -> Any:
        return self.retrieve(query)


@both
def test_an_iterable_that_fails_is_a_search_that_fails(invoke: Invoke):
    graph = create_self_completion_graph(
        model=ScriptedModel(["Paris [1]."]), retriever=FindsAsItGoes(None)
    )
    with pytest.raises(RetrieverError, match="the line is cut") as failure:
        invoke(graph.compile())
    assert isinstance(failure.value.__cause__, OSError)


@both
def test_any_iterable_of_references_will_do(invoke: Invoke):
    found = (Reference.of(text) for text in [PARIS])
    model = ScriptedModel(["Paris [1]."])
    output = invoke(create_self_completion_graph(model=model, retriever=Finds(found)).compile())
    assert output["stop_reason"] == "sufficient"


@both
@pytest.mark.parametrize("reply", ["[99]", "SUFFICIENT\n[8] [9]", "INSUFFICIENT\n[7]"])
def test_nothing_but_markers_of_no_reference_is_no_answer(reply: str, invoke: Invoke):
    graph = create_self_completion_graph(model=ScriptedModel([reply]), retriever=searchable())
    output = invoke(graph.compile())
    assert output["answer"] == f"{REFUSAL}."
    assert not output["grounded"]


# What a caller gets wrong


class SaysYes:
    """A router that returns no decision."""

    def decide(self, question: str) -> Any:
        return True

    async def adecide(self, question: str) -> Any:
        return True


@both
def test_a_router_that_returns_no_decision_is_refused(invoke: Invoke):
    graph = create_self_completion_graph(
        model=ScriptedModel(["Paris."]), retriever=searchable(), router=SaysYes()
    )
    with pytest.raises(InputError, match=r"SaysYes.decide returned bool, not a Decision: return"):
        invoke(graph.compile())


@both
@pytest.mark.parametrize(
    ("context", "message"),
    [
        ({"budget": {"max_round": 1}}, "no max_round:"),
        ({"budget": {"max_rounds": 1.5}}, "max_rounds: Input should be a valid integer"),
        ({"budget": {"max_rounds": 0}}, "max_rounds must be at least 1"),
        ({"budget": {"deadline_s": float("nan")}}, "deadline_s"),
        ({"budget": 3}, "Budget is made from a mapping"),
        ({"budget": 0}, "Budget is made from a mapping"),
        ({"router": "nevver"}, "no router is called 'nevver'"),
        ({"templates": {"greeting": "hello"}}, "no greeting"),
        ({"demonstrations": [{"question": "?", "answr": "!"}]}, "no answr"),
        ({"demonstrations": ["?"]}, "Demonstration is made from a mapping"),
    ],
)
def test_a_wrong_context_is_refused(context: Any, message: str, invoke: Invoke):
    graph = create_self_completion_graph(
        model=ScriptedModel(["Paris."]), retriever=searchable()
    ).compile()
    with pytest.raises(InputError, match=message):
        invoke(graph, context=context)


@both
def test_a_misspelt_setting_in_a_context_is_refused(invoke: Invoke):
    graph = create_self_completion_graph(model=ScriptedModel(["Paris."])).compile()
    with pytest.raises(TypeError, match="budgett"):
        invoke(graph, context={"budgett": None})


@both
def test_a_right_one_is_taken_as_json(invoke: Invoke):
    graph = create_self_completion_graph(
        model=ScriptedModel({"answer_with_references": [REFUSAL]}), retriever=searchable()
    ).compile()
    context = {"budget": {"max_rounds": 1, "deadline_s": None}, "when_insufficient": "refuse"}
    assert invoke(graph, context=context)["stop_reason"] == "max_rounds"


def test_the_factory_is_checked_too():
    wrong: Any = 3
    with pytest.raises(InputError, match="Budget"):
        create_self_completion_graph(model=ScriptedModel(["?"]), budget=wrong)
    with pytest.raises(TypeError, match="budgett"):
        create_self_completion_graph(model=ScriptedModel(["?"]), budgett=wrong)  # type: ignore[call-arg]
    assert Budget() == Budget(max_rounds=3)


async def test_no_question_is_an_empty_one():
    graph = create_self_completion_graph(model=ScriptedModel(["?"])).compile()
    nothing: Any = {}
    with pytest.raises(InputError, match="the question is empty"):
        graph.invoke(nothing)
    with pytest.raises(InputError, match="the question is empty"):
        await graph.ainvoke(nothing)
