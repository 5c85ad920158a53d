"""References made of other frameworks' documents."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from skr_core import Reference
from skr_core.plain import to_plain
from skr_core.references import finite_score, foreign_reference, plain_values
from skr_store.storable import storable_reference


@pytest.mark.parametrize(
    ("score", "expected"),
    [(0.5, 0.5), (2, 2.0), (Fraction(1, 4), 0.25), (np.float32(0.5), 0.5)]
    + [(each, None) for each in (None, "0.5", math.nan, -math.inf, 10**400, [1], 1j)],
)
def test_a_score_is_a_finite_float(score: Any, expected: float | None) -> None:
    assert finite_score(score) == expected


def test_what_is_made_can_be_stored() -> None:
    odd = {"nan": math.nan, "inf": math.inf, "long": 2**63, "none": None, "list": [1]}
    flat = {"page": 3, "part": 0.5, "draft": True, "path": "a.txt"}
    reference = foreign_reference("Text.", title=None, score=math.nan, metadata=odd | flat)
    assert dict(reference.metadata) == flat
    assert (reference.title, reference.score) == ("", None)
    assert storable_reference(reference) == reference


class Colour(Enum):
    RED = "red"


KEPT = {
    "text": "a\n",
    "day": date(2026, 1, 2),
    "time": datetime(2026, 1, 2, 3, tzinfo=UTC),
    "id": UUID(int=7),
    "price": Decimal("1.50"),
    "path": Path("a/b.txt"),
    "bytes": b"\xff",
    "tags": {"a", "b"},
    "nested": {"list": [1, {"deep": None}], 3: 0.5},
    "nan": math.inf,
    "long": 2**63,
}


def test_plain_values_come_back_from_a_checkpointer_as_they_were() -> None:
    serde = JsonPlusSerializer()
    assert serde.loads_typed(serde.dumps_typed(plain_values(KEPT))) == KEPT


@pytest.mark.parametrize(
    ("odd", "plain"),
    [
        (np.float32(0.5), 0.5),
        (np.arange(3), [0, 1, 2]),
        ((1, np.int64(2)), (1, 2)),
        ({np.int64(1)}, [1]),
        (2**64, str(2**64)),
        (Colour.RED, "red"),
        (Fraction(1, 4), "1/4"),
        ({Fraction(1, 4): 1}, {"1/4": 1}),
        (Reference("1", "text"), to_plain(Reference("1", "text"))),
    ],
)
def test_what_no_checkpointer_holds_becomes_plain(odd: Any, plain: Any) -> None:
    value = plain_values({"odd": odd})
    assert value == {"odd": plain}
    JsonPlusSerializer().dumps_typed(value)


def test_plain_values_are_a_copy() -> None:
    given = {"nested": {"list": [1]}}
    copied = plain_values(given)
    copied["nested"]["list"].append(2)
    assert given == {"nested": {"list": [1]}}
