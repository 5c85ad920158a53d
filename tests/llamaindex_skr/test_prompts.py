"""The prompts of an engine as LlamaIndex reads and replaces them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.prompts import ChatPromptTemplate, PromptTemplate
from llama_index.core.prompts.default_prompt_selectors import DEFAULT_TEXT_QA_PROMPT_SEL
from pydantic import Field

from llamaindex_skr import SKRQueryEngine
from skr_core import PromptTemplates
from skr_core.errors import InputError
from skr_core.prompts import DEFAULT_TEMPLATES
from skr_core.prompts.papers import SKR_TEMPLATES, W2R_TEMPLATES
from skr_core.routers import NeverRetrieve
from tests.llamaindex_skr.fakes import JAWS, QUESTION, Search, Speaker

BRACES = PromptTemplates(answer_directly='Reply as {{"answer": ...}}: {question}')


class Listener(Speaker):
    """Keeps all messages that it was sent, with their roles."""

    heard: list[list[tuple[str, str]]] = Field(default_factory=list)

    def _say(self, messages: Sequence[ChatMessage], mode: str) -> str:
        self.heard.append([(each.role.value, str(each.content)) for each in messages])
        return super()._say(messages, mode)


def engine_of(templates: PromptTemplates | None = None, llm: Any = None) -> SKRQueryEngine:
    """An engine that answers directly."""
    llm = llm or Listener(lambda prompt: "Paris.")
    return SKRQueryEngine.from_defaults(
        Search(), llm=llm, router=NeverRetrieve(), templates=templates
    )


def heard_by(change: Callable[[SKRQueryEngine], None], question: str = "Who?") -> Any:
    """The messages of one direct answer, by an engine that was changed."""
    engine = engine_of(llm=(llm := Listener(lambda prompt: "Paris.")))
    change(engine)
    engine.query(question)
    return llm.heard[-1]


@pytest.mark.parametrize("templates", [DEFAULT_TEMPLATES, SKR_TEMPLATES, W2R_TEMPLATES, BRACES])
def test_there_and_back(templates: PromptTemplates) -> None:
    given = engine_of(templates, llm=(llm := Listener(lambda prompt: "Paris.")))
    given.query("Who?")
    prompts = given.get_prompts()
    assert heard_by(lambda engine: engine.update_prompts(prompts)) == llm.heard[-1]
    again = engine_of()
    again.update_prompts(prompts)
    assert again.get_prompts() == prompts


def test_as_llamaindex_would_fill_them() -> None:
    engine = engine_of(BRACES, llm=(llm := Listener(lambda prompt: "Paris.")))
    engine.query("Who?")
    filled = engine.get_prompts()["answer_directly"].format(question="Who?")
    assert filled == 'Reply as {"answer": ...}: Who?' == llm.sent[-1]


def test_llamaindex_templates_arrive_with_all_they_can() -> None:
    usual = PromptTemplate("Context:\n{context_str}\nQuery: {query_str}\nTone: {tone}\n")
    mapped = PromptTemplate("{what} please", template_var_mappings={"question": "what"})
    toned = usual.partial_format(tone='dry, {"a": 1}')
    engine = engine_of()
    before = engine.get_prompts()
    engine.update_prompts({"answer_with_references": toned, "answer_directly": mapped})
    after = engine.get_prompts()
    assert after["answer_with_references"].get_template() == (
        'Context:\n{references}\nQuery: {question}\nTone: dry, {"a": 1}\n'
    )
    assert after["answer_directly"].get_template() == "{question} please"
    assert after["self_complete"] == before["self_complete"]


def test_what_a_chat_template_says_as_the_system_stays_so() -> None:
    chat = ChatPromptTemplate.from_messages(
        [("system", 'Be brief, as in {"a": 1}. {tone}'), ("user", "{query_str} And now?")]
    ).partial_format(tone="Dry.")
    change = {"answer_directly": chat}
    expected = [("system", 'Be brief, as in {"a": 1}. Dry.'), ("user", "Who? And now?")]
    assert heard_by(lambda engine: engine.update_prompts(change)) == expected

    def twice(engine: SKRQueryEngine) -> None:
        engine.update_prompts(change)
        engine.update_prompts(engine.get_prompts())

    assert heard_by(twice) == expected


def test_worked_examples_of_a_chat_template_stay_in_order() -> None:
    turns = [("user", "1 + 1?"), ("assistant", "2"), ("user", "{query_str}")]
    change = {"answer_directly": ChatPromptTemplate.from_messages(turns)}
    heard = heard_by(lambda engine: engine.update_prompts(change))
    assert heard == [("user", "user: 1 + 1?\nassistant: 2\nuser: Who?")]


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_the_system_is_heard_by_the_model(mode: str) -> None:
    llm = Listener(lambda prompt: "SUFFICIENT\nSpielberg [1].")
    llm.system_prompt = "You are a film critic."
    chat = ChatPromptTemplate.from_messages(
        [("system", "SUFFICIENT or INSUFFICIENT first.\n{context_str}"), ("user", "{query_str}")]
    )
    engine = SKRQueryEngine.from_defaults(Search(), llm=llm)
    engine.update_prompts({"answer_with_references": chat})
    response = engine.query(QUESTION) if mode == "sync" else await engine.aquery(QUESTION)
    assert response.metadata["stop_reason"] == "sufficient"
    [(first, second, third)] = llm.heard
    assert first == ("system", "You are a film critic.")
    said = f'SUFFICIENT or INSUFFICIENT first.\n[1]\n"""\n{JAWS}\n"""'
    assert second == ("system", said)
    assert third[0] == "user"
    assert f"\n\n{QUESTION}\n" in third[1]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("answer", "{question}", "no prompt is called answer: there are answer_directly"),
        ("answer_directly", "no question", r"answer_directly lacks \{question\}"),
        ("answer_anyway", "{question}", r"answer_anyway lacks \{references\}"),
        ("answer_directly", "{question} {tone}", r"name \{tone\}, which nothing fills"),
    ],
)
def test_what_cannot_be_used_is_refused(name: str, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        engine_of().update_prompts({name: PromptTemplate(text)})


def test_a_template_s_functions_and_what_is_no_template_are_refused() -> None:
    dated = PromptTemplate(
        "{today}: {context_str} {query_str}", function_mappings={"today": lambda **_: "Monday"}
    )
    with pytest.raises(InputError, match=r"fills \{today\} by function_mappings, which would be"):
        SKRQueryEngine.from_defaults(Search(), llm=Speaker(), text_qa_template=dated)
    text: Any = "{context_str} {query_str}"
    with pytest.raises(InputError, match="a prompt template of LlamaIndex is wanted, not str"):
        SKRQueryEngine.from_defaults(Search(), llm=Speaker(), text_qa_template=text)


PIRATE = PromptTemplate(
    "Context:\n{context_str}\nTalk like the pirate {name}.\nQuery: {query_str}\nAnswer: "
).partial_format(name="Anne {B.}")


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("given", ["from_defaults", "text_qa_template", "response_synthesizer:"])
async def test_a_prompt_of_one_s_own_is_kept_by_every_answer(given: str, mode: str) -> None:
    llm = Listener(lambda prompt: "SUFFICIENT\nSpielberg [1].")
    template = PIRATE if given == "from_defaults" else None
    engine = SKRQueryEngine.from_defaults(Search(), llm=llm, text_qa_template=template)
    if given != "from_defaults":
        engine.update_prompts({f"{given.removesuffix('text_qa_template')}text_qa_template": PIRATE})
    for asked in (engine, engine.with_options(router=NeverRetrieve())):
        response = asked.query(QUESTION) if mode == "sync" else await asked.aquery(QUESTION)
        assert "Spielberg" in str(response)
    [[(role, shown)], [(system, manner), (_, direct)]] = llm.heard
    assert role == "user"
    assert "\n\nContext:\n[1]\n" in shown
    assert f"Talk like the pirate Anne {{B.}}.\nQuery: {QUESTION}\nAnswer: \n" in shown
    assert shown.endswith("Verdict:")
    assert (system, manner.splitlines()[0]) == ("system", "Talk like the pirate Anne {B.}.")
    assert "pirate" not in direct


def test_llamaindex_s_own_prompt_brings_its_words() -> None:
    llm = Listener(lambda prompt: "SUFFICIENT\nSpielberg [1].")
    engine = SKRQueryEngine.from_defaults(
        Search(), llm=llm, text_qa_template=DEFAULT_TEXT_QA_PROMPT_SEL
    )
    assert engine.query(QUESTION).metadata["stop_reason"] == "sufficient"
    assert "answer the query." in llm.heard[0][-1][1]
