"""Reliance, reflection, facts and prices, worked by hand."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from skr_core.budget import Price, cost, price_of, read_prices
from skr_core.errors import DataError, InputError
from skr_core.questions import Context
from skr_core.types import Reference, Usage
from skr_lab.metrics.reflection import ReflectionScores
from skr_learn.metrics.references import facts_within, resolvable, supporting_fact_recall
from skr_learn.metrics.reliance import (
    corrupt,
    corruption_rate,
    overlap,
    relies,
    utilisation_ratio,
)
from skr_learn.metrics.statistics import bootstrap_ratio


def test_overlap():
    assert overlap("", "Paris") == 0.0
    assert overlap("the", "the") == 0.0  # articles are no words
    assert overlap("Paris France", "Paris.") == 0.5


def test_gamma_is_a_strict_threshold():
    assert not relies("Paris", "Paris", "Paris")
    assert relies("Lyon", "Paris", "Paris")
    assert not relies("Lyon", "Paris", "Paris", gamma=1.0)


def test_ratios_of_nothing_are_zero():
    assert utilisation_ratio([], [], []) == 0.0
    assert corruption_rate([], []) == 0.0


def test_lists_of_different_length():
    with pytest.raises(InputError, match="1, 2"):
        corruption_rate([True], [True, False])


def test_corrupting():
    assert corrupt("Rio de Janeiro is not Rio.", ["Rio", "Rio de Janeiro"]) == "Tom is not Tom."
    assert corrupt("C++ is old", ["C++"]) == "Tom is old"
    assert corrupt("nothing here", ["", "  "]) == "nothing here"


def test_reflection_by_hand():
    # TP 1, FP 1, FN 1, TN 1
    scores = ReflectionScores.of([True, True, False, False], [True, False, True, False])
    assert scores.accuracy.mean == 0.5
    assert scores.f1.mean == 0.5
    assert scores.f1.low <= 0.5 <= scores.f1.high


def test_a_model_that_always_answers():
    scores = ReflectionScores.of([True, False], [False, False])
    assert (scores.accuracy.mean, scores.f1.mean) == (0.5, 0.0)
    nothing = ReflectionScores.of([], [])
    assert (nothing.accuracy.n, nothing.f1.mean) == (0, 0.0)


def test_a_ratio_of_sums():
    interval = bootstrap_ratio([1.0, 0.0, 3.0], [2.0, 0.0, 2.0])
    assert interval.mean == 1.0
    assert bootstrap_ratio([0.0], [0.0]).mean == 0.0


def test_supporting_facts():
    contexts = [Context("Jaws &amp; Co", "It is. It was.", ("It is.", " It was."))]
    facts = [("Jaws & Co", 0), ("Jaws & Co", 7), ("Shark", 0)]
    assert resolvable(facts, contexts) == [("Jaws & Co", 0)]
    found = facts_within([Reference.of("Well. It was.  ", "jaws & co")], contexts)
    assert found == [("Jaws &amp; Co", 1)]
    assert supporting_fact_recall(found, [("Jaws & Co", 1), ("Jaws & Co", 0)]) == 0.5
    assert supporting_fact_recall(found, []) == 0.0


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
