"""What a policy is expected to do with questions like those of its records: a few numbers.

They are kept in its file, and `skr_learn.monitor` compares with them what is served.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skr_core.types import Action
from skr_learn.features.views import words_of
from skr_learn.records import question_key

RARE = 0.99
"""Share of the records whose questions are no more novel than what is called so."""


@dataclass(frozen=True)
class Expected:
    """What is expected of new questions, each record measured without itself.

    Attributes:
        n: The number of records.
        novelty: The mean share of a question's words that no other records hold, and its standard
            deviation.
        threshold: The share above which a question is novel.
        novel: The share of the questions that are.
        shares: How often each action is the dearest that is taken; empty where other rules hold
            than were calibrated.
        chance: The mean chance of what is served, and its standard deviation; None where none is
            estimated.
    """

    n: int
    novelty: tuple[float, float]
    threshold: float
    novel: float
    shares: Mapping[Action, float]
    chance: tuple[float, float] | None

    @classmethod
    def of(
        cls,
        questions: Sequence[str],
        words: Container[str],
        actions: Sequence[Action],
        taken: NDArray[np.int64],
        chances: NDArray[np.float64],
    ) -> Expected:
        """Count what is expected.

        Args:
            questions: The questions of n records.
            words: The words that the policy has learnt of them.
            actions: The actions that it chooses among.
            taken: The index of the dearest action taken of each, shape (n,).
            chances: The chance of what is served; NaN where none is estimated, shape (n,).
        """
        asked = list({question_key(each): {*words_of(each)} for each in questions}.values())
        held = Counter(word for each in asked for word in each)
        # A word that so many questions hold is not learnt; a question itself is not counted.
        most = max((times for word, times in held.items() if word not in words), default=1)
        others = {word for word, times in held.items() if times - 1 > most}
        shares = np.array([_share(each, others) for each in asked])
        threshold = float(np.quantile(shares, RARE))
        known = chances[~np.isnan(chances)]
        return cls(
            len(questions),
            _spread(shares),
            threshold,
            float(np.mean(shares > threshold)),
            {each: float(np.mean(taken == place)) for place, each in enumerate(actions)},
            _spread(known) if len(known) else None,
        )

    @classmethod
    def of_plain(cls, given: Mapping[str, Any]) -> Expected:
        """Read what a file holds.

        Raises:
            KeyError: Something is missing.
            TypeError: Something is of another kind.
            ValueError: The same.
        """
        if given["n"] < 1:
            raise ValueError("nothing is expected of no records")
        (mean, spread), chance = given["novelty"], given["chance"]
        return cls(
            int(given["n"]),
            (float(mean), float(spread)),
            float(given["threshold"]),
            float(given["novel"]),
            {action: float(share) for action, share in dict(given["shares"]).items()},
            None if chance is None else (float(chance[0]), float(chance[1])),
        )


def novelty(question: str, words: Container[str]) -> float:
    """Return the share of a question's different words that are not among these.

    Example:
        >>> novelty("Who wrote what?", {"who", "what"})
        0.3333333333333333
    """
    return _share({*words_of(question)}, words)


def _share(asked: set[str], words: Container[str]) -> float:
    return sum(word not in words for word in asked) / max(1, len(asked))


def _spread(values: NDArray[np.float64]) -> tuple[float, float]:
    return float(values.mean()), float(values.std())
