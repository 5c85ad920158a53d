"""What a store can hold stays; one odd value keeps nothing else out."""

from __future__ import annotations

import math
from typing import Any

import pytest

from skr_core.types import flat_metadata


@pytest.mark.parametrize("value", ["", "text", True, False, 0, -(2**63), 2**63 - 1, 0.0, -1.5e300])
def test_flat_values_stay(value: Any):
    assert flat_metadata({"key": value, "bad": None}) == {"key": value}


@pytest.mark.parametrize(
    "value",
    [None, [], ["a"], {}, (), b"bytes", object(), 2**63, -(2**63) - 1, math.nan, math.inf, 1j],
)
def test_the_rest_is_left_out(value: Any):
    assert flat_metadata({"key": value, "page": 3}) == {"page": 3}


def test_only_texts_are_keys():
    assert flat_metadata({3: "three", "page": 3}) == {"page": 3}
