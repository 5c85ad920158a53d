"""Prices are read strictly, and found by the model's name."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from skr_core import Budget, Price, Usage
from skr_core.budget import cost, price_of, read_prices
from skr_core.errors import DataError, InputError


def test_prices(tmp_path: Path):
    path = tmp_path / "prices.json"
    path.write_bytes(orjson.dumps({"small": {"prompt": 0.5, "completion": 2}}))
    price = price_of(read_prices(path), "openai:small")
    assert price == Price(0.5, 2.0)
    assert cost(Usage(1_000_000, 250_000), price) == 1.0
    with pytest.raises(InputError, match="'large'"):
        price_of(read_prices(path), "large")


def test_what_a_provider_reads_from_its_cache_has_its_own_price(tmp_path: Path):
    path = tmp_path / "prices.json"
    path.write_bytes(orjson.dumps({"m": {"prompt": 4, "completion": 2, "cache_read": 1}}))
    usage = Usage(1_000_000, calls=1, cache_read_tokens=500_000)
    price = read_prices(path)["m"]
    assert (cost(usage, price), cost(usage, Price(4.0, 2.0))) == (2.5, 4.0)
    within = Budget(max_spend=3.0, price=price), Budget(max_spend=3.0, price=Price(4.0, 2.0))
    assert [each.spent(usage, seconds=0.0) for each in within] == [None, "max_spend"]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ([], "an object"),
        ({"m": {"prompt": 1}}, '"completion"'),
        ({"m": {"prompt": True, "completion": 1}}, '"prompt"'),
        ({"m": {"prompt": -1, "completion": 1}}, "negative"),
        ({"m": {"prompt": 1, "completion": 1, "cache_read": "free"}}, '"cache_read"'),
        ({"m": 3}, '"prompt"'),
    ],
)
def test_broken_prices(tmp_path: Path, table: object, words: str):
    path = tmp_path / "prices.json"
    path.write_bytes(orjson.dumps(table))
    with pytest.raises(DataError, match=words):
        read_prices(path)


def test_prices_that_are_no_json(tmp_path: Path):
    (tmp_path / "p.json").write_text("{oops")
    with pytest.raises(DataError, match="not JSON"):
        read_prices(tmp_path / "p.json")
    with pytest.raises(InputError, match="no file"):
        read_prices(tmp_path / "absent.json")
