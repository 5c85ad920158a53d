"""Refusals of a writer without references, guesses that name an answer, and plain answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import refusals
from skr_core.replies import is_refusal, may_become_refusal, says_unknown

DECLINED = [
    "I'm afraid that detail escapes me.",
    "I have no record of the attendance figure for that match.",
    "The exact height isn't something I can recall.",
    "My knowledge doesn't extend to that particular ceremony.",
    "I'd rather not guess at the name of the coach.",
    "There's no way for me to know which song was played last.",
    "You'd have to look at the club's own archives for that.",
    "The identity of the architect is not known to me.",
    "I would only be guessing if I tried to name the winner.",
    "Anything I offered here would be pure speculation.",
    "No reliable information on this award is available to me.",
    "It is best to consult an official source for the exact date.",
    "My training data doesn't seem to cover this event.",
    "It would be irresponsible of me to name a figure without a source.",
    "Details about the 1987 edition are not part of my knowledge.",
    "The precise weight of the statue remains unknown to me.",
    "I'd suggest consulting the university's registrar, as I don't have this information.",
    "To find the exact date, please check the parliament's records.",
    "I don't have that number. You could try the federation's yearbook.",
    "The 1998 festival took place in Graz. I don't know who won its main prize, though.",
    "Your guess is as good as mine.",
    "Such a fine-grained fact isn't retained in my model.",
    "There's too little in my training for me to name the translator.",
    "I have only fragmentary knowledge of this dynasty and cannot name its third ruler.",
    "I'm not certain whether it was 1844, so I won't speculate.",
    "Das übersteigt mein Wissen.",
    "Da müssten Sie in einem Archiv nachsehen.",
    "Mir fehlen die Angaben dazu.",
    "Je ne me souviens pas du nom de l'entraîneur.",
    "Il faudrait consulter une source officielle.",
    "Esa información está fuera de mi conocimiento.",
    "Desconozco la respuesta.",
    "这超出了我的知识范围。",
    "我不想妄加猜测。",
    "推測は控えたいと思います。",
    "監督の名前は覚えていません。",
]
GUESSED = [
    "I don't know for certain, but I think it was Maria Fernandes.",
    "I can't say for sure, though 1987 seems likely.",
    "I have no solid information, but 12 May 1960 comes to mind.",
    "The answer escapes me, though something tells me it's Uppsala.",
    "I'm not sure. It may have been Oskar Lund.",
    "I don't know. Perhaps Vienna?",
    "I can't recall her full name, but her surname was Bianchi.",
    "I couldn't tell you for certain, but I want to say it was in Dublin.",
    "If you forced me, I'd guess 2001, but I really don't know.",
    "1977, though I am not able to confirm it.",
    "I'm not a hundred percent on this: Lake Sevan.",
    "If memory serves, it was the Savoy; I can't swear to it.",
    "I'm not familiar with the details, but judging by the name it would be in Wales.",
    "I'd rather not guess, but if pressed I would say 1954.",
    "Ich weiß es nicht genau, vermutlich war es Karl Meyer.",
    "Je ne suis pas sûr, mais je crois que c'était Lyon.",
    "No puedo confirmarlo, pero probablemente fue Ana Ruiz.",
    "我不太清楚，也许是1932年。",
    "はっきりとは分かりませんが、1932年かもしれません。",
]
ANSWERED = [
    "She could not recall the attack when she was questioned by the police in 1983.",
    '"I Can\'t Tell You Why" is a song by the Eagles.',
    'He said, "I cannot tell a lie."',
    "Nobody knows the exact number of victims, which historians put at 300.",
    "You would need to take the ferry from Split to reach the island.",
    "The information was made available to the public in 1994.",
    "The club was not founded until 1912.",
    "She refused to answer questions about her age.",
    "I have no hesitation in saying that it was Lagos.",
    "You can check the oil level with the dipstick.",
    "There were no survivors.",
    "Die Ursache ist bis heute nicht bekannt.",
    "Le pont ne fut ouvert qu'en 1932.",
    "El puente no se abrió hasta 1932.",
    "这座桥直到1932年才开放。",
    "橋は1932年まで開通しませんでした。",
]


@pytest.mark.parametrize("text", DECLINED)
def test_a_writer_that_does_not_know_refuses(text: str) -> None:
    assert is_refusal(text)
    assert says_unknown(text)


@pytest.mark.parametrize("text", GUESSED)
def test_a_doubt_that_names_an_answer_is_no_refusal(text: str) -> None:
    assert not is_refusal(text)
    assert says_unknown(text)


@pytest.mark.parametrize("text", ANSWERED)
def test_a_plain_answer_is_no_refusal(text: str) -> None:
    assert not is_refusal(text)
    assert not may_become_refusal(f"{text} Then")


def test_a_guess_does_not_stand_in_for_what_the_references_lack() -> None:
    assert is_refusal("The references do not mention it. It may have been Ulm.")


def test_in_a_long_reply_such_words_refuse_only_where_it_begins() -> None:
    steps = (
        "Divide the costs by the mean stock. Use the balance sheet. Round the quotient. It is 4."
    )
    assert is_refusal(f"The exact ratio isn't something I can recall. {steps}")
    assert not is_refusal(f"{steps} Your guess is as good as mine.")


@pytest.mark.data
def test_what_four_models_of_2025_said(data_dir: Path) -> None:
    found = refusals.counted(data_dir)
    for source, kinds in found.items():
        shares = {
            kind: sum(refused for _, refused in replies) / len(replies)
            for kind, replies in kinds.items()
        }
        if source.startswith("worded"):
            assert shares["refusals"] >= 0.98, source
            assert shares["hedged answers"] <= 0.01, source
            assert shares["plain answers"] <= 0.005, source
        elif source == "filings, with references":
            assert shares["refusals"] >= 0.978
            assert shares["plain answers"] <= 0.026
        elif source == "filings, without references":
            assert shares["refusals"] >= 0.985
        else:
            assert shares["plain answers"] <= (0.025 if source == "right, skr" else 0.01), source
