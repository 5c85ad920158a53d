"""How well a model knows what it knows (W2R Table 1, equations 4 to 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skr_core.errors import InputError

CERTAINTY_MEASURES = (
    "unc_rate",
    "accuracy",
    "conservativeness",
    "overconfidence",
    "alignment",
)
"""In the order of W2R Table 2."""


def certainty_values(certain: bool, right: bool) -> dict[str, float]:
    """What one answer adds to each of `CERTAINTY_MEASURES`, 0 or 1; their means are the rates.

    Args:
        certain: Whether the model was certain of its answer.
        right: Whether that answer was right.

    Example:
        >>> [name for name, value in certainty_values(certain=True, right=False).items() if value]
        ['overconfidence']
    """
    found = (not certain, right, right and not certain, certain and not right, certain == right)
    return dict(zip(CERTAINTY_MEASURES, map(float, found), strict=True))


@dataclass(frozen=True, slots=True)
class CertaintyScores:
    """The four counts of W2R Table 1, and the rates made of them; of nothing, every rate is 0.

    Attributes:
        certain_right: N_cc, certain and right.
        uncertain_right: N_cu, uncertain and right.
        certain_wrong: N_ic, certain and wrong.
        uncertain_wrong: N_iu, uncertain and wrong.

    Example:
        >>> scores = CertaintyScores.of(certain=[True, True, False], right=[True, False, False])
        >>> round(scores.alignment, 3), round(scores.overconfidence, 3)
        (0.667, 0.333)
    """

    certain_right: int
    uncertain_right: int
    certain_wrong: int
    uncertain_wrong: int

    @classmethod
    def of(cls, certain: Sequence[bool], right: Sequence[bool]) -> CertaintyScores:
        """Count, question by question.

        Args:
            certain: Whether the model was certain of its answer.
            right: Whether that answer was right.

        Raises:
            InputError: The two differ in length.
        """
        if len(certain) != len(right):
            raise InputError(f"{len(certain)} certainties for {len(right)} answers")
        pairs = [(bool(sure), bool(good)) for sure, good in zip(certain, right, strict=True)]
        return cls(
            certain_right=pairs.count((True, True)),
            uncertain_right=pairs.count((False, True)),
            certain_wrong=pairs.count((True, False)),
            uncertain_wrong=pairs.count((False, False)),
        )

    @property
    def n(self) -> int:
        """Questions."""
        return self.certain_right + self.uncertain_right + self.certain_wrong + self.uncertain_wrong

    @property
    def accuracy(self) -> float:
        """Share of right answers (equation 4)."""
        return self._share(self.certain_right + self.uncertain_right)

    @property
    def unc_rate(self) -> float:
        """Share of uncertain answers (equation 5)."""
        return self._share(self.uncertain_right + self.uncertain_wrong)

    @property
    def overconfidence(self) -> float:
        """Share of answers that are certain and wrong (equation 6)."""
        return self._share(self.certain_wrong)

    @property
    def conservativeness(self) -> float:
        """Share of answers that are uncertain and right (equation 7)."""
        return self._share(self.uncertain_right)

    @property
    def alignment(self) -> float:
        """Share of answers whose certainty matches their correctness (equation 8)."""
        return self._share(self.certain_right + self.uncertain_wrong)

    @property
    def ra_rate(self) -> float:
        """Share of questions retrieved for, where retrieval follows uncertainty (§7)."""
        return self.unc_rate

    def _share(self, count: int) -> float:
        return count / self.n if self.n else 0.0
