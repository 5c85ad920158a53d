import gzip
import json

import pytest

from skr_core import Reference
from skr_store import Store


def rows(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


# Plain BM25's figures over the same corpus and questions, see the README beside the data.
@pytest.mark.data
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("name", "recall", "all_found"),
    [
        pytest.param("hotpotqa", 0.854, 0.720, marks=pytest.mark.soak),
        ("2wikimultihopqa", 0.7195, 0.424),
        ("musique", 0.6488, 0.3367),
    ],
)
def test_one_search_finds_as_much_as_plain_bm25(data_dir, name, recall, all_found):
    corpus = rows(data_dir / f"corpus_{name}.jsonl.gz")
    questions = rows(data_dir / f"multihop_{name}_contexts.jsonl.gz")
    shares = []
    with Store.ephemeral(k=10) as store:
        store.add([Reference.of(row["text"], row["title"]) for row in corpus])
        for row in questions:
            found = {reference.title for reference in store.retrieve(row["question"])}
            wanted = set(row["supporting_titles"])
            shares.append(len(wanted & found) / len(wanted))
    assert sum(shares) / len(shares) >= recall - 5e-5
    assert sum(share == 1 for share in shares) / len(shares) >= all_found - 5e-5


# Of each script: passages, and for each of them a question that shares a word or two with it.
SCRIPTS = {
    "Latin": (
        ["Le café du port ouvre à sept heures.", "La tour fut bâtie en 1889.", "L'été est doux."],
        ["A quelle heure ouvre le CAFE ?", "quand la tour bâtie", "un ete doux"],
    ),
    "Cyrillic": (
        ["Эйфелева башня стоит в Париже.", "Рим расположен в Италии.", "Кошка спит на окне."],
        ["Где стоит башня?", "Где расположен Рим?", "Кто спит на окне?"],
    ),
    "Arabic": (
        ["برج إيفل يقع في باريس", "روما عاصمة إيطاليا", "القطة تنام على النافذة"],
        ["أين يقع برج إيفل؟", "ما هي عاصمة إيطاليا؟", "من تنام على النافذة؟"],
    ),
    "Chinese": (
        ["埃菲尔铁塔位于巴黎。", "罗马是意大利的首都。", "猫在窗台上睡觉。"],
        ["铁塔在哪里?", "意大利的首都是什么?", "谁在睡觉?"],
    ),
    "Japanese": (
        [
            "エッフェル塔はパリにあります。",
            "ローマはイタリアの首都です。",
            "猫は窓辺で眠っています。",
        ],
        ["パリに何がありますか", "イタリアの首都は?", "眠っている猫"],
    ),
    "Thai": (
        ["หอไอเฟลตั้งอยู่ในปารีส", "โรมเป็นเมืองหลวงของอิตาลี", "แมวนอนหลับที่หน้าต่าง"],
        ["หอไอเฟลอยู่ที่ไหน", "เมืองหลวงของอิตาลีคืออะไร", "ใครนอนหลับ"],
    ),
}


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("caught_up", [True, False])
def test_each_script_is_found_without_being_told(script: str, caught_up: bool):
    passages, questions = SCRIPTS[script]
    with Store.ephemeral(k=1) as store:
        store.add([Reference.of(text) for texts, _ in SCRIPTS.values() for text in texts])
        if caught_up:
            store.backend.words.catch_up(1)
        found = [store.retrieve(question)[0].text for question in questions]
    assert found == passages


def test_the_index_and_what_waits_for_it_rank_alike():
    passages = [
        Reference.of(f"The {a} {b} of the harbour, and of the {a} ferry.", f"{b} {n % 7}")
        for n, (a, b) in enumerate((a, b) for a in ("red", "old", "new") for b in ("pier", "mast"))
    ]
    orders = []
    for caught_up in (0, 3, len(passages)):
        with Store.ephemeral(k=10) as store:
            store.add(passages[:caught_up])
            store.backend.words.catch_up(1)
            store.add(passages[caught_up:])
            found = [store.retrieve(each)[0].id for each in ("old pier", "new mast", "red pier")]
            orders.append(found)
    assert orders[0] == orders[1] == orders[2]


def test_words_are_stemmed_where_the_language_is_told(tmp_path):
    with Store.open(tmp_path, language="english") as store:
        store.add([Reference.of("He was running a bakery."), Reference.of("Something else.")])
        assert store.retrieve("Who runs bakeries?")[0].text == "He was running a bakery."
    with Store.open(tmp_path) as store:
        assert store.stats().language == "english"
        assert store.retrieve("runs")
    with Store.open(tmp_path, language="") as store:
        assert store.retrieve("runs") == []
        assert store.retrieve("running")


@pytest.mark.parametrize(
    "query", ['title:"Rome"', "(", "AND OR NOT", "-rome +", "rome^2", "ro*", "[a TO b]", "\\", "/"]
)
def test_a_query_is_words_and_never_syntax(query: str):
    with Store.ephemeral() as store:
        store.add([Reference.of("It is in Italy.", "Rome"), Reference.of("Or not.", "Paris")])
        store.backend.words.catch_up(1)
        found = [each.title for each in store.retrieve(query)]
        assert found in ([], ["Rome"], ["Paris"])
