"""Templates go to LlamaIndex and come back."""

from __future__ import annotations

import pytest
from llama_index.core.prompts import ChatPromptTemplate, PromptTemplate

from llamaindex_skr.prompt_templates import as_prompts, replaced
from skr_core.errors import InputError
from skr_core.prompts import templates as prompts
from skr_core.prompts.papers import SKR_TEMPLATES, W2R_TEMPLATES
from skr_core.prompts.templates import DEFAULT_TEMPLATES, PromptTemplates

BRACES = PromptTemplates(answer_directly='Reply as {{"answer": ...}}: {question}')


@pytest.mark.parametrize("templates", [DEFAULT_TEMPLATES, SKR_TEMPLATES, W2R_TEMPLATES, BRACES])
def test_there_and_back(templates: PromptTemplates) -> None:
    assert replaced(DEFAULT_TEMPLATES, as_prompts(templates)) == templates


def test_as_llamaindex_would_fill_them() -> None:
    filled = as_prompts(BRACES)["answer_directly"].format(question="Who?")
    assert filled == 'Reply as {"answer": ...}: Who?'
    assert prompts.answer_directly("Who?", templates=BRACES).text == filled


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


def test_a_chat_template_becomes_one_text() -> None:
    chat = ChatPromptTemplate.from_messages([("system", "Be brief."), ("user", "{query_str}")])
    text = replaced(DEFAULT_TEMPLATES, {"answer_directly": chat}).answer_directly
    assert "system: Be brief.\nuser: {question}" in text


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
