"""Each limit by itself, that no spending lifts one, and how tokens are counted."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core import Budget, Price, Prompt, Usage
from skr_core import budget as counting
from skr_core._compat import folder_of_encodings
from skr_core.budget import LONGEST_COUNTED, TokenCount, count_tokens, estimate_usage
from skr_core.errors import InputError

NOTHING = Usage()
LIMITS = ["max_rounds", "max_references", "max_calls", "max_tokens", "max_reference_tokens"]


def test_the_defaults():
    budget = Budget()
    assert (budget.max_rounds, budget.max_references) == (3, 10)
    assert budget.max_reference_tokens is None
    assert budget.spent(Usage(10**9, 10**9, 10**9), seconds=1e9) is None


@pytest.mark.parametrize(
    ("budget", "usage", "seconds", "reason"),
    [
        (Budget(max_calls=4), Usage(calls=2), 0, None),
        (Budget(max_calls=4), Usage(calls=4), 0, "max_calls"),
        (Budget(max_tokens=10), Usage(4, 5), 0, None),
        (Budget(max_tokens=10), Usage(5, 5), 0, "max_tokens"),
        (Budget(deadline_s=1.5), NOTHING, 1.4, None),
        (Budget(deadline_s=1.5), NOTHING, 1.5, "deadline"),
        (Budget(max_calls=1, max_tokens=1, deadline_s=1), Usage(1, 0, 1), 1, "max_calls"),
    ],
)
def test_spent(budget: Budget, usage: Usage, seconds: float, reason: str | None):
    assert budget.spent(usage, seconds=seconds) == reason
    assert budget.reached(usage, rounds=1, seconds=seconds) == reason


def test_a_round_needs_a_call_for_its_queries_and_one_for_its_answer():
    budget = Budget(max_calls=4)
    assert budget.spent(Usage(calls=3), seconds=0) is None
    assert budget.reached(Usage(calls=2), rounds=1, seconds=0) is None
    assert budget.reached(Usage(calls=3), rounds=1, seconds=0) == "max_calls"


@pytest.mark.parametrize(
    ("rounds", "max_rounds", "reason"),
    [
        (2, None, None),
        (3, None, "max_rounds"),
        (1, 1, "max_rounds"),
        (2, 5, None),
        (3, 5, "max_rounds"),
    ],
)
def test_a_decision_may_tighten_the_rounds_but_not_loosen_them(
    rounds: int, max_rounds: int | None, reason: str | None
):
    assert Budget().reached(NOTHING, rounds=rounds, seconds=0, max_rounds=max_rounds) == reason


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_an_input_error(name: str, limit: int):
    limits: dict[str, Any] = {name: limit}
    with pytest.raises(InputError, match=f"{name} must be at least 1"):
        Budget(**limits)


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("limit", [1.5, 2.0, "2", True, float("nan")])
def test_a_limit_is_a_whole_number(name: str, limit: Any):
    limits: dict[str, Any] = {name: limit}
    with pytest.raises(InputError, match=f"{name} must be a whole number"):
        Budget(**limits)


@pytest.mark.parametrize("seconds", [0, -0.1, float("nan"), "5", True])
def test_a_deadline_lies_ahead(seconds: Any):
    with pytest.raises(InputError, match="deadline_s"):
        Budget(deadline_s=seconds)


@pytest.mark.parametrize("price", [0.4, (0.4, 1.6), {"prompt": 0.4, "completion": 1.6}])
def test_a_price_is_a_price(price: Any):
    with pytest.raises(InputError, match=r"price must be Price\(prompt=..., completion=...\), not"):
        Budget(max_spend=0.01, price=price)


@pytest.mark.parametrize("amount", [-0.4, float("nan"), float("inf"), "0.4", True, None])
def test_a_price_is_no_number_below_zero(amount: Any):
    with pytest.raises(InputError, match="must be a price from 0 US dollars"):
        Price(amount, 1.6)
    with pytest.raises(InputError, match="must be a price from 0 US dollars"):
        Price(0.4, amount)
    if amount is not None:
        with pytest.raises(InputError, match="cache_read must be a price"):
            Price(0.4, 1.6, amount)


limits = st.none() | st.integers(1, 50)
counts = st.integers(0, 60)


@given(st.integers(1, 9), limits, limits, counts, counts, counts, counts, counts)
def test_what_is_reached_stays_reached(
    max_rounds: int,
    max_calls: int | None,
    max_tokens: int | None,
    rounds: int,
    calls: int,
    tokens: int,
    more_calls: int,
    more_tokens: int,
):
    budget = Budget(max_rounds=max_rounds, max_calls=max_calls, max_tokens=max_tokens)
    usage = Usage(tokens, 0, calls)
    more = usage + Usage(0, more_tokens, more_calls)
    if budget.spent(usage, seconds=0):
        assert budget.spent(more, seconds=1)
    if budget.reached(usage, rounds=rounds, seconds=0):
        assert budget.reached(more, rounds=rounds + 1, seconds=1)
    assert budget.reached(usage, rounds=max_rounds, seconds=0) == "max_rounds"


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    counting._encoder.cache_clear()
    yield
    counting._encoder.cache_clear()


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "folder_of_encodings", lambda: None)


@pytest.fixture
def data() -> None:
    if folder_of_encodings() is None:
        pytest.skip("tiktoken's data is not at hand")


@pytest.mark.usefixtures("no_data")
@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2)])
def test_without_data_the_length_is_the_estimate(text: str, tokens: int):
    assert count_tokens(text) == TokenCount(tokens, estimated=True)


@pytest.mark.usefixtures("data")
def test_with_data_the_count_is_exact():
    assert count_tokens("The capital of France is Paris.") == TokenCount(7, estimated=False)


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


@pytest.mark.usefixtures("no_data")
def test_an_estimated_usage_counts_the_history_too():
    prompt = Prompt("judge", "abcd" * 3, "?", history=("abcd", "abcd" * 2))
    spent = estimate_usage(prompt, "abcd" * 5)
    assert (spent.prompt_tokens, spent.completion_tokens) == (6, 5)
    assert (spent.calls, spent.estimated) == (1, True)


@given(st.text(max_size=50))
def test_no_text_raises(text: str):
    assert count_tokens(text).tokens >= bool(text.strip())
