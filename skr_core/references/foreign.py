"""What retrievers of other frameworks found, made into references; their values may be anything.

Example:
    >>> found = foreign_reference("It is in France.", title=7, score=float("nan"), metadata={})
    >>> found.title, found.score
    ('', None)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real

from skr_core.types import Reference, flat_metadata


def foreign_reference(
    text: str, *, title: object, score: object, metadata: Mapping[str, object]
) -> Reference:
    """Make a reference, leaving out what a reference cannot hold.

    Args:
        text: The passage.
        title: Taken where it is a string.
        score: Taken where it is a finite number.
        metadata: Flat values are taken.

    Example:
        >>> found = foreign_reference("Text.", title="T", score=1, metadata={"page": 3, "tags": []})
        >>> found.metadata
        {'page': 3}
    """
    return Reference.of(
        text,
        title if isinstance(title, str) else "",
        score=finite_score(score),
        metadata=flat_metadata(metadata),
    )


def finite_score(score: object) -> float | None:
    """The number as a float; None for what is none, or is not finite as a float.

    Example:
        >>> finite_score(1), finite_score(float("inf")), finite_score("0.5"), finite_score(10**400)
        (1.0, None, None, None)
    """
    try:
        value = float(score) if isinstance(score, Real) else math.nan
    except OverflowError:
        return None
    return value if math.isfinite(value) else None
