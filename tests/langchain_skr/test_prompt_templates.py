"""LangChain's prompt templates are the words of a system, with their system messages."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate

from langchain_skr import LangChainModel, as_templates, create_skr_chain
from skr_core import Prompt
from skr_core.errors import InputError
from skr_core.prompts import DEFAULT_TEMPLATES, ChatTemplate
from tests.langchain_skr.fakes import FOUND, QUESTION, Agent, Library

USUAL = ChatPromptTemplate.from_messages(
    [
        ("system", "Say SUFFICIENT or INSUFFICIENT, then answer in {style}.\n\n{context}"),
        ("placeholder", "{chat_history}"),
        ("human", "{input}"),
    ]
).partial(style='JSON, as {"a": 1}')


@pytest.mark.parametrize("mode", ["invoke", "ainvoke", "stream"])
async def test_the_model_hears_the_system_message(mode: str) -> None:
    model = Agent(replies=[AIMessage("SUFFICIENT\nWhite [2].")])
    chain = create_skr_chain(
        model, Library(), templates=as_templates({"answer_with_references": USUAL})
    )
    if mode == "stream":
        said = "".join(chain.stream(QUESTION))
    else:
        said = await chain.ainvoke(QUESTION) if mode == "ainvoke" else chain.invoke(QUESTION)
    assert said == "White [2]."
    [[system, asked]] = model.sent
    assert isinstance(system, SystemMessage)
    begin = 'Say SUFFICIENT or INSUFFICIENT, then answer in JSON, as {"a": 1}.\n\n[1]\n"""\n'
    assert system.text.startswith(begin)
    assert all(text in system.text for text in FOUND[QUESTION])
    assert type(asked) is HumanMessage
    assert asked.text.startswith(f"{QUESTION}\n")


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_the_system_comes_before_the_earlier_turns(mode: str) -> None:
    model = Agent(replies=[AIMessage("Yes.")])
    prompt = Prompt("answer_directly", "Now?", "Now?", history=("Hi", "Ho"), system="Be brief.")
    if mode == "sync":
        LangChainModel(model).generate(prompt)
    else:
        await LangChainModel(model).agenerate(prompt)
    [sent] = model.sent
    assert [(each.type, each.text) for each in sent] == [
        ("system", "Be brief."),
        ("human", "Hi"),
        ("ai", "Ho"),
        ("human", "Now?"),
    ]


def test_what_stays_and_what_is_replaced() -> None:
    brief = PromptTemplate.from_template("Briefly, {question}", template_format="f-string")
    mustache = PromptTemplate.from_template("{{input}}: {{context}}", template_format="mustache")
    made = as_templates(
        {
            "answer_directly": brief,
            "answer_anyway": mustache,
            "decompose": "Parts of {question}?",
            "condense": PromptTemplate.from_template("{chat_history}: {input}"),
        }
    )
    assert made.condense == "{history}: {question}"
    assert made.answer_directly == "Briefly, {question}"
    assert made.answer_anyway == "{question}: {references}"
    assert made.decompose == "Parts of {question}?"
    assert made.self_complete == DEFAULT_TEMPLATES.self_complete
    again = as_templates({"decompose": "{question}"}, made)
    assert (again.decompose, again.answer_anyway) == ("{question}", made.answer_anyway)


def test_a_system_message_changes_the_version() -> None:
    words = {"answer_directly": ChatPromptTemplate([("system", "A"), ("human", "{input}")])}
    made = as_templates(words)
    assert made.answer_directly == ChatTemplate("{question}", "A")
    assert made.version != as_templates({"answer_directly": "A\n{question}"}).version


@pytest.mark.parametrize(
    ("name", "prompt", "words"),
    [
        ("answer", PromptTemplate.from_template("{question}"), "no prompt is called answer"),
        ("answer_directly", PromptTemplate.from_template("Hi"), r"lacks \{question\}"),
        (
            "answer_directly",
            PromptTemplate.from_template("{question} {references}"),
            r"names \{references\}, which nothing fills",
        ),
        (
            "answer_directly",
            ChatPromptTemplate([("system", "{question}")]),
            "needs a message of the user",
        ),
    ],
)
def test_what_cannot_be_used_is_refused(name: str, prompt: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        as_templates({name: prompt})
