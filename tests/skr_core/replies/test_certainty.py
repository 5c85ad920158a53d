"""What a model says of its own answer: its conclusion, its certainty, its need of help."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core.match import contains_gold
from skr_core.replies import Certainty, conclusion, final_answer, parse_certainty, parse_need

SAID = {
    # As the figures of W2R print them.
    "East Side. Certain.": ("East Side", True),
    "Lynne and Little Mo. (uncertain)": ("Lynne and Little Mo", False),
    "I apologize for the mistake. I am uncertain.": (None, False),
    "1972. Certain.": ("1972", True),
    "Bill Russell. Certain. Bill Russell has won a total of 11": ("Bill Russell", True),
    "China (certain) - Pandas are native to China": ("China", True),
    # Forms of chat models.
    "291 certain": ("291", True),
    "1984. uncertain": ("1984", False),
    "Tchaikovsky\n(certain)": ("Tchaikovsky", True),
    "Certain - Mariska Hargitay, Ice-T": ("Mariska Hargitay, Ice-T", True),
    "Jaslene Gonzales, certain.": ("Jaslene Gonzales", True),
    "Paris **(Certain)**": ("Paris", True),
    "“Asuka” – uncertain": ("Asuka", False),
    "Answer: X\nCertainty: uncertain": ("X", False),
    "**Answer:** Paris\n\n**Certainty:** Uncertain": ("Paris", False),
    "Certainty: high\nAnswer: Paris": ("Paris", True),
    "Answer: Paris\nConfidence: low": ("Paris", False),
    "1. 1972\n2. Certain.": ("1972", True),
    "10. Certain.": ("10", True),
    "-5 degrees (certain)": ("-5 degrees", True),
    "John (Jack) Smith (certain)": ("John (Jack) Smith", True),
    "It lies in Europe. So the answer is France. (certain)": ("France", True),
    'The answer to the question is "Asuka" (certain).': ("Asuka", True),
    # In sentences.
    "I am uncertain": (None, False),
    "I'm not sure.": (None, False),
    "I’m not sure, but I think it is Paris.": ("Paris", False),
    "I think it's Paris, but I'm not sure.": ("Paris", False),
    "I am certain that the answer is Paris.": ("Paris", True),
    "Paris. I am quite certain of it.": ("Paris", True),
    "Paris. I'm 90% sure.": ("Paris", True),
    "Paris. I am not entirely certain.": ("Paris", False),
    "Paris; not certain": ("Paris", False),
    "Paris, uncertain about the year.": ("Paris", False),
    "I can't be sure about this. Perhaps Paris": ("Perhaps Paris", False),
    "I cannot be certain.": (None, False),
    "I do not know for certain.": (None, False),
    "I don't know.": (None, False),
    "As an AI, I have no knowledge of it. Paris (uncertain).": ("Paris", False),
    "I was uncertain at first. Paris. Certain.": ("I was uncertain at first. Paris", True),
    # Neither, though the word occurs.
    "Un Certain Regard": ("Un Certain Regard", None),
    "That Certain Something": ("That Certain Something", None),
    "It was released in certain countries.": ("It was released in certain countries", None),
    "Archibald, certainly not!": ("Archibald, certainly not", None),
    "Sure! The answer is Paris.": ("Paris", None),
    "Answer: Paris (certain/uncertain)": ("Paris", None),
    "Steve Goodman": ("Steve Goodman", None),
    # Conjunctions begin titles too.
    "And Then There Were None. Certain.": ("And Then There Were None", True),
    "Not Without You And (uncertain)": ("Not Without You And", False),
    "Paris and I'm certain.": ("Paris", True),
    "I'm not sure. However, I think it is Paris.": ("Paris", False),
    "I have no idea.": (None, False),
    "The correct answer would be Paris. I am certain.": ("Paris", True),
    "**Final answer**: Paris (certain)": ("Paris", True),
    # Wrapped lines, and labels that are answered.
    "I am not\ncertain.": (None, False),
    "I think it is Paris. I am\nnot entirely\n  certain.": ("Paris", False),
    "Paris. Un-\ncertain": ("Paris", False),
    "First, I was not sure. Then I remembered.\nFinal answer: Paris\nCertain": ("Paris", True),
    "**Answer**: Paris\n**Certain**: No": ("Paris", False),
    "Paris.\nCertain: yes": ("Paris", True),
    "Certain: No Country for Old Men": ("No Country for Old Men", True),
    # Other languages.
    "Paris (unsicher)": ("Paris", False),
    "Berlin. Ich bin mir nicht ganz sicher.": ("Berlin", False),
    "Berlin. Ich bin mir ganz sicher.": ("Berlin", True),
    "Paris. Je ne suis pas sûr.": ("Paris", False),
    "Paris. Je suis certain.": ("Paris", True),
    "París. No estoy seguro.": ("París", False),
    "París (segura)": ("París", True),
    "可能是巴黎，我不确定。": ("可能是巴黎", False),
    "巴黎。确定。": ("巴黎", True),
    "パリ（不確か）": ("パリ", False),
    "パリ。確信しています。": ("パリ", True),
    # Nothing at all.
    "": (None, None),
    "...": (None, None),
    "(uncertain)": (None, False),
    "certain": (None, True),
    "Answer: certain": (None, True),
}


@pytest.mark.parametrize(("text", "expected"), SAID.items(), ids=SAID)
def test_reads_any_form(text: str, expected: tuple[str | None, bool | None]):
    assert parse_certainty(text) == Certainty(*expected)


@given(st.text())
def test_never_raises(text: str):
    found = parse_certainty(text)
    assert found.answer is None or found.answer.strip()


@given(st.text(alphabet="I'm nt certaiu()\n.,-*\"not:Answer"))
def test_never_raises_on_what_looks_alike(text: str):
    parse_certainty(text)


# Without vowels no name is a word that belongs to the statement, such as "Not" or "Very".
ANSWERS = st.from_regex(
    r"[A-Z][b-df-hj-np-tvz]{2,8}( [A-Z][b-df-hj-np-tvz]{2,8}){0,2}", fullmatch=True
)
FORMS = ("{}. {}.", "{} ({})", "{} {}", "{}\n{}", "{} - {}", "Answer: {}\nCertainty: {}", "{}, {}!")


@given(ANSWERS, st.sampled_from(FORMS), st.booleans(), st.booleans())
def test_finds_the_answer_in_every_form(answer: str, form: str, certain: bool, upper: bool):
    word = "certain" if certain else "uncertain"
    text = form.format(answer, word.capitalize() if upper else word)
    assert parse_certainty(text) == Certainty(answer, certain)


@pytest.mark.parametrize(
    "piece",
    ["I ", "I\t ", "\n", "(", "answer to ", "A:\n", "not ", "very ", "certain", "I'm sorry "],
)
def test_a_hostile_reply_takes_no_longer_than_its_length(piece: str):
    started = time.thread_time()
    parse_certainty(piece * (60_000 // len(piece)))
    assert time.thread_time() - started < 5


def contains_as_recorded(answer: str, gold: list[str]) -> bool:
    """The measure of the recordings: a punctuation mark parts words, as in "B.R." or "$72.99"."""
    spaced = [re.sub(r"[^\w\s]", " ", text) for text in (answer, *gold)]
    return contains_gold(spaced[0], spaced[1:])


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("Therefore, the answer is 42.\nAnd so on.", "42."),
        ("The answer is A. No: the final answer is: B", "B"),
        ("Answer: yes", "yes"),
        ("**Answer:** Paris", "Paris"),
        ("**Final answer**: Paris", "Paris"),
        ("It flows there.\n\nAnswer:\nthe Seine", "the Seine"),
        ("It flows there. Answer: the Seine", "the Seine"),
        ("So the final answer is: Ohio", "Ohio"),
        ("The answer to the question is Paris.", "Paris."),
        ("The correct answer would be (c).", "(c)."),
        ("The answer must be the Seine [1].", "the Seine [1]."),
        ("The answer, therefore, is Paris.", "Paris."),
        ("The answer is that he died.", "he died."),
        (
            "The answer is Paris. This answer is supported by [1].",
            "Paris. This answer is supported by [1].",
        ),
        ("Paris. The answer is given in the second passage.", None),
        ("Nobody could answer: he was gone.", None),
        ("Ohio\n\nQuestion: Who?\nAnswer: Ada", None),
        ("So the answer is Ohio.\n\nQuestion: Who?\nAnswer: Ada", "Ohio."),
        ("So the answer is Ohio. So the answer is", "Ohio."),
        ("Just this.", None),
        ("", None),
    ],
)
def test_conclusions(said: str, answer: str | None) -> None:
    found = conclusion(said)
    assert (None if found is None else found.splitlines()[0]) == answer
    assert final_answer(said) == (said if answer is None else answer)


near_words = st.sampled_from(["answer", " is ", "the ", ":", "\n", "Question:", "**", "to ", ". "])
replies = st.lists(st.text(max_size=20) | near_words, max_size=10).map("".join)


@given(replies)
def test_no_conclusion_raises(text: str) -> None:
    found = conclusion(text)
    assert found is None or found.strip()
    assert final_answer(text) == final_answer(text).strip()


@pytest.mark.parametrize(
    "piece", ["answer ", "answer to ", "answer:", "\n", " ", "**", "\n* ", "_"]
)
def test_a_hostile_conclusion_takes_no_longer_than_its_length(piece: str) -> None:
    started = time.thread_time()
    conclusion(piece * (60_000 // len(piece)))
    assert time.thread_time() - started < 2


@pytest.mark.parametrize(
    ("text", "after_need", "after_ability"),
    [
        ("Yes", True, False),
        ("no.", False, True),
        ("**No**, I don't.", False, True),
        ("A: Yes", True, False),
        ("Answer: no", False, True),
        ("My answer is yes.", True, False),
        ("Yeah, please", True, False),
        ("Not really", False, True),
        ("Of course not.", False, True),
        ("Certainly not, I know it.", False, True),
        ("Yes or no?", None, None),
        ("Nothing", None, None),
        ("It depends.", None, None),
        ("I need additional information to answer this.", True, True),
        ("I would like some more clues.", True, True),
        ("More context would be helpful.", True, True),
        ("I don’t need any more information.", False, False),
        ("Additional information is not required.", False, False),
        ("I can solve it without any help.", False, False),
        ("I cannot answer this without additional information.", True, True),
        ("I can't solve this, and I don't need clues.", True, True),
        ("I can answer this.", False, False),
        ("The answer is Jane Austen.", False, False),
        ("I don't know.", True, True),
        ("No idea.", True, True),
        ("", None, None),
    ],
)
def test_need(text: str, after_need: bool | None, after_ability: bool | None) -> None:
    assert parse_need(text, yes_means_unknown=True) is after_need
    assert parse_need(text, yes_means_unknown=False) is after_ability


@given(st.text(), st.booleans())
def test_no_need_raises(text: str, yes_means_unknown: bool) -> None:
    assert parse_need(text, yes_means_unknown=yes_means_unknown) in (True, False, None)
