"""Choosing a router and its threshold on records that it has not seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from skr_core.calibration.candidates import CANDIDATES, Candidate
from skr_core.errors import InputError
from skr_core.learning.rows import Floats, TextEmbedder
from skr_core.learning.signals import Training
from skr_core.learning.threshold import ALWAYS, NEVER, parity_threshold, rate_threshold
from skr_core.metrics.routing import area_contributions
from skr_core.routers.constant import AlwaysRetrieve, NeverRetrieve
from skr_core.routers.fitted import FittedRouter

CLEARLY = 1.64
"""Standard errors by which another router must be better than the preferred one (one-sided 95 %):
the best of five noisy figures is better than it deserves to be."""

OnStep = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Aim:
    """What a router is chosen for: by default, as few retrievals as cost hardly any accuracy.

    Attributes:
        rate: Best accuracy at this share of questions retrieved for.
        price: Best accuracy less this much for each retrieval.

    Raises:
        InputError: Both are given, or one is impossible.
    """

    rate: float | None = None
    price: float | None = None

    def __post_init__(self) -> None:
        if self.rate is not None and self.price is not None:
            raise InputError("give a retrieval rate or a price, not both")
        if self.rate is not None and not 0 <= self.rate <= 1:
            raise InputError(f"a retrieval rate is between 0 and 1, not {self.rate}")
        if self.price is not None and not 0 <= self.price <= 1:
            raise InputError(f"a price is accuracy lost, between 0 and 1, not {self.price}")

    def threshold(self, scores: Floats, training: Training) -> float:
        """The threshold on held-out scores that serves the aim."""
        if self.rate is not None:
            return rate_threshold(scores, self.rate)
        return parity_threshold(scores, training.direct, training.augmented, price=self.price)

    def contributions(self, scores: Floats, training: Training) -> Floats:
        """What each record adds to a router's worth for the aim, shape (n,)."""
        if self.rate is None:
            return area_contributions(scores, training.direct, training.augmented)
        retrieved = scores > rate_threshold(scores, self.rate)
        benefit = training.benefit
        centred: Floats = (retrieved - retrieved.mean()) * (benefit - benefit.mean())
        return centred


@dataclass(frozen=True)
class Choice:
    """A router that was chosen, fitted on all records it was chosen on.

    Attributes:
        candidate: Which.
        fitted: The router, with its threshold.
        worth: Contributions of every candidate on held-out records, by name, shape (n,) each.
    """

    candidate: Candidate
    fitted: FittedRouter
    worth: dict[str, Floats]

    @property
    def router(self) -> FittedRouter | AlwaysRetrieve | NeverRetrieve:
        """The router, or the constant policy where the threshold leaves it no choice."""
        if self.fitted.threshold <= ALWAYS:
            return AlwaysRetrieve()
        return NeverRetrieve() if self.fitted.threshold >= NEVER else self.fitted


def choose(
    training: Training,
    embedder: TextEmbedder,
    *,
    names: Sequence[str] | None = None,
    aim: Aim = Aim(),
    on_step: OnStep = lambda: None,
) -> Choice:
    """Fit every candidate and choose among them.

    The first is taken, unless another is better by more than chance explains.

    Args:
        training: The records.
        embedder: The one they were embedded with.
        names: Keys of `CANDIDATES`; all of them by default.
        aim: What for.
        on_step: Called after each candidate.

    Raises:
        InputError: There is no such candidate, or none can be fitted on the records.
    """
    fitted: dict[str, FittedRouter] = {}
    scores: dict[str, Floats] = {}
    problem = ""
    for candidate in named(names):
        try:
            fitted[candidate.name] = candidate.fit(training, embedder)
            scores[candidate.name] = candidate.held_out(training, embedder, fitted[candidate.name])
        except InputError as error:  # too few records that tell known from unknown
            problem = str(error)
        on_step()
    if not scores:
        raise InputError(f"no router can be fitted on these records: {problem}")
    worth = {name: aim.contributions(found, training) for name, found in scores.items()}
    best = first = next(iter(worth))
    for name, found in worth.items():
        ahead = found - worth[first]
        sure = ahead.mean() > CLEARLY * ahead.std() / np.sqrt(len(ahead))
        if sure and found.mean() > worth[best].mean():
            best = name
    fitted[best].threshold = aim.threshold(scores[best], training)
    return Choice(CANDIDATES[best], fitted[best], worth)


def named(names: Sequence[str] | None) -> list[Candidate]:
    """The candidates of these names, all by default.

    Raises:
        InputError: There is no such candidate.

    Example:
        >>> [candidate.name for candidate in named(["benefit"])]
        ['benefit']
    """
    for name in names or ():
        if name not in CANDIDATES:
            raise InputError(f"no router {name!r}: give some of {', '.join(CANDIDATES)}")
    return [CANDIDATES[name] for name in names or CANDIDATES]
