"""Others' texts are shown without what is hidden in them, and messages without keys."""

from __future__ import annotations

import traceback
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from skr_core.cleaning import cleaned, redact, remember, remember_keys
from skr_core.errors import DataError, InputError, ModelError, translated

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


HELD = "correct.horse.battery"


@pytest.mark.parametrize(
    "told",
    [
        "Authorization: Bearer abc123.def456",
        "{'authorization': 'Bearer abc123.def456'}",
        "Authorization: Basic abc123.def456",
        'the header "bearer abc123.def456" is wrong',
        "x-api-key: abc123.def456",
        '{"api_key": "abc123.def456"}',
        "postgres://me:abc123.def456@db/x",
        "api-key=abc123.def456&model=a",
    ],
)
def test_forms_of_keys(told: str) -> None:
    assert "abc123" not in redact(told)
    assert "[redacted]" in redact(told)


@pytest.mark.parametrize("key", ["sk-proj-abcdefghijkl_mnopqrst", "gsk_abcdefghijklmnopqrst"])
def test_keys_of_known_providers(key: str) -> None:
    assert redact(f"wrong key: {key}.") == "wrong key: [redacted]."


@pytest.mark.parametrize(
    "told",
    [
        "questions.jsonl, line 3: this line is not JSON",
        "openai:test: RateLimitError: slow down",
        "authorization failed; the api key is missing",
        "there is no store at sk-rag/store: make one with  skr ingest FILES --store sk-rag/store",
        "http://127.0.0.1:8000/v1 does not answer",
        "basic understanding of the bearer's token",
    ],
)
def test_what_is_no_key_stays(told: str) -> None:
    assert redact(told) == told


def test_keys_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE_API_KEY", "plain.words.of.mine")
    assert redact("wrong: plain.words.of.mine") == "wrong: [redacted]"


def test_a_placeholder_is_no_key() -> None:
    remember("none")
    assert redact("none of them") == "none of them"


def test_keys_of_a_frameworks_model() -> None:
    class Model(BaseModel):
        secret: SecretStr = SecretStr("secret.of.a.model")
        api_key: str = "plain.key.of.a.model"
        name: str = "ordinary.name"

    remember_keys(Model())
    told = redact("secret.of.a.model plain.key.of.a.model ordinary.name")
    assert told == "[redacted] [redacted] ordinary.name"


def test_every_error_of_ours() -> None:
    remember(HELD)
    told = f"no {HELD}"
    for error in (InputError(told), ModelError(told), DataError("a", 1, told)):
        assert HELD not in repr(error)


def test_another_librarys_error_and_its_causes() -> None:
    remember(HELD)

    class Refused(Exception):
        def __init__(self, message: str) -> None:
            super().__init__(message)
            self.body = {"error": {"message": message}}

    cause = OSError(f"sent {HELD}")
    with pytest.raises(ModelError) as caught, translated(ModelError, "mine"):
        raise Refused(f"refused {HELD}") from cause
    assert HELD not in "".join(traceback.format_exception(caught.value))
    assert HELD not in str(vars(caught.value))
    assert str(caught.value).startswith("mine: Refused: refused [redacted]")


def test_what_failed_may_quote_a_passage_and_steers_no_terminal_and_no_log():
    told = str(InputError("it said \x1b[31mred\x1b[0m\x00, \u202ehidden\ud800"))
    assert told == "it said [31mred[0m, hidden\ufffd"
