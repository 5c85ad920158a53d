"""Choosing sentences, and judging whether they suffice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from skr_app.extractive import MAX_QUOTES, choose_quotes, follow_up_queries, is_sufficient
from skr_core import Reference

FILM = Reference.of("Jaws is a film. It was directed by Steven Spielberg.", "Jaws (film)")
DIRECTOR = Reference.of("He collects stamps. He was born in Cincinnati.", "Steven Spielberg")
NOISE = Reference.of("The director was born. A director may be born anywhere.", "Directing")
QUESTION = "Where was the director of the film Jaws born?"


def test_a_quoted_name_leads_to_its_own_passage() -> None:
    quotes = choose_quotes(QUESTION, [NOISE, FILM, DIRECTOR])
    assert "He was born in Cincinnati." in [each.text for each in quotes.sentences]
    assert {2, 3} <= {each.number for each in quotes.sentences}


def test_quotes_are_few_and_different() -> None:
    long = Reference.of(" ".join(f"The film Jaws was shown in room {n}." for n in range(50)))
    quotes = choose_quotes(QUESTION, [long])
    assert len({each.text for each in quotes.sentences}) == len(quotes.sentences) <= MAX_QUOTES


def test_no_reference_and_no_shared_word_give_no_quote() -> None:
    assert choose_quotes(QUESTION, []).sentences == ()
    other = Reference.of("Cats sleep.", "Cats")
    assert choose_quotes(QUESTION, [other]).sentences == ()


def test_coverage_is_the_share_of_the_question() -> None:
    half = choose_quotes("Jaws Cincinnati", [Reference.of("Jaws.")]).coverage
    assert 0 < half < 1
    assert choose_quotes("Jaws", [Reference.of("Jaws.")]).coverage == 1


def sufficient(question: str, *references: Reference) -> bool:
    return is_sufficient(question, references, choose_quotes(question, references))


def test_one_sentence_that_says_all_suffices() -> None:
    assert sufficient(
        "Who directed Jaws?", Reference.of("Jaws was directed by Steven Spielberg in Texas.")
    )


def test_an_open_name_does_not_suffice_and_a_closed_chain_does() -> None:
    film = Reference.of("The film was directed by Steven Spielberg.", "Jaws")
    born = Reference.of("He was born in Cincinnati.", "Steven Spielberg")
    assert not sufficient("Where was the director of the film Jaws born?", film)
    assert sufficient("Where was the director of the film Jaws born?", film, born)


def test_nothing_or_something_else_does_not_suffice() -> None:
    assert not sufficient(QUESTION)
    assert not sufficient(QUESTION, Reference.of("Cats were born to sleep.", "Cats"))


SHOT = Reference.of("It was directed by Steven Spielberg and shot by Bill Butler.", "Jaws")
WHEN = "When was the director of Jaws born?"


def test_asks_for_names_with_the_open_words_of_the_question() -> None:
    assert follow_up_queries(WHEN, [SHOT]) == [
        "Steven Spielberg born",
        "Bill Butler born",
    ]


def test_names_that_have_a_reference_are_not_asked_for() -> None:
    person = Reference.of("He was born in 1946.", "Steven Spielberg (director)")
    assert follow_up_queries(WHEN, [SHOT, person]) == ["Bill Butler born"]


def test_what_was_asked_is_not_asked_again() -> None:
    asked = [WHEN, "steven spielberg born"]
    assert follow_up_queries(WHEN, [SHOT], asked) == ["Bill Butler born"]


def test_names_of_the_question_without_a_reference_come_first() -> None:
    queries = follow_up_queries("Is Jaws older than Star Wars?", [SHOT])
    assert queries[0].startswith("Star Wars")


def test_an_entity_in_a_title_is_read_as_its_character() -> None:
    reference = Reference.of("It stars Ann Lee.", "Rock &amp; Roll")
    assert follow_up_queries("Is Rock & Roll good?", [reference]) == ["Ann Lee good"]


def test_a_short_form_of_a_chosen_name_is_not_asked_for_as_well() -> None:
    film = Reference.of("It was directed by Steven Spielberg. Spielberg was young.", "Jaws")
    assert len(follow_up_queries(WHEN, [film])) == 1


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
