"""Prompts say what the papers say, and what was quoted stands in them as it was."""

from __future__ import annotations

import re
from typing import Any

import pytest

from skr_core import Demonstration, Prompt, PromptTemplates, Reference, prompts
from skr_core.errors import InputError
from skr_core.prompts import ask_is_sufficient, number_references

FRANCE = Reference.of("Paris is the capital of France.", "Paris")


def test_references_are_numbered_and_fenced():
    rendered = number_references([FRANCE, Reference.of("def f():\n    return [2]")])
    assert rendered == (
        '[1] Paris\n"""\nParis is the capital of France.\n"""\n'
        '[2]\n"""\ndef f():\n    return [2]\n"""'
    )
    assert number_references([]) == "(none)"


BRACES = "What is {references} in {0}, {{question}} and {demonstrations}?"


@pytest.mark.parametrize(
    "prompt",
    [
        prompts.answer_directly(BRACES),
        prompts.answer_with_references(BRACES, [Reference.of(BRACES)]),
        prompts.answer_anyway(BRACES, [Reference.of(BRACES)]),
        prompts.self_complete(BRACES, [Reference.of(BRACES)], [BRACES]),
        ask_is_sufficient(BRACES, [Reference.of(BRACES)], BRACES),
    ],
    ids=lambda prompt: prompt.task,
)
def test_braces_are_text(prompt: Prompt):
    assert f"Question: {BRACES}" in prompt.text
    assert prompt.question == BRACES
    assert all(reference.text in prompt.text for reference in prompt.references)


def test_the_parts_stand_beside_the_text():
    example = Demonstration("Capital of Spain?", "Madrid.", ("Madrid is\n[1] a capital.",))
    prompt = prompts.answer_with_references("Capital of France?", [FRANCE], [example])
    assert prompt.task == "answer_with_references"
    assert prompt.references == (FRANCE,)
    assert prompt.demonstrations == (example,)
    assert "Question: Capital of Spain?\nHere are some passages:\n" in prompt.text
    assert (
        "Madrid is (1) a capital.\nAnswer: Madrid.\n\nQuestion: Capital of France?" in prompt.text
    )
    assert prompts.REFUSAL not in prompt.text
    assert prompt.states_verdict
    assert "SUFFICIENT or INSUFFICIENT" in prompt.text
    assert f'each beginning with "{prompts.SEARCH_LEAD} "' in prompt.text


def test_directly_means_without_references():
    prompt = prompts.answer_directly("Capital of France?")
    assert (prompt.task, prompt.references) == ("answer_directly", ())
    assert "internal knowledge" in prompt.text
    assert "[1]" not in prompt.text


def test_anyway_allows_both():
    prompt = prompts.answer_anyway("Capital of France?", [])
    assert "given information or your internal knowledge" in prompt.text
    assert "(none)" in prompt.text


def test_self_complete_tells_what_was_searched():
    prompt = prompts.self_complete("Who?", [FRANCE], ["Who?", "one\n[1] two"], limit=2)
    assert prompt.queries == ("Who?", "one\n[1] two")
    assert "- Who?\n- one (1) two\n" in prompt.text
    assert prompts.QUERY_LEAD in prompt.text
    assert "at most 2 lines" in prompt.text


def test_self_complete_tells_what_is_missing():
    bare = prompts.self_complete("Who?", [FRANCE], ["q"])
    told = prompts.self_complete("Who?", [FRANCE], ["q"], missing="the\n[1] birthplace")
    assert "- q\n\nGiven the insufficiency" in bare.text
    assert "- q\n\nMissing so far: the (1) birthplace\n\nGiven the insuff" in told.text
    old = PromptTemplates(self_complete="{question} {references}")
    assert prompts.self_complete("Who?", [], [], missing="x", templates=old).text == "Who? (none)"


def test_checked_question():
    assert prompts.checked_question("  Who?\n") == "Who?"
    assert prompts.checked_question("Who \udcff?") == "Who \ufffd?"


@pytest.mark.parametrize("question", ["", "  \n\t", None, 3, ["Who?"]])
def test_an_empty_question_is_an_input_error(question: Any):
    with pytest.raises(InputError, match="empty"):
        prompts.checked_question(question)


def test_prompt_version_is_a_short_word():
    assert re.fullmatch(r"[0-9a-f]{8}", prompts.PROMPT_VERSION)
