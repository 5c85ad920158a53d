"""Self-reflection as classification: does the model see that references lack (RaLLM §6.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skr_core.errors import InputError
from skr_learn.metrics.statistics import Interval, bootstrap, bootstrap_ratio


@dataclass(frozen=True, slots=True)
class ReflectionScores:
    """Accuracy and F1 with their intervals.

    The positive class is "insufficient", told by a refusal: a model that always answers has an
    accuracy of one half on equal numbers and an F1 of 0, as Table 4 shows for foundation models.

    Example:
        >>> scores = ReflectionScores.of([True, True, False, False], [True, False, False, False])
        >>> scores.accuracy.mean, round(scores.f1.mean, 3)
        (0.75, 0.667)
    """

    accuracy: Interval
    f1: Interval

    @classmethod
    def of(cls, insufficient: Sequence[bool], refused: Sequence[bool]) -> ReflectionScores:
        """Compare what was given with what the model said, question by question.

        Args:
            insufficient: Whether references were left out.
            refused: Whether the model said so.

        Raises:
            InputError: The two differ in length.
        """
        if len(insufficient) != len(refused):
            raise InputError(f"{len(refused)} refusals for {len(insufficient)} questions")
        pairs = list(zip(insufficient, refused, strict=True))
        return cls(
            accuracy=bootstrap([lack == said for lack, said in pairs]),
            # F1 = 2 TP / (2 TP + FP + FN) = 2 TP / (positives + predicted positives)
            f1=bootstrap_ratio(
                [2.0 * (lack and said) for lack, said in pairs],
                [float(lack) + float(said) for lack, said in pairs],
            ),
        )
