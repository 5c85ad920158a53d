from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from skr_core.references.foreign import finite_score, foreign_reference
from skr_core.references.storable import storable_reference


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
