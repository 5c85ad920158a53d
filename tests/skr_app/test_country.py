"""The invented country: what its files promise."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from skr_app.country import KINDS, load_country, write_country
from skr_app.extractive import Memory, load_extractive
from skr_core import Question, read_questions
from skr_core.match import contains_gold
from skr_core.texts import words

COUNTRY = load_country()


def of_kind(kind: str) -> list[Question]:
    return [each for each in COUNTRY.questions if each.types == (kind,)]


def test_there_are_two_hundred_different_questions_of_five_kinds() -> None:
    assert len({each.question for each in COUNTRY.questions}) == 200
    counts = Counter(kind for each in COUNTRY.questions for kind in each.types)
    assert set(counts) == set(KINDS)
    assert counts.total() == 200
    assert min(counts.values()) >= 15


def test_each_kind_is_what_it_is_called() -> None:
    passages = {each.title: f"{each.title} {each.text}" for each in COUNTRY.corpus}
    memory = Memory(COUNTRY.memory)
    for each in COUNTRY.questions:
        needed = [passages[title] for title in each.supporting_titles]
        assert len(needed) == len(each.supporting_titles), "a title that no passage has"
        if each.types[0] in ("outdated", "unknown", "two hops"):
            assert any(contains_gold(text, each.gold) for text in needed), each.question
        assert (len(needed) == 2) == (each.types == ("two hops",)), each.question
    said = {each.question: memory.recall(each.question).text for each in COUNTRY.questions}
    known, old = of_kind("known"), of_kind("outdated")
    assert sum(contains_gold(said[each.question], each.gold) for each in known) >= 0.95 * len(known)
    for each in old:
        assert said[each.question], each.question
        assert not contains_gold(said[each.question], each.gold), each.question


def test_no_single_word_tells_what_is_known() -> None:
    known = [set(words(each.question)) for each in of_kind("known")]
    other = [set(words(each.question)) for each in COUNTRY.questions if each.types != ("known",)]
    for word in set().union(*known, *other):
        among_known = sum(word in each for each in known) / len(known)
        among_other = sum(word in each for each in other) / len(other)
        assert abs(among_known - among_other) < 0.3, word


def test_its_files_are_those_of_the_command(tmp_path: Path) -> None:
    write_country(tmp_path)
    assert tuple(read_questions(tmp_path / "questions.jsonl")) == COUNTRY.questions
    assert load_extractive(f"extractive:{tmp_path / 'memory.jsonl'}").name == COUNTRY.model().name


def test_the_corpus_shares_no_passage_with_the_memory() -> None:
    assert not {each.id for each in COUNTRY.corpus} & {each.id for each in COUNTRY.memory}
