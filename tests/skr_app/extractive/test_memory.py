"""What the extractive model knows by itself, right or out of date."""

from pathlib import Path

import pytest

from skr_app.extractive import ExtractiveModel
from skr_app.extractive.loading import is_extractive, load_extractive
from skr_app.extractive.memory import Memory
from skr_core.errors import InputError
from skr_core.prompts import asking
from skr_core.prompts.routing import (
    ANSWER_ALONE,
    CERTAINTY_ALONE,
    CHALLENGE,
    NEED_TEMPLATES,
    ask_certainty,
    ask_further,
    ask_need,
)
from skr_core.replies.certainty import parse_certainty, parse_need
from skr_core.routers import CertaintyLevelRouter, ConfidenceRouter
from skr_core.types import Reference

HALF = "How many arches has the wooden bridge at Arden?"
STATEMENTS = [
    Reference.of("The mayor of Arden is Ada Moor. The bridge of Arden has five arches.", "Arden"),
    Reference.of("The river Lune flows through Arden and Bexley into the Amber Sea.", "Lune"),
]
MODEL = ExtractiveModel(STATEMENTS)
MAYOR = "Who is the mayor of Arden?"
STRANGE = "Who painted the ceiling?"


def test_answers_from_memory_what_memory_speaks_of() -> None:
    def answer(question: str) -> str:
        return MODEL.generate(asking.answer_directly(question)).text

    assert answer(MAYOR) == "The mayor of Arden is Ada Moor."
    assert answer("How many arches has the bridge at Arden?") == (
        "The bridge of Arden has five arches."
    )
    assert answer(STRANGE) == "I don't know."
    assert answer("Who is the mayor of Corvale?") == "I don't know.", "another town's mayor"


def test_with_references_it_quotes_these_alone() -> None:
    new = Reference.of("The mayor of Arden is Ben Stone, elected last year.", "Arden hall")
    reply = MODEL.generate(asking.answer_with_references(MAYOR, [new])).text
    assert "Ben Stone" in reply
    assert "Ada Moor" not in reply
    assert MODEL.generate(asking.answer_anyway(MAYOR, [])).text == "The mayor of Arden is Ada Moor."


def test_says_how_certain_it_is_by_what_memory_holds() -> None:
    def state(question: str, strategy: str) -> bool | None:
        return parse_certainty(MODEL.generate(ask_certainty(question, strategy)).text).certain

    asked = ask_certainty(MAYOR, "vanilla")
    assert parse_certainty(MODEL.generate(asked).text).answer == "The mayor of Arden is Ada Moor"
    assert state(MAYOR, "vanilla") is state(MAYOR, "punish_explain") is True
    assert state(STRANGE, "vanilla") is False
    assert (state(HALF, "vanilla"), state(HALF, "punish")) == (True, False)


def test_a_challenge_and_a_part_that_was_missing() -> None:
    asked = ask_certainty(HALF, "vanilla")
    reply = MODEL.generate(asked).text
    assert MODEL.generate(ask_further(asked, reply, CHALLENGE)).text == "uncertain"
    assert MODEL.generate(ask_further(asked, reply, CERTAINTY_ALONE)).text == "certain"
    assert MODEL.generate(ask_further(asked, "certain", ANSWER_ALONE)).text == (
        "The bridge of Arden has five arches."
    )


@pytest.mark.parametrize("template", NEED_TEMPLATES, ids=lambda each: each.name)
def test_says_whether_it_needs_help_in_whatever_words_it_is_asked(template) -> None:
    def need(question: str) -> bool | None:
        reply = MODEL.generate(ask_need(question, template)).text
        return parse_need(reply, yes_means_unknown=template.yes_means_unknown)

    assert need(MAYOR) is False
    assert need(STRANGE) is True


def test_routers_that_ask_the_model_are_told_something() -> None:
    confidence = ConfidenceRouter(MODEL)
    assert not confidence.decide(MAYOR).retrieve
    assert confidence.decide(STRANGE).retrieve
    assert "Ada Moor" in confidence.decide(MAYOR).draft
    assert not CertaintyLevelRouter(MODEL).decide(MAYOR).retrieve


async def test_both_colours_recall_the_same() -> None:
    prompt = asking.answer_directly(MAYOR)
    assert await MODEL.agenerate(prompt) == MODEL.generate(prompt)


def test_another_memory_is_another_model() -> None:
    names = {ExtractiveModel(each).name for each in ([], STATEMENTS, STATEMENTS[:1])}
    assert len(names) == 3
    assert ExtractiveModel().name == "extractive"
    assert Memory(STATEMENTS).version == Memory(list(STATEMENTS)).version


def test_is_loaded_by_name_with_a_file_of_what_it_knows(tmp_path: Path) -> None:
    from langchain_skr.models import load_model

    file = tmp_path / "memory.jsonl"
    file.write_text('{"title": "Arden", "text": "The mayor of Arden is Ada Moor."}\n')
    model = load_model(f"extractive:{file}")
    assert model.generate(asking.answer_directly(MAYOR)).text == "The mayor of Arden is Ada Moor."
    assert model.name == load_extractive(f"extractive:{file}").name
    assert is_extractive("extractive")
    assert not is_extractive("extractive2:x")
    (tmp_path / "empty.jsonl").write_text('{"text": " "}\n')
    with pytest.raises(InputError, match="nothing to know"):
        load_extractive(f"extractive:{tmp_path / 'empty.jsonl'}")
    with pytest.raises(InputError):
        load_extractive(f"extractive:{tmp_path / 'absent.jsonl'}")
