"""Whether a question leans on what was said before it."""

from __future__ import annotations

import pytest

from skr_core.leaning import leans_on_history

LEANING = {
    "English": """
        And when was she born?
        What about Germany?
        In the United States?
        How old is it?
        Why?
        Tell me more.
        Who directed the film?
        when did he die
        Which is larger?
        Who was their first president?
        What was the revenue in March?
        What did you mean?
        Is that true for Paris too?
        What else did Marie Curie discover?
        Was there another one?
        Since 2010?
        Who is older, Brad Pitt or him?
        Who won?
        What are the alternatives?
        Summarize the above
        who is the ceo
        Was Obama president at that time?
        What happened next?
        """,
    "German": """
        Und in Österreich?
        Wie viele Einwohner hat die Stadt?
        Wann wurde er geboren?
        Was bedeutet das?
        Warum?
        Wer war sein Vater?
        Wie hoch ist der Turm?
        Gibt es dort auch einen Hafen?
        Für Kinder?
        Und was kostet das in Berlin?
        Wer hat ihn gebaut?
        Und wer war der Vater von Karl?
        Wie lange dauerte der Krieg?
        Welche davon ist die größte?
        """,
    "French": """
        Et en Allemagne ?
        Où est-il né ?
        Quel âge a-t-il ?
        Quelle est sa population ?
        Qui est le réalisateur ?
        Pourquoi ?
        Et celle de Lyon ?
        Dans quel pays ?
        Qui l'a construite ?
        Qui l'a écrit ?
        Qu'en pense Macron ?
        Où se trouve le siège ?
        Lequel est le plus grand ?
        """,
    "Spanish": """
        ¿Y en Alemania?
        ¿Cuándo nació él?
        ¿Cuál es su población?
        ¿Quién la dirigió?
        ¿Por qué?
        ¿Y su madre?
        ¿Quién es el director?
        En España?
        ¿Quién lo escribió?
        ¿Dónde está la sede?
        ¿Tiene hijos?
        """,
    "Chinese": """
        它的人口是多少？
        那里有多少人？
        他什么时候出生的？
        人口呢？
        为什么？
        那德国呢？
        导演是谁？
        这部电影是什么时候上映的？
        什么时候上映的？
        還有其他的嗎？
        谁写的？
        总部在哪里？
        请翻译成英文
        """,
    "Japanese": """
        その人口は？
        彼はいつ生まれましたか？
        ドイツは？
        では、ドイツでは？
        それはどこにありますか？
        なぜですか？
        いつ公開されましたか？
        監督は誰ですか？
        他には？
        誰が書いたのですか？
        本社はどこですか？
        いくらですか？
        """,
}
ALONE = {
    "English": """
        When was Marie Curie born?
        What is the capital of France?
        In which year did the Titanic sink?
        How many people live in New York City?
        What is the boiling point of water at sea level?
        How many moons are there around Jupiter?
        Who wrote "The Old Man and the Sea"?
        What does numpy.array return?
        Explain the difference between GPT-4 and GPT-3.
        Which river runs through the capital of France?
        What is the GDP of Japan in 2020?
        How do I reverse a list in Python?
        What is the difference between TCP and UDP?
        """,
    "German": """
        Wie viele Einwohner hat Berlin?
        Was ist die Hauptstadt von Frankreich?
        Wer war der Regisseur von Jaws?
        Wie viele Seen gibt es in Finnland?
        Wann wurde Marie Curie geboren?
        Wann endete der Zweite Weltkrieg?
        Wie hoch ist der Mount Everest?
        """,
    "French": """
        Quelle est la capitale de la France ?
        Combien y a-t-il d'habitants à Lyon ?
        Qui a écrit Les Misérables ?
        Est-ce que Paris est la capitale de la France ?
        Où est né Victor Hugo ?
        Quelle est la hauteur de la tour Eiffel ?
        """,
    "Spanish": """
        ¿Cuál es la capital de Francia?
        ¿Cuándo nació Marie Curie?
        ¿Quién escribió Don Quijote?
        ¿Cuándo terminó la Segunda Guerra Mundial?
        ¿Qué altura tiene el Monte Everest?
        """,
    "Chinese": """
        法国的首都是什么？
        北京大学是什么时候成立的？
        《红楼梦》的作者是谁？
        谁是世界上第一个登上月球的宇航员？
        美国的首都是哪里？
        Python中如何反转列表？
        """,
    "Japanese": """
        フランスの首都はどこですか？
        スティーヴン・スピルバーグはいつ生まれましたか？
        東京都の人口はどのくらいですか？
        エベレストの高さはどれくらいですか？
        日本の首都はどこですか？
        """,
}


def each(questions: dict[str, str]) -> list[str]:
    return [line.strip() for text in questions.values() for line in text.strip().splitlines()]


@pytest.mark.parametrize("question", each(LEANING))
def test_what_points_back_leans(question: str):
    assert leans_on_history(question)


@pytest.mark.parametrize("question", each(ALONE))
def test_what_names_its_subject_stands_alone(question: str):
    assert not leans_on_history(question)


@pytest.mark.parametrize("question", ["?", "…", "x", "1", "\ud800", "🤔", "[1]"])
def test_in_doubt_it_leans(question: str):
    assert leans_on_history(question)


def test_a_long_one_brings_its_subject_with_it():
    assert not leans_on_history("Here is my letter to the bank about the house. " * 100)


def test_typographic_apostrophes_are_read():
    assert leans_on_history("When’s Anna Karenina’s author born, and what’s he’s known for?")
