"""The measures of When to Retrieve (W2R): certainty (Table 1, equations 4 to 8) and reliance (§5).

Certainty asks how well a model knows what it knows, reliance whether it takes its answer from the
document that it is given.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from skr_core.errors import InputError
from skr_core.texts import normalise

CERTAINTY_MEASURES = (
    "unc_rate",
    "accuracy",
    "conservativeness",
    "overconfidence",
    "alignment",
)
"""In the order of W2R Table 2."""


def certainty_values(certain: bool, right: bool) -> dict[str, float]:
    """The values of one answer by `CERTAINTY_MEASURES`, 0 or 1; their means are the rates.

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


REPLACEMENT = "Tom"
"""W2R §5 puts it in the answer's place."""


def overlap(answer: str, document: str) -> float:
    """Share of the answer's words that stand in the document, 0 to 1; of no word, 0.

    W2R §5 names Overlap(a, d) without a formula; this is the one used here.

    Example:
        >>> overlap("in Paris, France", "Paris is the capital of France.") == 2 / 3
        True
    """
    said = normalise(answer).split()
    words = set(normalise(document).split())
    return sum(word in words for word in said) / len(said) if said else 0.0


def relies(direct: str, augmented: str, document: str, *, gamma: float = 0.0) -> bool:
    """Overlap(â, d) - Overlap(a, d) > γ (W2R §5): the document drew the answer to itself.

    Args:
        direct: The answer a, without the document.
        augmented: The answer â, with it.
        document: The document d.
        gamma: The threshold γ; the paper sets 0.

    Example:
        >>> relies("Lyon", "Paris", "Paris is the capital.")
        True
        >>> relies("Paris", "Paris", "Paris is the capital.")
        False
    """
    return overlap(augmented, document) - overlap(direct, document) > gamma


def corrupt(text: str, gold: Sequence[str], replacement: str = REPLACEMENT) -> str:
    """The text with every right answer replaced, longest first, whatever the case (W2R §5).

    Example:
        >>> corrupt("Paris is a city. In paris, the Parisians live.", ["Paris"])
        'Tom is a city. In Tom, the Parisians live.'
    """
    for each in sorted(filter(str.strip, gold), key=len, reverse=True):
        pattern = rf"(?<!\w){re.escape(each.strip())}(?!\w)"
        text = re.sub(pattern, lambda _: replacement, text, flags=re.IGNORECASE)
    return text
