"""A recorded number as a router's score: certainties, log-probabilities, anything a log holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skr_core.errors import InputError
from skr_core.learning.observed import is_known_from_gold, number_of
from skr_core.learning.rows import Floats
from skr_core.learning.threshold import parity_threshold
from skr_core.self_knowledge.records import SelfKnowledge

PREFIX = "signal:"


class RecordedSignal:
    """A field of the records whose high values speak for retrieval.

    Args:
        name: The field, such as ``extra.giveup``; after a minus, low values speak for retrieval.

    Raises:
        InputError: The field is computed from the right answer.

    Example:
        >>> records = [SelfKnowledge("a?", (), "", "", 0, 1, extra={"giveup": "True"}),
        ...            SelfKnowledge("b?", (), "", "", 0, 1, extra={"giveup": None})]
        >>> RecordedSignal("extra.giveup").scores(records).tolist()
        [1.0, 1.0]
    """

    def __init__(self, name: str) -> None:
        self._sign = -1.0 if name.startswith("-") else 1.0
        self._field = name.removeprefix("-")
        if is_known_from_gold(self._field):
            raise InputError(
                f"{self._field} is computed from the right answer, which no router can know"
            )

    def scores(self, records: Sequence[SelfKnowledge]) -> Floats:
        """The field's values, shape (n,); a missing one is taken as the mean of those present.

        Raises:
            InputError: No record holds a number or a truth value there.
        """
        found = [number_of(value_of(record, self._field)) for record in records]
        present = [value for value in found if value is not None]
        if not present:
            raise InputError(f"no record has a number or a truth value in {self._field}")
        mean = sum(present) / len(present)
        return self._sign * np.array([mean if value is None else value for value in found])

    def threshold(self, records: Sequence[SelfKnowledge], asked: Sequence[SelfKnowledge]) -> float:
        """Half way for a truth value, which decides by itself; chosen on records for a number.

        Args:
            records: To choose on; they need the field only where it is a number.
            asked: To be decided on.
        """
        found = (number_of(value_of(record, self._field)) for record in asked)
        if {value for value in found if value is not None} <= {0.0, 1.0}:
            return 0.5 * self._sign
        scores = self.scores(records)
        direct = np.array([record.direct_score for record in records])
        augmented = np.array([record.augmented_score for record in records])
        return parity_threshold(scores, direct, augmented)


def value_of(record: SelfKnowledge, path: str) -> Any:
    """A field of a record, by its path: ``extra.dataset``, ``stamp.model``; None where missing.

    Example:
        >>> value_of(SelfKnowledge("a?", (), "", "", 0, 1, extra={"id": "7"}), "id")
        '7'
    """
    first, _, rest = path.partition(".")
    value: Any = getattr(record, first, None) if first in _FIELDS else record.extra.get(first)
    for name in filter(None, rest.split(".")):
        value = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
    return value


_FIELDS = ("question", "direct_answer", "stamp", "extra")
