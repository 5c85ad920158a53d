"""Routers and judges take a framework's model as it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda
from llama_index.core import SummaryIndex
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.schema import TextNode

from skr_core import Question, Settings, load_router
from skr_core.errors import InputError
from skr_core.flow import run
from skr_core.models.adapting import as_language_model
from skr_core.reflectors import JudgeEntailment, JudgeReflector
from skr_core.routers import CertaintyLevelRouter, ConfidenceRouter, PromptRouter, UncertaintyRouter
from skr_core.testing import ScriptedModel
from skr_graphs import GraphAnswerer
from skr_learn.routers import InContextRouter
from skr_learn.scoring import Judge

QUESTION = "Who wrote Emma?"
Make = Callable[[str], Any]


def langchain_model(reply: str) -> Any:
    return FakeListChatModel(responses=[reply])


def bound_langchain_model(reply: str) -> Any:
    return langchain_model(reply).with_retry()


def llamaindex_model(reply: str) -> Any:
    return MockFunctionCallingLLM(
        response_generator=lambda messages, **_: ChatMessage(reply, role="assistant")
    )


frameworks = pytest.mark.parametrize(
    "make", [langchain_model, bound_langchain_model, llamaindex_model]
)


@frameworks
@pytest.mark.parametrize("form", ["sync", "async"])
@pytest.mark.parametrize(
    ("router", "reply"),
    [
        (PromptRouter, "No, I don't need any."),
        (ConfidenceRouter, "Jane Austen (certain)"),
        (CertaintyLevelRouter, "Jane Austen (certain)"),
        (UncertaintyRouter, "Jane Austen."),
        (lambda model: InContextRouter(model, known=["Who?"], unknown=["Why?"]), "No, I don't."),
    ],
)
def test_a_router(router: Any, reply: str, make: Make, form: str) -> None:
    chosen = router(make(reply))
    decision = chosen.decide(QUESTION) if form == "sync" else asyncio.run(chosen.adecide(QUESTION))
    assert not decision.retrieve
    assert decision.usage.calls


@frameworks
@pytest.mark.parametrize("form", ["sync", "async"])
def test_a_judge_of_drafts(make: Make, form: str) -> None:
    judge = JudgeReflector(make("insufficient: the year"))
    given: tuple[Any, ...] = (QUESTION, [], "Jane Austen.")
    judged = judge.reflect(*given) if form == "sync" else asyncio.run(judge.areflect(*given))
    assert judged.missing == "the year"


@frameworks
def test_judges_of_entailment_and_of_answers(make: Make) -> None:
    assert JudgeEntailment(make("entailment")).predict([("a", "b")]) == ["entailment"]
    score = Judge(make("Right.")).score("Austen", Question("1", QUESTION, ("Jane Austen",)))
    assert run(score)[0] == 1.0


@frameworks
def test_a_saved_router_asks_it(make: Make, tmp_path: Path) -> None:
    PromptRouter(make("Yes.")).save(tmp_path / "router")
    assert (
        not load_router(tmp_path / "router", model=make("No, I don't.")).decide(QUESTION).retrieve
    )


def test_one_of_ours_is_passed_through_and_anything_else_refused() -> None:
    model = ScriptedModel()
    assert as_language_model(model) is model
    for wrong in ("openai:gpt-4.1-mini", 5, object()):
        with pytest.raises(InputError, match=f"a model is wanted, not {type(wrong).__name__}"):
            PromptRouter(wrong)  # type: ignore[arg-type]


def test_settings_take_a_framework_s_model_and_retriever() -> None:
    document = Document("Jane Austen wrote Emma.")
    index = SummaryIndex([TextNode(text=document.page_content)])
    finds = [RunnableLambda(lambda query: [document]), index, index.as_retriever()]
    for model in (langchain_model("She did [1]."), llamaindex_model("She did [1].")):
        for retriever in finds:
            answer = GraphAnswerer(Settings.of(model, retriever)).answer(QUESTION)
            assert (answer.text, answer.grounded) == ("She did [1].", True)


@pytest.mark.parametrize(
    ("model", "retriever", "says"),
    [
        ("extractive", None, "a model is wanted, not str"),
        (ScriptedModel, None, "a model is wanted, not the class ScriptedModel"),
        (ScriptedModel(), "store", "a retriever is wanted, not str"),
        (ScriptedModel(), langchain_model("?"), "a retriever is wanted, not FakeListChatModel"),
    ],
)
def test_settings_refuse_what_is_neither(model: Any, retriever: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        Settings.of(model, retriever)
