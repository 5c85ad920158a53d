"""Counting tokens with tiktoken's data at hand and without; never over the network."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core import usage
from skr_core.types import Prompt
from skr_core.usage import LONGEST_COUNTED, count_tokens, estimate_usage


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    usage._encoder.cache_clear()
    yield
    usage._encoder.cache_clear()


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "_folder_of_encodings", lambda: None)


@pytest.fixture
def data() -> None:
    if usage._folder_of_encodings() is None:
        pytest.skip("tiktoken's data is not at hand")


@pytest.mark.usefixtures("no_data")
@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2)])
def test_without_data_the_length_is_the_estimate(text: str, tokens: int):
    assert count_tokens(text) == usage.TokenCount(tokens, estimated=True)


@pytest.mark.usefixtures("data")
def test_with_data_the_count_is_exact():
    assert count_tokens("The capital of France is Paris.") == usage.TokenCount(7, estimated=False)


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("text", ["\ud800", "<|endoftext|>", "日本語", "\x00"])
def test_any_text_can_be_counted(text: str):
    assert count_tokens(text).tokens >= 1


@pytest.mark.usefixtures("data")
def test_a_hostile_length_is_estimated():
    assert count_tokens("a" * (LONGEST_COUNTED + 1)).estimated


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("folder", [None, "/nowhere"])
def test_the_environment_is_left_as_it_was(folder: str | None, monkeypatch: pytest.MonkeyPatch):
    if folder is None:
        monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    else:
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", folder)
    assert not count_tokens("Paris").estimated
    assert os.environ.get("TIKTOKEN_CACHE_DIR") == folder


def test_a_folder_of_one_s_own_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / usage._CACHE_NAME).touch()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert usage._folder_of_encodings() == tmp_path


def test_no_folder_anywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(usage, "find_spec", lambda _: None)
    assert usage._folder_of_encodings() is None
    assert count_tokens("Paris").estimated


@pytest.mark.usefixtures("no_data")
def test_an_estimated_usage_counts_the_history_too():
    prompt = Prompt("judge", "abcd" * 3, "?", history=("abcd", "abcd" * 2))
    spent = estimate_usage(prompt, "abcd" * 5)
    assert (spent.prompt_tokens, spent.completion_tokens) == (6, 5)
    assert (spent.calls, spent.estimated) == (1, True)


@given(st.text(max_size=50))
def test_no_text_raises(text: str):
    assert count_tokens(text).tokens >= bool(text.strip())
