"""Naming what is missing."""

from hypothesis import given
from hypothesis import strategies as st

from skr_app.extractive.follow_up import follow_up_queries
from skr_core.types import Reference

FILM = Reference.of("It was directed by Steven Spielberg and shot by Bill Butler.", "Jaws")
QUESTION = "When was the director of Jaws born?"


def test_asks_for_names_with_the_open_words_of_the_question() -> None:
    assert follow_up_queries(QUESTION, [FILM]) == [
        "Steven Spielberg born",
        "Bill Butler born",
    ]


def test_names_that_have_a_reference_are_not_asked_for() -> None:
    person = Reference.of("He was born in 1946.", "Steven Spielberg (director)")
    assert follow_up_queries(QUESTION, [FILM, person]) == ["Bill Butler born"]


def test_what_was_asked_is_not_asked_again() -> None:
    asked = [QUESTION, "steven spielberg born"]
    assert follow_up_queries(QUESTION, [FILM], asked) == ["Bill Butler born"]


def test_names_of_the_question_without_a_reference_come_first() -> None:
    queries = follow_up_queries("Is Jaws older than Star Wars?", [FILM])
    assert queries[0].startswith("Star Wars")


def test_an_entity_in_a_title_is_read_as_its_character() -> None:
    reference = Reference.of("It stars Ann Lee.", "Rock &amp; Roll")
    assert follow_up_queries("Is Rock & Roll good?", [reference]) == ["Ann Lee good"]


def test_a_short_form_of_a_chosen_name_is_not_asked_for_as_well() -> None:
    film = Reference.of("It was directed by Steven Spielberg. Spielberg was young.", "Jaws")
    assert len(follow_up_queries(QUESTION, [film])) == 1


def test_without_names_the_open_words_are_asked_for_once() -> None:
    assert follow_up_queries("why do cats purr?", []) == ["cats purr"]
    assert follow_up_queries("why do cats purr?", [Reference.of("the cats sleep")]) == ["purr"]
    assert follow_up_queries("why do cats purr?", [], ["cats purr"]) == []
    assert follow_up_queries("why?", []) == []


@given(st.text(), st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=3))
def test_any_input_gives_new_queries_within_the_limit(
    question: str, texts: list[str], asked: list[str]
) -> None:
    references = [Reference.of(text, text[:9]) for text in texts]
    queries = follow_up_queries(question, references, asked, limit=2)
    assert len(queries) <= 2
    assert all(query.strip() for query in queries)
    assert not set(queries) & set(asked)
