"""A template names what it needs, and nothing else."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from skr_core import Demonstration, PromptTemplates, Reference, prompts
from skr_core.errors import InputError
from skr_core.prompts import DEFAULT_TEMPLATES
from skr_core.prompts.papers import RALLM_TEMPLATES, SKR_TEMPLATES, W2R_TEMPLATES
from skr_core.prompts.templates import PROTOCOL, WITHOUT_CONTEXT, ChatTemplate

PARIS = Reference.of("Paris is the capital of France.", "Paris")
EXAMPLE = Demonstration("Capital of Spain?", "Madrid.", ("Madrid is the capital of Spain.",))


def test_the_defaults_are_the_constants() -> None:
    assert asdict(DEFAULT_TEMPLATES) == {
        "answer_directly": prompts.ANSWER_DIRECTLY,
        "answer_with_references": prompts.ANSWER_WITH_REFERENCES,
        "answer_anyway": prompts.ANSWER_ANYWAY,
        "self_complete": prompts.SELF_COMPLETE,
        "decompose": prompts.DECOMPOSE,
        "condense": prompts.CONDENSE,
    }


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("", r"lacks \{question\}, \{references\}"),
        ("{question}", r"lacks \{references\}"),
        ("{question} {references} {limit} {missing}", r"names \{limit\}, \{missing\}, which"),
        ("{question.__class__} {question} {references}", "which nothing fills"),
        ("{question!r} {references}", "not format them"),
        ("{question:>9} {references}", "not format them"),
        ("{question} {references} {", "cannot be read"),
        ("{} {question} {references}", "which nothing fills"),
        (None, "cannot be read"),
    ],
)
def test_what_cannot_be_rendered_is_refused(template: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        PromptTemplates(answer_with_references=template)


def test_each_function_renders_its_template() -> None:
    templates = PromptTemplates(
        "1 {{}} {question}",
        "2 {question} {references}",
        "3 {question} {references}",
        "4 {question} {references} {queries} {limit}",
    )
    rendered = [
        prompts.answer_directly("Q", templates=templates),
        prompts.answer_with_references("Q", [PARIS], templates=templates),
        prompts.answer_anyway("Q", [PARIS], templates=templates),
        prompts.self_complete("Q", [PARIS], ["q"], 2, templates=templates),
    ]
    reference = '[1] Paris\n"""\nParis is the capital of France.\n"""'
    before, behind = PROTOCOL
    asked = behind.format(question="Q", searched="", partial="", missing="")
    assert [prompt.text for prompt in rendered] == [
        "1 {} Q",
        f"{before}2 Q {reference}{asked}",
        f"3 Q {reference}",
        f"4 Q {reference} - q 2",
    ]


def test_skr_shows_passages_only_where_it_retrieves() -> None:
    directly = prompts.answer_directly("Capital of France?", [EXAMPLE], templates=SKR_TEMPLATES)
    assert directly.text == (
        "Question: Capital of Spain?\nAnswer: Madrid.\n\nQuestion: Capital of France?\nAnswer:"
    )
    augmented = prompts.answer_with_references(
        "Capital of France?", [PARIS], [EXAMPLE], templates=SKR_TEMPLATES
    )
    assert augmented.text == (
        "Question: Capital of Spain?\nHere are some passages:\n"
        "Madrid is the capital of Spain.\nAnswer: Madrid.\n\n"
        "Question: Capital of France?\nHere are some passages:\n"
        '[1] Paris\n"""\nParis is the capital of France.\n"""\nAnswer:'
    )


def test_w2r_says_what_figure_10_says() -> None:
    prompt = prompts.answer_with_references("who rules", [PARIS], templates=W2R_TEMPLATES)
    assert prompt.text == (
        "Given the following information:\n\n"
        '[1] Paris\n"""\nParis is the capital of France.\n"""\n\n'
        "Answer the following question based on the given information or your internal knowledge "
        "with one or few words.\n\nQ: who rules\nA:"
    )


def test_rallm_asks_for_its_sentence_and_for_queries_in_another_call() -> None:
    prompt = prompts.answer_with_references("who?", [PARIS], templates=RALLM_TEMPLATES)
    assert f'respond with only "{prompts.REFUSAL}"' in prompt.text
    assert prompt.text.endswith("\nAnswer:")
    asked = prompts.self_complete("who?", [PARIS], ["q"], templates=RALLM_TEMPLATES)
    assert f'start your query with "{prompts.QUERY_LEAD}"' in asked.text


def test_a_verdict_is_asked_for_around_all_words_but_the_papers() -> None:
    for templates in (RALLM_TEMPLATES, SKR_TEMPLATES, W2R_TEMPLATES):
        prompt = prompts.answer_with_references("who?", [PARIS], templates=templates)
        assert not prompt.states_verdict
        assert prompts.SUFFICIENT not in prompt.text
    words = ChatTemplate("{question}", "You are Lamplight. Sources: {references}")
    own = PromptTemplates(answer_with_references=words)
    prompt = prompts.answer_with_references("who?", [PARIS], templates=own)
    assert prompt.states_verdict
    assert prompt.text.startswith(f"{PROTOCOL[0]}who?\n")
    assert prompt.text.endswith("Verdict:")
    assert "Missing: " in prompt.text
    assert prompt.system.startswith("You are Lamplight. Sources: [1] Paris")


def test_an_app_s_variables_are_filled_in_every_prompt() -> None:
    asking = PromptTemplates(
        answer_directly="{user}, {today}: {question}",
        answer_with_references=ChatTemplate("{question}", "For {user} from {references}"),
    )
    assert asking.variables == {"user", "today"}
    filled = asking.filled({"user": "Ada {question}", "today": "Monday", "references": "none"})
    assert filled.variables == frozenset()
    assert prompts.answer_directly("Q", templates=filled).text == "Ada {question}, Monday: Q"
    prompt = prompts.answer_with_references("Q", [PARIS], templates=filled)
    assert prompt.system.startswith("For Ada {question} from [1] Paris")
    with pytest.raises(InputError, match=r"name \{today\}, which neither"):
        asking.filled({"user": "Ada"})


def test_an_app_s_words_stand_before_answers_without_references_too() -> None:
    own = PromptTemplates().worded(
        "You are Lamplight, and brief.\n---------\n{references}\n---------\n"
        "Speak to {user} as a friend.\nQuery: {question}\nAnswer: "
    )
    asked = prompts.answer_directly("Q", templates=own.filled({"user": "Ada"}))
    assert asked.system == (
        f"You are Lamplight, and brief.\nSpeak to Ada as a friend.\n\n{WITHOUT_CONTEXT}"
    )
    assert asked.text == prompts.answer_directly("Q").text
    within = PromptTemplates().worded(
        "Be brief! Never name {topic}. Use this:\n{references}\n{question}"
    )
    asked = prompts.answer_directly("Q", templates=within.filled({"topic": "prices"}))
    assert asked.system.splitlines()[0] == "Be brief! Never name prices."
    bare = PromptTemplates().worded("{references}\n{question}")
    assert prompts.answer_directly("Q", templates=bare).system == ""


def test_what_earlier_rounds_said_goes_into_the_next_prompts() -> None:
    told = prompts.answer_with_references(
        "Who?",
        [PARIS],
        queries=["Who?", "her\nname"],
        missing="the [1] name",
        partial="She ruled [1].",
    )
    assert "\nSearched so far:\n- her name\n" in told.text
    assert "\nMissing so far: the [1] name\n" not in told.text
    assert "\nMissing so far: the" in told.text
    assert told.queries == ("Who?", "her\nname")
    asked = prompts.self_complete(
        "Who?", [PARIS], ["q"], missing="the name", partial="She ruled [1]."
    )
    assert "Supported so far: She ruled (1).\n\nMissing so far: the name\n" in asked.text
