"""LangChain's prompt templates are the words of a system, with their system messages."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate

from langchain_skr import LangChainModel, as_templates, create_skr_chain
from skr_core import Prompt
from skr_core.errors import InputError
from skr_core.prompts import DEFAULT_TEMPLATES, ChatTemplate, messages_of, words_of
from skr_core.prompts.templates import PROTOCOL
from skr_core.testing import MappingRetriever, ScriptedModel
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
    assert f"\n\n{QUESTION}\n" in asked.text


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
    assert words_of(made.condense).strip() == "{history}: {question}"
    assert words_of(made.answer_directly).strip() == "Briefly, {question}"
    assert words_of(made.answer_anyway).strip() == "{question}: {references}"
    assert words_of(made.decompose).strip() == "Parts of {question}?"
    assert made.self_complete == DEFAULT_TEMPLATES.self_complete
    again = as_templates({"decompose": "{question}"}, made)
    assert messages_of(again.decompose) == ("{question}", "")
    assert again.answer_anyway == made.answer_anyway
    filled = made.filled({})
    assert filled.filled({}) is filled
    assert (filled.condense, filled.decompose) == ("{history}: {question}", "Parts of {question}?")


def test_a_system_message_changes_the_version() -> None:
    words = {"answer_directly": ChatPromptTemplate([("system", "A"), ("human", "{input}")])}
    made = as_templates(words)
    assert made.filled({}).answer_directly == ChatTemplate("{question}", "A")
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


LIBRARY = MappingRetriever({"Capital?": ["Paris is the capital."]})


async def told(templates: Any, way: str, *runs: dict[str, Any]) -> list[str]:
    """What the model is told in each run, without the words that are added around the prompt's."""
    model = ScriptedModel(otherwise="SUFFICIENT\nParis [1].")
    chain = create_skr_chain(model, LIBRARY, templates=templates)
    for run in runs:
        given = {"input": "Capital?", **run}
        await chain.ainvoke(given) if way == "async" else chain.invoke(given)
    asked = [each for each in model.prompts if each.task == "answer_with_references"]
    said = [f"{each.system}\n{each.text.removeprefix(PROTOCOL[0])}".strip() for each in asked]
    return [each.partition("\n\nDo the references")[0] for each in said]


FOUND_HERE = '[1]\n"""\nParis is the capital.\n"""'
CONDITIONAL = {
    "mustache": "{{#vip}}Be warm.{{/vip}}{{^vip}}Be brief.{{/vip}} {{context}} {{question}}",
    "jinja2": "{% if vip %}Be warm.{% else %}Be brief.{% endif %} {{ context }} {{ question }}",
}


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("kind", CONDITIONAL)
async def test_conditions_are_those_of_each_run(kind: Any, way: str) -> None:
    if kind == "jinja2":
        pytest.importorskip("jinja2")
    prompt = PromptTemplate.from_template(CONDITIONAL[kind], template_format=kind)
    runs = [{"vip": True}, {"vip": False}, {"vip": True}]
    manners = [each[: each.index(".")] for each in await told(as_templates(prompt), way, *runs)]
    assert manners == ["Be warm", "Be brief", "Be warm"]
    direct = as_templates(prompt).filled({"vip": False}).answer_directly
    assert messages_of(direct)[1].startswith("Be brief.")


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_the_functions_of_a_prompt_are_called_for_each_run(way: str) -> None:
    numbers = count()
    prompt = ChatPromptTemplate([("system", "At {now}: {context}"), ("human", "{input}")])
    words = as_templates(prompt.partial(now=lambda: f"{next(numbers)} o'clock"))
    assert next(numbers) == 0, "none is called before there is a run"
    first, second = await told(words, way, {}, {})
    assert int(first.split()[1]) < int(second.split()[1])
    again = as_templates(prompt.partial(now=lambda: "noon"))
    assert again.version == words.version, "what a function returns is no word of the app's"


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_other_messages_than_the_history_reach_the_model(way: str) -> None:
    prompt = ChatPromptTemplate(
        [
            MessagesPlaceholder("chat_history"),
            MessagesPlaceholder("examples"),
            MessagesPlaceholder("more", optional=True),
            ("human", "{context}\n{input}"),
        ]
    )
    words, examples = as_templates(prompt), [("human", "1 + 1?"), AIMessage("2 {input}")]
    run = {"examples": examples, "chat_history": [("user", "Hi"), ("ai", "Ho")]}
    [said, more] = await told(words, way, run, {**run, "more": [("human", "3?")]})
    asked = f"user: {FOUND_HERE}\nCapital?"
    assert said == f"user: 1 + 1?\nassistant: 2 {{input}}\n{asked}"
    assert more == f"user: 1 + 1?\nassistant: 2 {{input}}\nuser: 3?\n{asked}"
    with pytest.raises(InputError, match=r"name \{examples\}, which neither the run's"):
        await told(words, way, {})
    with pytest.raises(InputError, match=r"the prompt answer_with_references: ValueError"):
        await told(words, way, {"examples": 5})


async def test_all_names_but_those_of_the_parts_are_the_app_s_own() -> None:
    names = ("limit", "queries", "missing", "partial", "searched", "demonstrations")
    asking = " ".join(f"{each}={{{each}}}" for each in names)
    words = as_templates(PromptTemplate.from_template(asking + " {n:.2f}\n{context}\n{question}"))
    values = {each: f"my {{{each}}}" for each in names}
    [said] = await told(words, "sync", {**values, "n": 2.345})
    assert said.startswith(" ".join(f"{each}=my {{{each}}}" for each in names) + " 2.35\n[1]")
    with pytest.raises(InputError, match=r"the prompt answer_with_references: ValueError.*'f'"):
        await told(words, "sync", {**values, "n": "two"})


@pytest.mark.parametrize(
    "words", ["Use {context}: {input}s", {"answer_with_references": "Use {context}: {input}s"}]
)
async def test_a_text_has_the_names_of_a_prompt(words: Any) -> None:
    assert await told(as_templates(words), "sync", {}) == [f"Use {FOUND_HERE}: Capital?s"]


PICTURE = {"type": "image_url", "image_url": {"url": "https://example.org/{name}.png"}}


@pytest.mark.parametrize(
    ("prompt", "says"),
    [
        (None, "a prompt is wanted, not NoneType"),
        (["{question}"], "a prompt is wanted, not list"),
        (USUAL | ScriptedModel, "a prompt is wanted, not RunnableSequence"),
        ({"condense": 5}, "a prompt is wanted, not int"),
        ("{question", "the prompt answer_with_references: ValueError: expected"),
        (
            ChatPromptTemplate(
                [("human", [{"type": "text", "text": "{input} {context}"}, PICTURE])]
            ),
            "a prompt holds image_url, and its words are text",
        ),
        (
            PromptTemplate.from_template("{chat_history}\n{context}\n{question}"),
            r"names \{chat_history\} in its words: leave it out",
        ),
    ],
)
def test_what_is_no_prompt_is_refused_in_one_line(prompt: Any, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        as_templates(prompt)
    assert "\n" not in str(caught.value)


def test_a_prompt_as_it_is_is_told_where_it_goes() -> None:
    given: Any = USUAL
    with pytest.raises(InputError, match=r"give templates=as_templates\(prompt\)"):
        create_skr_chain(ScriptedModel(), LIBRARY, templates=given)
