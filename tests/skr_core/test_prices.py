"""Prices are read strictly, and found by the model's name."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from skr_core import Price, Usage
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


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ([], "an object"),
        ({"m": {"prompt": 1}}, '"completion"'),
        ({"m": {"prompt": True, "completion": 1}}, '"prompt"'),
        ({"m": {"prompt": -1, "completion": 1}}, "negative"),
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
