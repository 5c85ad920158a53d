"""Templates go to LlamaIndex and come back."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.prompts import ChatPromptTemplate, PromptTemplate
from pydantic import Field

from llamaindex_skr import SKRQueryEngine
from llamaindex_skr.prompt_templates import as_prompts, replaced
from skr_core.errors import InputError
from skr_core.prompts import asking
from skr_core.prompts.papers import SKR_TEMPLATES, W2R_TEMPLATES
from skr_core.prompts.templates import DEFAULT_TEMPLATES, ChatTemplate, PromptTemplates
from tests.llamaindex_skr.fakes import JAWS, QUESTION, Search, Speaker

BRACES = PromptTemplates(answer_directly='Reply as {{"answer": ...}}: {question}')


@pytest.mark.parametrize("templates", [DEFAULT_TEMPLATES, SKR_TEMPLATES, W2R_TEMPLATES, BRACES])
def test_there_and_back(templates: PromptTemplates) -> None:
    assert replaced(DEFAULT_TEMPLATES, as_prompts(templates)) == templates


def test_as_llamaindex_would_fill_them() -> None:
    filled = as_prompts(BRACES)["answer_directly"].format(question="Who?")
    assert filled == 'Reply as {"answer": ...}: Who?'
    assert asking.answer_directly("Who?", templates=BRACES).text == filled


def test_llamaindex_templates_arrive_with_all_they_can() -> None:
    usual = PromptTemplate("Context:\n{context_str}\nQuery: {query_str}\nTone: {tone}\n")
    mapped = PromptTemplate(
        "{what} {extra}",
        template_var_mappings={"question": "what"},
        function_mappings={"extra": lambda **parts: "please"},
    )
    new = replaced(
        DEFAULT_TEMPLATES,
        {
            "answer_with_references": usual.partial_format(
                tone="{dry}, {}".replace("{dry}", "dry")
            ),
            "answer_directly": mapped,
        },
    )
    assert new.answer_with_references == (
        "Context:\n{references}\nQuery: {question}\nTone: dry, {{}}\n"
    )
    assert new.answer_directly == "{question} please"
    assert new.self_complete == DEFAULT_TEMPLATES.self_complete


CHAT = ChatPromptTemplate.from_messages(
    [("system", 'Be brief, as in {"a": 1}. {tone}'), ("user", "{query_str} from {context_str}")]
).partial_format(tone="Dry.")


def test_what_a_chat_template_says_as_the_system_stays_so() -> None:
    new = replaced(DEFAULT_TEMPLATES, {"answer_anyway": CHAT})
    expected = ChatTemplate("{question} from {references}", 'Be brief, as in {{"a": 1}}. Dry.')
    assert new.answer_anyway == expected
    assert replaced(DEFAULT_TEMPLATES, as_prompts(new)) == new
    prompt = asking.answer_anyway("Who?", [], templates=new)
    assert (prompt.system, prompt.text) == ('Be brief, as in {"a": 1}. Dry.', "Who? from (none)")


def test_worked_examples_of_a_chat_template_stay_in_order() -> None:
    turns = [("user", "1 + 1?"), ("assistant", "2"), ("user", "{query_str}")]
    new = replaced(DEFAULT_TEMPLATES, {"answer_directly": ChatPromptTemplate.from_messages(turns)})
    assert new.answer_directly == "user: 1 + 1?\nassistant: 2\nuser: {question}"


@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_the_system_is_heard_by_the_model(colour: str) -> None:
    class Listener(Speaker):
        def _say(self, messages: Sequence[ChatMessage], colour: str) -> str:
            self.heard.append([(each.role.value, str(each.content)) for each in messages])
            return super()._say(messages, colour)

        heard: list[list[tuple[str, str]]] = Field(default_factory=list)

    llm = Listener(lambda prompt: "SUFFICIENT\nSpielberg [1].")
    llm.system_prompt = "You are a film critic."
    chat = ChatPromptTemplate.from_messages(
        [("system", "SUFFICIENT or INSUFFICIENT first.\n{context_str}"), ("user", "{query_str}")]
    )
    engine = SKRQueryEngine.from_defaults(Search(), llm=llm)
    engine.update_prompts({"answer_with_references": chat})
    response = engine.query(QUESTION) if colour == "sync" else await engine.aquery(QUESTION)
    assert response.metadata["stop_reason"] == "sufficient"
    [(first, second, third)] = llm.heard
    assert first == ("system", "You are a film critic.")
    said = f'SUFFICIENT or INSUFFICIENT first.\n[1]\n"""\n{JAWS}\n"""'
    assert second == ("system", said)
    assert third == ("user", QUESTION)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("answer", "{question}", "no prompt is called answer: there are answer_directly"),
        ("answer_directly", "no question", r"answer_directly lacks \{question\}"),
        ("answer_anyway", "{question}", r"answer_anyway lacks \{references\}"),
        ("answer_directly", "{question} {tone}", r"names \{tone\}, which nothing fills"),
    ],
)
def test_what_cannot_be_used_is_refused(name: str, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        replaced(DEFAULT_TEMPLATES, {name: PromptTemplate(text)})
