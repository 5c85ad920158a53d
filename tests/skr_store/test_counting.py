from collections import Counter

from hypothesis import example, given
from hypothesis import strategies as st

from skr_store.counting import STOP_WORDS, count_words, searched_words
from skr_store.postings import GrowingPostings

WORDS = st.one_of(
    st.sampled_from([*STOP_WORDS, "Red", "d'été", "1990–1995", "巴黎", "İstanbul", "ΣΟΦΟΣ"]),
    st.text(max_size=5),
    st.text("reéD_巴ー\ud800\U0001f600 -–'\x1f\x85\u2028", max_size=5),
)
TEXTS = st.lists(WORDS, max_size=6).map(" ".join)


@given(st.lists(TEXTS, max_size=8))
@example(["".join(map(chr, range(0x250)))])  # every character of ASCII and some beyond
@example(["の" + chr(0x10FFFF) + "a"])
def test_words_counted_at_once_are_those_of_each_text(texts):
    one_by_one = GrowingPostings()
    for place, text in enumerate(texts):
        one_by_one.insert(f"{place}", Counter(searched_words(text)))
    at_once = count_words((f"{place}", text) for place, text in enumerate(texts))
    for (name, one), other in zip(
        one_by_one.freeze().arrays().items(), at_once.arrays().values(), strict=True
    ):
        assert (name, one.tolist(), one.dtype) == (name, other.tolist(), other.dtype)
