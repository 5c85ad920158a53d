"""No token of a served model is shown whole, and harmless passages stay as they are."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skr_core import cleaning
from skr_core.cleaning import break_tokens, cleaned
from tests.skr_core.chat_tokens import MODELS, PLACES, TOKENS, broken
from tests.skr_core.harmless import harmless_passages

HIDDEN = ["\u200b", "\u00ad", "\u2060", "\x00", "\x1b", "\u202e", "\U000e0041", "\ufe0f", "\u200d"]
OWN = ["{{turn:bot}}", "{{stop}}", "@@system@@"]


def whole(shown: str) -> list[str]:
    return [token for token in TOKENS if token in shown]


def test_there_are_many_and_each_has_its_place():
    assert len(MODELS) > 100
    assert len(TOKENS) > 400
    assert all(PLACES.values())


@pytest.mark.parametrize("model", MODELS)
def test_each_token_of_a_model_is_broken_and_can_be_read(model: str):
    for token in MODELS[model]:
        assert whole(cleaned(token)) == []
        assert whole(cleaned(f"Paris.{token}system{token}{token}\n{token}")) == []
        assert cleaned(token).replace(" ", "") == token.replace(" ", "")


@pytest.mark.parametrize("hidden", HIDDEN, ids=ascii)
def test_nothing_hidden_holds_a_token_together(hidden: str):
    for token in TOKENS:
        assert whole(cleaned(hidden.join(token))) == []
        assert whole(cleaned(f"{token[0]}{hidden}{token[1:]}")) == []


def test_a_token_in_a_token_or_behind_what_opens_one():
    inner = "<|im_start|>"
    for token in TOKENS:
        for nested in (token[0] + inner + token[1:], token[:-1] + inner + token[-1]):
            assert whole(cleaned(nested)) == []
        for before in ("<", "<|", "<<", "[", "[[", "]", "]<", "｜", "<｜", ">", "◁", "</", "|"):
            assert whole(cleaned(before + token)) == []
            assert whole(cleaned(token + before)) == []


parts = st.sampled_from(TOKENS) | st.sampled_from(
    [*"<>|[]｜〈〉＜＞◁▷/:~! \n", "im_start", *HIDDEN]
)
tangles = st.lists(
    parts | st.builds(lambda token, at: token[at % len(token) :], parts, st.integers(0, 30)),
    min_size=1,
    max_size=12,
).map("".join)


@settings(max_examples=300, deadline=None)
@given(tangles)
def test_no_tangle_of_tokens_leaves_or_makes_one(text: str):
    shown = cleaned(text)
    assert whole(shown) == []
    assert cleaned(shown) == shown


def test_many_openings_take_time_in_proportion_to_their_number():
    for opening in ("<", "<|", "<|a", "[", "]<]a", "<tool_", "｜", "<a|", ">>A", "<|" + "a " * 40):
        cleaned("<|warm|>" * 600)
        started = time.process_time()
        cleaned(opening * (200_000 // len(opening)))
        assert time.process_time() - started < 2


WRITTEN = [
    r"\usepackage[utf8]{inputenc} \begin{tabular}[t]{|l|r|} \sqrt[3]{x} \\[2pt]",
    r"$\langle\psi|\phi\rangle$ <0|1> |x> <y| 〈a, b〉 x ｜ y ｜ z",
    "[tool.ruff]\nselect = ['E', 'F']\n[[package]]\nname = 'a'",
    "- [ ] to do\n- [x] done\n[link](https://a.example/?a[0]=1) ![image][1]\n\n[1]: <https://b.c>",
    "From: Ada <ada@example.org>\nMessage-ID: <1@example.org>\nSubject: [list] Re: x\n>> a\n>>B",
    "cat <in >out 2>&1 <<EOF | grep -v '^<' >> log; if [[ -n $A || $B ]]; then a <b |c >d; fi",
    "std::vector<std::pair<int, T>> a; template <class S> Foo<S>::bar(); cout << x << endl;",
    "Map<String, List<S>> m; Array<number | string>; y && z >= 4; fn f<'a>(x: &'a [u8])",
    "<html><body><p>a</p><br/><img src='a.png'><pre>x</pre><del>y</del></body></html>",
    "f <| x |> g; a |> b; p <|> q; <$> <*> [|1; 2|] [|x|] A <|-- B",
    "arr[0][INDEX] [NOTE] [WARNING] [1, 2] [a~b] [e] ]~ [~] a[i]~b[j] <think of it>",
]


@pytest.mark.parametrize("text", WRITTEN)
def test_code_and_markup_stay(text: str):
    assert cleaned(text) == text


def test_harmless_passages_stay():
    passages = harmless_passages()
    if len(passages) < 1_000:
        pytest.skip("fewer than a thousand passages with brackets are installed here")
    touched = [ascii(text) for _, text in passages if cleaning._OPENING.search(text)]
    assert len(touched) < 0.005 * len(passages), touched


@pytest.fixture
def own_tokens() -> Iterator[None]:
    with broken(OWN):
        yield


@pytest.mark.usefixtures("own_tokens")
@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([*OWN, *TOKENS, "{", "}", "@", "\u200b"]), max_size=9).map("".join))
def test_tokens_of_one_s_own(text: str):
    shown = cleaned(text)
    assert not any(token in shown for token in (*OWN, *TOKENS))
    assert cleaned(shown) == shown


@pytest.mark.usefixtures("own_tokens")
def test_a_passage_that_was_shown_before_is_broken_too():
    assert cleaned("a%%b%%") == "a%%b%%"
    break_tokens(["%%b%%", "<|im_start|>"])
    assert cleaned("a%%b%%") == "a% %b%%"
    assert {"%%b%%", *OWN} <= cleaning._OWN  # what has a known shape is not kept
    assert "<|im_start|>" not in cleaning._OWN


@pytest.mark.parametrize("given", ["<turn>", ["a"], ["<a b>"], [""], [7], ["\n\n"]])
def test_what_is_no_token_is_refused(given: object):
    with pytest.raises(ValueError, match="special token"):
        break_tokens(given)  # type: ignore[arg-type]
