"""The prompt baselines, with a scripted model: what is asked, what is searched, what is read."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pytest

from skr_app.extractive import LexicalEntailment
from skr_core import Demonstration, PromptTemplates
from skr_core.errors import InputError
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_lab.baselines import (
    BASELINES,
    BaselineInputs,
    make_baseline,
    most_diverse,
    most_similar,
)

QUESTION = "Where was the director of Jaws born?"
SHOWN = [Demonstration("Who?", "She wrote it. So the answer is Ada.")]


class Letters:
    """Embeds a text by the letters it holds."""

    name = "letters"

    def embed(self, texts):
        rows = [[text.lower().count(letter) for letter in "abcdefghij"] for text in texts]
        vectors = np.array(rows, dtype=np.float32) + 0.01
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    async def aembed(self, texts):
        return self.embed(texts)


def resources(*replies: str) -> tuple[BaselineInputs, ScriptedModel, MappingRetriever]:
    model = ScriptedModel(list(replies))
    retriever = MappingRetriever(
        {
            QUESTION: ["Jaws is by Spielberg."],
            "Spielberg made Jaws.": ["Spielberg was born in Ohio."],
            "Who directed Jaws?": ["Jaws is by Spielberg."],
            "Where was Spielberg born?": ["Spielberg was born in Ohio."],
        }
    )
    return (
        BaselineInputs(
            model,
            retriever,
            Letters(),
            SHOWN,
            ("abc?", "abb?", "jij?"),
            entailment=LexicalEntailment(),
        ),
        model,
        retriever,
    )


@pytest.mark.parametrize("name", BASELINES)
def test_every_baseline_sync_and_async(name: str):
    for drive in (
        lambda system: system.answer(QUESTION),
        lambda system: asyncio.run(system.aanswer(QUESTION)),
    ):
        has, _, _ = resources("So the answer is Ohio.")
        answer = drive(make_baseline(name, has))
        assert answer.text == "Ohio."
        assert answer.total_usage.calls >= 1


def test_zero_shot_cot_asks_twice():
    has, model, _ = resources("It was Spielberg.", "Ohio")
    assert make_baseline("zero_shot_cot", has).answer(QUESTION).text == "Ohio"
    assert "Let's think step by step." in model.prompts[0].text
    assert "It was Spielberg.\nSo the answer is" in model.prompts[1].text


def test_few_shot_shows_answers_and_manual_cot_reasoning():
    has, model, _ = resources("Ohio")
    make_baseline("few_shot", has).answer(QUESTION)
    make_baseline("manual_cot", has).answer(QUESTION)
    assert "Answer: Ada.\n" in model.prompts[0].text
    assert "She wrote it." in model.prompts[1].text


def test_recited_passages_come_before_the_question():
    has, model, _ = resources("Spielberg is from Ohio.", "So the answer is Ohio.")
    make_baseline("recite_and_answer", has).answer(QUESTION)
    assert f"Spielberg is from Ohio.\n{QUESTION}" in model.prompts[1].text


def test_ircot_searches_its_own_sentences():
    has, model, retriever = resources(
        "Spielberg made Jaws. He is old.", "So the answer is Ohio [2]."
    )
    answer = make_baseline("ircot", has).answer(QUESTION)
    assert retriever.queries == [QUESTION, "Spielberg made Jaws."]
    assert answer.text == "Ohio [2]."
    assert [each.text for each in answer.cited_references] == ["Spielberg was born in Ohio."]
    assert len(answer.rounds) == 2
    assert "Spielberg made Jaws." in model.prompts[1].text


def test_ircot_ends_when_nothing_new_is_said():
    has, model, _ = resources("It is so.")
    answer = make_baseline("ircot", has).answer(QUESTION)
    assert answer.text == "It is so."
    assert len(model.prompts) == 2


def test_self_ask_is_answered_by_the_retriever():
    has, model, retriever = resources(
        "Yes.\nFollow up: Who directed Jaws?\nIntermediate answer: Nobody.",
        "Follow up: Where was Spielberg born?",
        "So the final answer is: Ohio",
    )
    answer = make_baseline("self_ask", has).answer(QUESTION)
    assert retriever.queries == ["Who directed Jaws?", "Where was Spielberg born?"]
    assert answer.text == "Ohio"
    assert "Nobody" not in model.prompts[1].text
    assert "Intermediate answer: Jaws is by Spielberg." in model.prompts[1].text


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("thoughts", ["<think>Utah.</think>\n\n", "So the answer is Utah.</think>"])
def test_thoughts_change_neither_what_is_asked_nor_what_is_read(name: str, thoughts: str):
    replies = [
        "Spielberg made Jaws. He is old.\nFollow up: Who directed Jaws?",
        "Search: Where was Spielberg born?",
        "So the answer is Ohio [1].",
    ]
    if name.startswith(("auto_cot", "cot_rr")):  # which ask side by side, in any order
        replies = ["Spielberg made Jaws. He is old. So the answer is Ohio [1]."]
    has, model, retriever = resources(*replies)
    thinking, thinks, searched = resources(*(f"{thoughts}{reply}" for reply in replies))
    said, same = (make_baseline(name, each).answer(QUESTION) for each in (has, thinking))
    assert (said.text, said.citations) == (same.text, same.citations)
    if name == "cot_rr":  # which searches side by side too
        assert sorted(searched.queries) == sorted(retriever.queries)
        return
    assert said.rounds == same.rounds
    assert sorted(each.text for each in thinks.prompts) == sorted(
        each.text for each in model.prompts
    )
    assert searched.queries == retriever.queries


def test_self_ask_that_never_ends_is_ended():
    replies = [f"Follow up: question {n}?" for n in range(6)]
    has, model, _ = resources(*replies, "Ohio")
    assert make_baseline("self_ask", has).answer(QUESTION).text == "Ohio"
    assert len(model.prompts) == 7


def test_auto_cot_never_shows_the_question_itself():
    has, model, _ = resources("Thinking. So the answer is Ohio.")
    own = BaselineInputs(has.model, None, Letters(), (), (*has.pool, QUESTION))
    make_baseline("auto_cot_similarity", own).answer(QUESTION)
    assert all(prompt.question != QUESTION for prompt in model.prompts[:-1])
    assert model.prompts[-1].question == QUESTION


def test_auto_cot_writes_the_reasoning_of_an_example_once():
    has, _, _ = resources("Thinking. So the answer is Ohio.")
    baseline = make_baseline("auto_cot_similarity", has)
    calls = [baseline.answer(asked).usage["demonstrate"].calls for asked in (QUESTION, "Else?")]
    assert calls == [len(has.pool), 0]


def test_auto_cot_asks_for_the_answer_that_a_reasoning_lacks():
    has, model, _ = resources("Thinking aloud.")
    make_baseline("auto_cot_diversity", has).answer(QUESTION)
    assert "Let's think step by step. Thinking aloud.\nSo the answer is" in model.prompts[-2].text
    assert "Thinking aloud. So the answer is Thinking aloud." in model.prompts[-1].text


RIGHT = "Spielberg made Jaws. So the answer is Ohio."
WRONG = "Lucas made Jaws. So the answer is Utah."


def test_cot_rr_believes_the_reasoning_that_passages_bear_out():
    replies = [WRONG] * 5 + [RIGHT] * 5
    has, model, _ = resources(*replies)
    own = MappingRetriever({"Spielberg made Jaws.": ["In 1975 Spielberg made Jaws."]})
    answer = make_baseline("cot_rr", replace(has, retriever=own)).answer(QUESTION)
    assert answer.text == "Ohio."
    assert sorted(own.queries) == ["Lucas made Jaws.", "Spielberg made Jaws."]
    assert [each.text for each in answer.references] == ["In 1975 Spielberg made Jaws."]
    assert answer.total_usage.calls == 10
    assert {prompt.sample for prompt in model.prompts} == set(range(10))
    assert "She wrote it." in model.prompts[0].text


def test_cot_rr_is_a_plain_vote_where_nothing_is_found():
    has, _, _ = resources(*[WRONG] * 6, *[RIGHT] * 4)
    own = replace(has, retriever=MappingRetriever({}))
    assert make_baseline("cot_rr", own).answer(QUESTION).text == "Utah."


def test_dsp_searches_in_two_hops_and_annotates_its_examples_once():
    shown = Demonstration("Who?", "She wrote it. So the answer is Ada.")
    has, model, retriever = resources(
        *("Search query: Who?", "Search query: Who?"),
        *("Who made it?\nSearch query: Who directed Jaws?", "Where was Spielberg born?"),
        "So the answer is Ohio [2].",
        *("Search query: Who directed Jaws?", "Search query: Where was Spielberg born?"),
        "So the answer is Ohio [2].",
    )
    own = replace(has, demonstrations=(shown,))
    baseline = make_baseline("dsp", own)
    first, second = baseline.answer(QUESTION), baseline.answer(QUESTION)
    assert retriever.queries == ["Who?", *["Who directed Jaws?", "Where was Spielberg born?"] * 2]
    assert first.text == second.text == "Ohio [2]."
    assert [each.text for each in first.cited_references] == ["Spielberg was born in Ohio."]
    assert first.usage["demonstrate"].calls == 2
    assert second.usage["demonstrate"].calls == 0
    assert "Jaws is by Spielberg." in model.prompts[3].text


def test_auto_cot_by_diversity_chooses_and_writes_once_a_pool():
    has, model, _ = resources("Thinking. So the answer is Ohio.")
    baseline = make_baseline("auto_cot_diversity", has)
    first, second = baseline.answer(QUESTION), baseline.answer(QUESTION)
    assert len(model.prompts) == len(has.pool) + 2
    assert first.usage["demonstrate"].calls == len(has.pool)
    assert second.usage["demonstrate"].calls == 0
    assert baseline.answer("abb?").text == "Ohio."
    assert "abb?" not in [each.question for each in model.prompts[-1].demonstrations]


def test_auto_cot_by_diversity_writes_once_for_questions_asked_at_once():
    has, model, _ = resources("Thinking. So the answer is Ohio.")
    baseline = make_baseline("auto_cot_diversity", has)

    async def ask_all():
        return await asyncio.gather(*(baseline.aanswer(f"{n}?") for n in range(5)))

    assert [each.text for each in asyncio.run(ask_all())] == ["Ohio."] * 5
    assert asyncio.run(ask_all())
    assert len(model.prompts) == len(has.pool) + 10


def test_demonstrations_show_their_passages_where_the_question_has_some():
    shown = Demonstration("Who?", "So the answer is Ada.", ("Ada wrote\n[1] it.",))
    passages = "Question: Who?\nHere are some passages:\nAda wrote (1) it.\nAnswer: So the answer"
    for name in ("cot_ir", "ircot", "few_shot", "manual_cot"):
        has, model, _ = resources("Ohio")
        own = replace(has, demonstrations=(shown,))
        make_baseline(name, own).answer(QUESTION)
        assert (passages in model.prompts[0].text) is (name in ("cot_ir", "ircot"))
    has, model, _ = resources("It is in Ohio.", "Ohio")
    make_baseline("recite_and_answer", replace(has, demonstrations=(shown,))).answer(QUESTION)
    assert model.prompts[0].text.startswith("Question: Who?\nPassage: Ada wrote (1) it.\n\n")
    assert model.prompts[1].question == QUESTION


def test_the_words_of_a_run_reach_the_baselines_that_ask_once():
    templates = PromptTemplates(
        answer_directly="{demonstrations}Short: {question}",
        answer_with_references="{demonstrations}From {references}: {question}",
    )
    for name, words in (
        ("zero_shot", f"Short: {QUESTION}"),
        ("few_shot", "Question: Who?\nAnswer: Ada.\n\nShort:"),
        ("cot_ir", 'From [1]\n"""\nJaws is by Spielberg.'),
    ):
        has, model, _ = resources("Ohio")
        make_baseline(name, replace(has, templates=templates)).answer(QUESTION)
        assert words in model.prompts[0].text


def test_selection():
    pool = np.array([[1, 0], [0.98, 0.2], [0, 1], [0.2, 0.98]], dtype=np.float32)
    assert most_similar(np.array([0.1, 1.0], dtype=np.float32), pool, 2) == [3, 2]
    chosen = most_diverse(pool, 2)
    assert len(chosen) == 2
    assert len({place // 2 for place in chosen}) == 2
    assert most_diverse(pool[:0], 3) == []
    assert sorted(most_diverse(pool, 9)) == [0, 1, 2, 3]
    same = np.ones((4, 2), dtype=np.float32)
    assert len(set(most_diverse(same, 3))) == 3


def test_what_a_baseline_needs_is_named():
    with pytest.raises(InputError, match="demonstrations"):
        make_baseline("few_shot", BaselineInputs(ScriptedModel()))
    with pytest.raises(InputError, match="entailment"):
        make_baseline("cot_rr", BaselineInputs(ScriptedModel(), MappingRetriever({})))
    with pytest.raises(InputError, match="no baseline"):
        make_baseline("magic", BaselineInputs(ScriptedModel()))
