"""What is shown of others' texts can be seen, and none of it steers who shows it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core.cleaning import cleaned

# Signs that are seen, though Unicode calls them format characters, and joiners within words.
SEEN = {*map(chr, (*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD))}
JOINERS = {"\u200c", "\u200d", "\u180e"}
TOKENS = [
    "<|im_start|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<|start_header_id|>",
    "<|eot_id|>",
    "<|user|>",
    "<|assistant|>",
    "<|channel|>",
    "<|message|>",
    "<|reserved_special_token_12|>",
    "<｜User｜>",
    "<｜begin▁of▁sentence｜>",
    "[INST]",
    "[/INST]",
    "[SYSTEM_PROMPT]",
    "[TOOL_CALLS]",
    "[gMASK]",
    "<<SYS>>",
    "<</SYS>>",
    "<s>",
    "</s>",
    "<bos>",
    "<eos>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<think>",
    "</think>",
    "<tool_call>",
    "<extra_id_0>",
    "<unused42>",
    "<fim_prefix>",
    "◁think▷",
]
pieces = st.sampled_from(
    [*TOKENS, "<", "|", ">", "[", "]", "im_start", "\u200b", "\u200d", "\ufe0f"]
)
hostile = st.lists(pieces | st.text(max_size=4), max_size=12).map("".join)
plain = st.text(
    st.characters(exclude_categories=["Cc", "Cf", "Cs", "Cn", "Co", "Mn", "Zl", "Zp"]).filter(
        lambda each: each not in "<＜[◁\u115f\u1160\u3164\uffa0"
    )
)


@given(hostile | st.text())
def test_nothing_hidden_is_left(text: str):
    shown = cleaned(text)
    shown.encode()
    kinds = {each: unicodedata.category(each) for each in shown}
    hidden = {each for each, kind in kinds.items() if kind in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert hidden <= {"\n", "\t", *SEEN, *JOINERS}
    assert not any(0xE0000 <= ord(each) < 0xE0100 for each in shown)
    assert not any(token in shown for token in TOKENS)


@given(hostile | st.text())
def test_cleaning_twice_changes_nothing(text: str):
    assert cleaned(cleaned(text)) == cleaned(text)


@given(plain)
def test_what_is_seen_stays(text: str):
    assert cleaned(text) == text


@given(hostile, hostile)
def test_words_stay_in_their_order(one: str, other: str):
    """Nothing but what is hidden is lost, and nothing but spaces and line ends is added."""

    def seen(text: str) -> str:
        kept = (each for each in text if unicodedata.category(each) not in ("Cc", "Cf", "Mn", "Cn"))
        return "".join("".join(kept).split())

    fillers = str.maketrans("", "", "\u115f\u1160\u3164\uffa0")
    assert seen(cleaned(one + other)) == seen((one + other).translate(fillers))


@pytest.mark.parametrize("token", TOKENS)
def test_a_token_of_a_chat_is_broken_and_can_be_read(token: str):
    assert cleaned(token) != token
    assert cleaned(f"a{token}b").replace(" ", "") == f"a{token}b"
    hidden = "\u200b".join(token)
    assert token not in cleaned(hidden)


@pytest.mark.parametrize(
    "text",
    [
        "می\u200cخواهم",  # Persian
        "क्\u200dष",  # Devanagari
        "👩\u200d🦰 ❤\ufe0f\u200d🔥 1\ufe0f\u20e3",
        "葛\U000e0100",
        "f <| x |> g; a[i]; List<String>; <span> <small>; arr[INSTANCE]",
        "tabs\tand\nlines\n\n    stay",
        "if a < s > b: x = '<|'",
    ],
)
def test_what_has_a_meaning_stays(text: str):
    assert cleaned(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "one\r\ntwo\rthree\x0bfour\x0cfive\x85six\u2028seven",
            "one\ntwo\nthree\nfour\nfive\nsix\nseven",
        ),
        ("\ufeffsoft\u00adhyphen", "softhyphen"),
        ("a\ufe0f\ufe01b", "ab"),
        ("☀\ufe0f\ufe0f", "☀\ufe0f"),
        ("a\u200cb \u200d\u200d", "ab "),
        ("\ud83d\udc69 \udc69", "👩 \ufffd"),
    ],
)
def test_what_is_put_in_its_place(text: str, shown: str):
    assert cleaned(text) == shown
