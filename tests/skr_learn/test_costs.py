"""What actions cost, in each unit, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from skr_core import Price, Usage
from skr_core.errors import InputError
from skr_learn import Record
from skr_learn.costs import ActionTable, actions_of
from skr_learn.records import Outcome


def spending(n: int = 4) -> list[Record]:
    """Records of which every answer says what it took."""
    calls = {"direct": 1, "single": 1, "loop": 3}
    return [
        Record(
            f"Q{k}?",
            (),
            {
                action: Outcome(
                    "a",
                    float(k % 2),
                    Usage(900 * each, 100 * each, each),
                    retrievals=2.0 * (each - 1) if action == "loop" else float(action == "single"),
                )
                for action, each in calls.items()
            },
        )
        for k in range(n)
    ]


@pytest.mark.parametrize(
    ("unit", "costs"),
    [
        ("calls", [1.0, 1.0, 3.0]),
        ("tokens", [1.0, 1.0, 3.0]),
        (None, [1.0, 1.0, 3.0]),
        ("usd", [0.002, 0.002, 0.006]),
        ("retrievals", [0.0, 1.0, 4.0]),
    ],
)
def test_each_unit(unit, costs: list[float]):
    table = ActionTable.of(spending(), unit=unit, price=Price(1.0, 11.0))
    assert table.costs.mean(axis=0) == pytest.approx(costs)
    assert table.unit == (unit or "tokens")
    assert table.calls.mean(axis=0).tolist() == [1.0, 1.0, 3.0]
    assert table.assumed_steps is None


def test_what_the_provider_read_from_its_cache_costs_less():
    known = Outcome("a", 1.0, Usage(900, 100, 1, cache_read_tokens=400))
    records = [Record("Q?", (), {**spending()[0].outcomes, "loop": known})]
    table = ActionTable.of(records, unit="usd", price=Price(1.0, 11.0, cache_read=0.5))
    assert table.costs[0] == pytest.approx([0.002, 0.002, 0.0018])


def test_after_the_draft_all_else_costs_the_draft_too():
    table = ActionTable.of(spending(), unit="tokens").after_draft()
    assert table.costs[0].tolist() == [1.0, 2.0, 4.0]
    assert table.calls[0].tolist() == [1.0, 2.0, 4.0]


def test_a_cost_of_ones_own_sees_the_outcome():
    table = ActionTable.of(spending(), unit=lambda outcome: 5.0 * (outcome.retrievals or 0))
    assert table.costs[0].tolist() == [0.0, 5.0, 20.0]
    assert table.unit == "cost"


def test_rows_are_taken_together():
    table = ActionTable.of(spending())
    some = table[np.array([1, 3])]
    assert len(some) == 2
    assert some.scores.tolist() == [[1.0] * 3] * 2


def test_of_equally_good_actions_the_cheapest_is_the_best():
    table = ActionTable.of(spending(), unit="retrievals")
    assert (table.best, table.retrieving) == (0, 1)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"unit": "minutes"}, "no cost 'minutes'"),
        ({"unit": "usd"}, "prices"),
        ({"actions": ["direct", "twice"]}, "no action 'twice'"),
        ({"actions": ["single", "loop"]}, "a router chooses between"),
    ],
)
def test_refused(given, said: str):
    with pytest.raises(InputError, match=said):
        ActionTable.of(spending(), **given)


def test_actions_are_those_of_every_record():
    some = [*spending(2), Record.of("Who?", direct=("a", 0), single=("b", 1))]
    assert actions_of(some) == ("direct", "single")
    with pytest.raises(InputError, match="'loop'"):
        actions_of(some, ["direct", "loop"])
