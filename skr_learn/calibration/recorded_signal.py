"""A recorded number as a router's score: certainties, log-probabilities, anything a log holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skr_core.errors import InputError
from skr_learn.learning.observed import is_computed_from_gold
from skr_learn.learning.outcomes import ActionTable
from skr_learn.learning.pricing import LIMIT_PRICE
from skr_learn.learning.rows import Floats
from skr_learn.learning.rule import Expected, parity_rule
from skr_learn.routers.fitted import scored
from skr_learn.self_knowledge.records import SelfKnowledge
from skr_learn.self_knowledge.rows import number_of

PREFIX = "signal:"


class RecordedSignal:
    """A field of the records whose high values speak for retrieval.

    Args:
        name: The field, such as ``extra.giveup``; after a minus, low values speak for retrieval.

    Raises:
        InputError: The field is computed from the right answer.

    Example:
        >>> answers = {"direct": ("", 0), "single": ("", 1)}
        >>> records = [SelfKnowledge.of("a?", extra={"giveup": "True"}, **answers),
        ...            SelfKnowledge.of("b?", extra={"giveup": None}, **answers)]
        >>> RecordedSignal("extra.giveup").scores(records).tolist()
        [1.0, 1.0]
    """

    def __init__(self, name: str) -> None:
        self._sign = -1.0 if name.startswith("-") else 1.0
        self._field = name.removeprefix("-")
        if is_computed_from_gold(self._field):
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

    def threshold(self, records: Sequence[SelfKnowledge], table: ActionTable) -> float:
        """Half way for a truth value, which decides by itself; chosen on records for a number.

        Args:
            records: To choose on; a truth value need not be in them.
            table: Two actions and what they were worth on these records.
        """
        expected = Expected(*scored(self.scores(records)), table, table)
        rule = parity_rule(expected)
        if rule.constant is None:
            return rule.price
        return LIMIT_PRICE if rule.constant == "direct" else -LIMIT_PRICE

    def is_truth_value(self, records: Sequence[SelfKnowledge]) -> bool:
        """Whether the field holds only truth values."""
        found = (number_of(value_of(record, self._field)) for record in records)
        return {value for value in found if value is not None} <= {0.0, 1.0}

    @property
    def half(self) -> float:
        """The threshold between both truth values."""
        return 0.5 * self._sign


def value_of(record: SelfKnowledge, path: str) -> Any:
    """A field of a record, by its path: ``extra.dataset``, ``stamp.model``; None where missing.

    Example:
        >>> answers = {"direct": ("", 0), "single": ("", 1)}
        >>> value_of(SelfKnowledge.of("a?", extra={"id": "7"}, **answers), "id")
        '7'
    """
    first, _, rest = path.partition(".")
    value: Any = getattr(record, first) if first in _FIELDS else record.extra.get(first)
    for name in filter(None, rest.split(".")):
        value = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
    return value


_FIELDS = ("question", "direct", "stamp", "extra")
