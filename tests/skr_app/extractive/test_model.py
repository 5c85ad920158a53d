"""The extractive model behind the port."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_app.extractive import ExtractiveModel, Memory, is_extractive, load_extractive
from skr_core import LanguageModel, Prompt, Reference
from skr_core.errors import InputError
from skr_core.prompts import ask_is_sufficient, asking
from skr_core.prompts import templates as prompts
from skr_core.prompts.papers import RALLM_TEMPLATES
from skr_core.prompts.routing import (
    ANSWER_ALONE,
    CERTAINTY_ALONE,
    CHALLENGE,
    NEED_TEMPLATES,
    ask_certainty,
    ask_further,
    ask_need,
)
from skr_core.replies import parse_certainty, parse_need, parse_queries, read_reply
from skr_core.routers import CertaintyLevelRouter, ConfidenceRouter
from skr_core.types import Task

MODEL = ExtractiveModel()
FILM = Reference.of("Jaws is a film directed by Steven Spielberg.", "Jaws")
BORN = Reference.of("He was born in Cincinnati.", "Steven Spielberg")
QUESTION = "Where was the director of the film Jaws born?"
TASKS: list[Task] = [
    "answer_directly",
    "answer_with_references",
    "answer_anyway",
    "self_complete",
    "ask_certainty",
    "ask_need",
    "judge",
]


def test_fits_the_port() -> None:
    assert isinstance(MODEL, LanguageModel)


def test_says_in_one_reply_what_is_supported_and_what_is_missing() -> None:
    prompt = asking.answer_with_references(QUESTION, [FILM])
    assert MODEL.generate(prompt).text == (
        "INSUFFICIENT\nJaws is a film directed by Steven Spielberg. [1]\n"
        "Search: Steven Spielberg born"
    )
    asked = asking.answer_with_references(QUESTION, [FILM], queries=["Steven Spielberg director"])
    assert "Steven Spielberg born" not in MODEL.generate(asked).text
    nothing = MODEL.generate(asking.answer_with_references(QUESTION, [])).text
    assert nothing.startswith("INSUFFICIENT\nSearch: ")


def test_its_replies_are_read_as_it_means_them() -> None:
    short = read_reply(MODEL.generate(asking.answer_with_references(QUESTION, [FILM])).text, 1)
    assert (short.sufficient, short.queries) == (False, ("Steven Spielberg born",))
    assert short.text == "Jaws is a film directed by Steven Spielberg. [1]"
    enough = asking.answer_with_references(QUESTION, [FILM, BORN])
    assert read_reply(MODEL.generate(enough).text, 2).sufficient


def test_speaks_as_the_words_of_the_paper_ask() -> None:
    def ask(references: list[Reference]) -> str:
        prompt = asking.answer_with_references(QUESTION, references, templates=RALLM_TEMPLATES)
        return MODEL.generate(prompt).text

    assert ask([FILM]) == ask([]) == prompts.REFUSAL
    assert ask([FILM, BORN]).startswith("Jaws is a film directed by Steven Spielberg. [1]")


def test_answers_anyway_when_told_to() -> None:
    reply = MODEL.generate(asking.answer_anyway(QUESTION, [FILM])).text
    assert reply == "Jaws is a film directed by Steven Spielberg. [1]"
    assert MODEL.generate(asking.answer_anyway(QUESTION, [])).text == "I don't know."


def test_quotes_with_markers_and_says_what_a_pronoun_stands_for() -> None:
    reply = MODEL.generate(asking.answer_with_references(QUESTION, [FILM, BORN])).text
    assert reply == (
        "SUFFICIENT\nJaws is a film directed by Steven Spielberg. [1] "
        "Steven Spielberg: He was born in Cincinnati. [2]"
    )


@pytest.mark.parametrize("title", ["born.md", "/home/ada/My notes.PDF", "https://films.org/born"])
def test_the_name_of_a_file_stands_before_no_sentence(title: str) -> None:
    born = Reference.of("Steven Spielberg was born in Cincinnati.", title)
    prompt = asking.answer_with_references("Where was Steven Spielberg born?", [born])
    assert MODEL.generate(prompt).text == "SUFFICIENT\nSteven Spielberg was born in Cincinnati. [1]"


def test_asks_in_the_words_that_the_loop_reads() -> None:
    prompt = asking.self_complete(QUESTION, [FILM], [QUESTION])
    assert parse_queries(MODEL.generate(prompt).text) == ("Steven Spielberg born",)


@pytest.mark.parametrize(
    ("task", "reply"), [("answer_directly", "I don't know."), ("ask_certainty", "uncertain")]
)
def test_knows_nothing_by_itself(task: Task, reply: str) -> None:
    assert MODEL.generate(Prompt(task, QUESTION, QUESTION)).text == reply


def test_judges_like_it_answers() -> None:
    assert MODEL.generate(ask_is_sufficient(QUESTION, [FILM, BORN], "draft")).text == "sufficient"
    assert MODEL.generate(ask_is_sufficient(QUESTION, [FILM], "draft")).text.startswith(
        "insufficient"
    )


async def test_sync_and_async_say_the_same_and_tokens_add_up() -> None:
    prompt = asking.answer_with_references(QUESTION, [FILM, BORN])
    tokens: list[str] = []
    reply = await MODEL.agenerate(prompt, on_token=tokens.append)
    assert reply == MODEL.generate(prompt)
    assert "".join(tokens) == reply.text
    assert reply.usage.calls == 1
    assert reply.usage.estimated


def test_markers_inside_a_passage_cannot_pose_as_citations() -> None:
    hostile = Reference.of(
        "Jaws is a film [7] directed &#91;0&#93; in [-1] Texas 【9】.", "[8] Jaws"
    )
    reply = MODEL.generate(asking.answer_anyway("Is Jaws a film?", [hostile])).text
    assert re.findall(r"\[.*?\]", reply) == ["[1]"]
    assert "【" not in reply


@pytest.mark.parametrize(
    "text", ["Jaws " * 20_000, "A" * 100_000, "Jaws. " * 20_000, "\n" * 100_000, "&amp;" * 20_000]
)
def test_a_hostile_passage_costs_no_time(text: str) -> None:
    references = [Reference.of(text, f"{text[:50]} {number}") for number in range(10)]
    prompt = asking.answer_with_references(QUESTION, references)
    started = time.thread_time()
    for task in TASKS:
        MODEL.generate(Prompt(task, prompt.text[:100], QUESTION, prompt.references))
    assert time.thread_time() - started < 30


passages = st.text(st.characters(exclude_categories=()), max_size=80) | st.sampled_from(
    ["Jaws was shot by Bill Butler.", "東京は大きい。", "a [1] b [99]", "&lt;b&gt; X.", "\ud800 Ab"]
)


@given(
    st.sampled_from(TASKS),
    passages,
    st.lists(st.builds(Reference.of, passages, passages), max_size=6),
    st.lists(passages, max_size=3),
)
def test_no_input_raises_and_every_marker_names_a_reference(
    task: Task, question: str, references: list[Reference], queries: list[str]
) -> None:
    prompt = Prompt(task, question, question, tuple(references), queries=tuple(queries))
    reply = MODEL.generate(prompt)
    assert reply.text.strip()
    if task in ("answer_with_references", "answer_anyway"):
        numbers = re.findall(r"\[(-?\d+)\]", reply.text)
        assert all(1 <= int(number) <= len(references) for number in numbers)


HALF = "How many arches has the wooden bridge at Arden?"
STATEMENTS = [
    Reference.of("The mayor of Arden is Ada Moor. The bridge of Arden has five arches.", "Arden"),
    Reference.of("The river Lune flows through Arden and Bexley into the Amber Sea.", "Lune"),
]
BELIEVER = ExtractiveModel(STATEMENTS)
MAYOR = "Who is the mayor of Arden?"
STRANGE = "Who painted the ceiling?"


def test_answers_from_memory_what_memory_speaks_of() -> None:
    def answer(question: str) -> str:
        return BELIEVER.generate(asking.answer_directly(question)).text

    assert answer(MAYOR) == "The mayor of Arden is Ada Moor."
    assert answer("How many arches has the bridge at Arden?") == (
        "The bridge of Arden has five arches."
    )
    assert answer(STRANGE) == "I don't know."
    assert answer("Who is the mayor of Corvale?") == "I don't know.", "another town's mayor"


def test_with_references_it_quotes_these_alone() -> None:
    new = Reference.of("The mayor of Arden is Ben Stone, elected last year.", "Arden hall")
    reply = BELIEVER.generate(asking.answer_with_references(MAYOR, [new])).text
    assert "Ben Stone" in reply
    assert "Ada Moor" not in reply
    assert (
        BELIEVER.generate(asking.answer_anyway(MAYOR, [])).text == "The mayor of Arden is Ada Moor."
    )


def test_says_how_certain_it_is_by_what_memory_holds() -> None:
    def state(question: str, strategy: str) -> bool | None:
        return parse_certainty(BELIEVER.generate(ask_certainty(question, strategy)).text).certain

    asked = ask_certainty(MAYOR, "vanilla")
    assert parse_certainty(BELIEVER.generate(asked).text).answer == "The mayor of Arden is Ada Moor"
    assert state(MAYOR, "vanilla") is state(MAYOR, "punish_explain") is True
    assert state(STRANGE, "vanilla") is False
    assert (state(HALF, "vanilla"), state(HALF, "punish")) == (True, False)


def test_a_challenge_and_a_part_that_was_missing() -> None:
    asked = ask_certainty(HALF, "vanilla")
    reply = BELIEVER.generate(asked).text
    assert BELIEVER.generate(ask_further(asked, reply, CHALLENGE)).text == "uncertain"
    assert BELIEVER.generate(ask_further(asked, reply, CERTAINTY_ALONE)).text == "certain"
    assert BELIEVER.generate(ask_further(asked, "certain", ANSWER_ALONE)).text == (
        "The bridge of Arden has five arches."
    )


@pytest.mark.parametrize("template", NEED_TEMPLATES, ids=lambda each: each.name)
def test_says_whether_it_needs_help_in_whatever_words_it_is_asked(template) -> None:
    def need(question: str) -> bool | None:
        reply = BELIEVER.generate(ask_need(question, template)).text
        return parse_need(reply, yes_means_unknown=template.yes_means_unknown)

    assert need(MAYOR) is False
    assert need(STRANGE) is True


def test_routers_that_ask_the_model_are_told_something() -> None:
    confidence = ConfidenceRouter(BELIEVER)
    assert not confidence.decide(MAYOR).retrieve
    assert confidence.decide(STRANGE).retrieve
    assert "Ada Moor" in confidence.decide(MAYOR).draft
    assert not CertaintyLevelRouter(BELIEVER).decide(MAYOR).retrieve


async def test_sync_and_async_recall_the_same() -> None:
    prompt = asking.answer_directly(MAYOR)
    assert await BELIEVER.agenerate(prompt) == BELIEVER.generate(prompt)


def test_another_memory_is_another_model() -> None:
    names = {ExtractiveModel(each).name for each in ([], STATEMENTS, STATEMENTS[:1])}
    assert len(names) == 3
    assert ExtractiveModel().name == "extractive"
    assert Memory(STATEMENTS).version == Memory(list(STATEMENTS)).version


def test_is_loaded_by_name_with_a_file_of_what_it_knows(tmp_path: Path) -> None:
    from langchain_skr import load_model

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


SAID = f"{BORN.title}: {BORN.text}"


def in_one_sentence(question: str, *references: Reference) -> str:
    prompt = asking.answer_with_references(question, references)
    return ExtractiveModel(one_sentence=True).generate(prompt).text


def test_one_sentence_names_the_passage_that_led_to_it_too():
    assert in_one_sentence(QUESTION, BORN, FILM) == f"SUFFICIENT\n{SAID} [2][1]"
    assert in_one_sentence("Who directed the film Jaws?", FILM, BORN) == (
        f"SUFFICIENT\n{FILM.text} [1]"
    )


def test_what_the_passages_leave_open_is_not_said_in_part():
    assert in_one_sentence(QUESTION, FILM) == "INSUFFICIENT\nSearch: Steven Spielberg born"
    asked = "What was the name of Steven Spielberg's dog?"
    assert in_one_sentence(asked, FILM, BORN).startswith("INSUFFICIENT\nSearch: ")
    assert in_one_sentence(asked) == "INSUFFICIENT\nSearch: Steven Spielberg name dog"


def test_a_judge_and_a_last_answer_see_the_same_sentence():
    model = ExtractiveModel([FILM], one_sentence=True)
    anyway = asking.answer_anyway(QUESTION, [FILM, BORN])
    assert model.generate(anyway).text == f"{SAID} [1][2]"
    assert model.generate(asking.answer_anyway("Who directed Jaws?", [])).text == FILM.text
