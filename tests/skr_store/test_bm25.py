from itertools import pairwise

import bm25s
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_store.bm25 import K1, B, BM25Index
from skr_store.counting import searched_words

TEXTS = [
    "Paris is the capital of France and its largest city.",
    "Rome is the capital of Italy.",
    "The Eiffel Tower stands in Paris, Paris, Paris.",
    "Berlin wall",
    "La tour Eiffel fut construite en 1889.",
]


def index_of(texts):
    index = BM25Index()
    index.add((str(place), text) for place, text in enumerate(texts))
    return index


@pytest.mark.parametrize("query", ["capital of France", "paris tower", "Eiffel 1889 Paris", "wall"])
def test_scores_are_those_of_bm25s(query):
    reference = bm25s.BM25(method="lucene", k1=K1, b=B)
    reference.index([searched_words(text) for text in TEXTS], show_progress=False)
    expected = reference.get_scores(searched_words(query))

    found = dict(index_of(TEXTS).search(query, 10))

    assert found == pytest.approx({str(i): s for i, s in enumerate(expected) if s}, rel=1e-5)


@given(
    st.lists(st.lists(st.sampled_from(["red", "green", "blue"]), max_size=6), max_size=12),
    st.integers(0, 12),
)
def test_growing_step_by_step_ranks_like_a_rebuilt_index(lists, cut):
    texts = [" ".join(each) for each in lists]
    grown = BM25Index()
    grown.add((str(i), text) for i, text in enumerate(texts[:cut]))
    grown.search("red blue", 5)
    grown.add((str(i), text) for i, text in enumerate(texts) if i >= cut)

    assert grown.search("red blue", 20) == index_of(texts).search("red blue", 20)


@given(
    st.lists(st.lists(st.sampled_from(["red", "green", "blue"]), max_size=6), max_size=30),
    st.lists(st.integers(0, 30), max_size=4),
)
def test_extending_at_once_ranks_like_adding(lists, cuts):
    pairs = [(str(place), " ".join(each)) for place, each in enumerate(lists)]
    extended = BM25Index()
    for start, end in pairwise([0, *sorted(cuts), len(pairs)]):
        (extended.extend if start % 2 else extended.append)(pairs[start:end])
    whole = BM25Index()
    whole.add(pairs)
    assert extended.search("red blue", 9) == whole.search("red blue", 9)
    assert sorted(extended.ids()) == sorted(whole.ids())
    extended.add(pairs)  # none of them is new
    assert len(extended) == len(pairs)


def test_what_is_searched_is_in_few_parts():
    index = BM25Index()
    for number in range(40):
        index.extend([(f"{number}", "red"), (f"{number} too", "blue")])
        if number % 3 == 0:
            index.search("red", 1)
    assert len(index.search("red", 100)) == 40
    assert len(index._at_once) <= 6


def test_ids_are_in_the_order_of_their_addition():
    index = BM25Index()
    index.append([("c", "red")])
    index.extend([("b", "red"), ("a", "red")])
    index.append([("e", "red")])
    index.extend([("d", "red")])
    assert list(index.ids()) == ["c", "b", "a", "e", "d"]
    assert index.freeze().ids() == ["c", "b", "a", "e", "d"]


def test_equals_stand_by_id_also_at_the_cut():
    index = index_of(["same words"] * 9)
    assert [identity for identity, _ in index.search("words", 4)] == ["0", "1", "2", "3"]


@given(
    st.lists(st.lists(st.sampled_from(["red", "green", "blue"]), max_size=6), max_size=12),
    st.randoms(use_true_random=False),
    st.integers(1, 12),
)
def test_the_order_of_additions_changes_nothing(lists, draw, limit):
    pairs = [(str(place), " ".join(each)) for place, each in enumerate(lists)]
    shuffled = draw.sample(pairs, len(pairs))
    one, other = BM25Index(), BM25Index()
    one.add(pairs)
    other.add(shuffled)
    assert one.search("red blue red", limit) == other.search("red blue red", limit)


def test_an_id_is_added_once():
    index = BM25Index()
    index.add([("a", "red"), ("a", "red")])
    index.add([("a", "blue")])
    assert len(index) == 1
    assert index.search("blue", 5) == []


@pytest.mark.parametrize("query", ["", "   ", "the of", "?!", "unknown"])
def test_nothing_in_common_finds_nothing(query):
    assert index_of(TEXTS).search(query, 5) == []
    assert BM25Index().search(query, 5) == []


def test_chinese_is_found_by_its_characters():
    index = index_of(["埃菲尔铁塔位于巴黎。", "罗马在意大利。"])
    assert index.search("巴黎在哪里", 5)[0][0] == "0"
