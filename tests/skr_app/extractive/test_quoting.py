"""Choosing sentences, and judging whether they suffice."""

from skr_app.extractive.quoting import MAX_QUOTES, choose_quotes, is_sufficient
from skr_core.types import Reference

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
