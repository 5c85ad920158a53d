"""calibrate: from records of self-knowledge to the router that serves them best, or to none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from skr_core.calibration.choice import Aim, choose, named
from skr_core.calibration.curve import Policy, RoutingCurve, interval
from skr_core.calibration.folds import FOLDS, folds
from skr_core.errors import InputError
from skr_core.learning.rows import TextEmbedder
from skr_core.learning.signals import Training
from skr_core.models.ngrams import NgramEmbedder
from skr_core.ports import LanguageModel
from skr_core.routers.constant import AlwaysRetrieve, NeverRetrieve
from skr_core.routers.fitted import FittedRouter
from skr_core.self_knowledge.records import SelfKnowledge, check_same_stamp

OnProgress = Callable[[int, int], None]
"""Called with the number of steps done and of all."""

COMPARED = 10_000
"""Records on which routers are compared: their differences are then known to a few thousandths, in
minutes. The chosen one is fitted on all."""
FEWEST = 10
"""Below that, each fold judges a question or two."""


@dataclass(frozen=True)
class Calibration:
    """What calibration found.

    Attributes:
        router: The one to use; `AlwaysRetrieve` or `NeverRetrieve` where routing does not pay.
        curve: Why.
    """

    router: FittedRouter | AlwaysRetrieve | NeverRetrieve
    curve: RoutingCurve

    def save(self, path: str | Path) -> None:
        """Write the router to a folder."""
        self.router.save(path)


def calibrate(
    records: Sequence[SelfKnowledge],
    *,
    embedder: TextEmbedder | None = None,
    model: LanguageModel | None = None,
    routers: Sequence[str] | None = None,
    retrieval_rate: float | None = None,
    price: float | None = None,
    on_progress: OnProgress | None = None,
) -> Calibration:
    """Choose a router and its threshold on records, and say what they are worth.

    No record is judged by a router that has seen its question. By default the threshold saves as
    many retrievals as cost at most half a point of accuracy, with caution; where no router can be
    trusted with that, the better constant policy is recommended.

    Args:
        records: Made with one model, one retriever and one metric.
        embedder: For questions and answers; an `NgramEmbedder` by default.
        model: The one the records are about, for a router that asks it for the direct answer.
        routers: Which to choose among: ``combined`` (looks at the direct answer too),
            ``combined-question``, ``benefit``, ``paper``, ``classifier``; all by default.
        retrieval_rate: Choose for the best accuracy at this share of questions instead.
        price: Choose for the best accuracy less this much for each retrieval instead.
        on_progress: Told after each step.

    Raises:
        InputError: There are too few records, or the options contradict one another.
        StampMismatch: The records were made with different things.

    Example:
        >>> known = [SelfKnowledge(f"What is {n} plus 1?", (), "", "", 1, 0) for n in range(20)]
        >>> unknown = [SelfKnowledge(f"Who is CEO of {n}?", (), "", "", 0, 1) for n in range(20)]
        >>> calibration = calibrate(known + unknown, routers=["benefit"])
        >>> calibration.curve.recommended, round(calibration.curve.chosen.mean, 2)
        ('router', 1.0)
    """
    aim = Aim(retrieval_rate, price)
    candidates = named(routers)
    if len(records) < FEWEST:
        raise InputError(f"{len(records)} records are too few to judge a router by: collect more")
    check_same_stamp([record.stamp for record in records], "the records")
    embedder = embedder or NgramEmbedder()
    done, steps = 0, 1 + len(candidates) + FOLDS + 1

    def advance() -> None:
        nonlocal done
        done += 1
        if on_progress is not None:
            on_progress(done, steps)

    drafts = any(candidate.name == "combined" for candidate in candidates)
    training = Training.of(records, embedder, drafts=drafts)
    advance()
    some = training
    if len(training) > COMPARED:
        some = training[np.sort(np.random.default_rng(0).permutation(len(training))[:COMPARED])]
    choice = choose(some, embedder, names=routers, aim=aim, on_step=advance)
    scores, retrieved = np.zeros(len(some)), np.zeros(len(some), dtype=bool)
    for train, test in folds(some.groups):
        fitted = choice.candidate.fit(some[train], embedder)
        held_out = choice.candidate.held_out(some[train], embedder, fitted)
        found = fitted.scores(some[test].signals)
        retrieved[test] = found > aim.threshold(held_out, some[train])
        scores[test] = found - found.mean()  # folds differ in their mean benefit by chance
        advance()
    router = choice.router
    recommended: Policy = "router"
    if isinstance(router, AlwaysRetrieve | NeverRetrieve):
        recommended = "always" if isinstance(router, AlwaysRetrieve) else "never"
    else:
        if some is not training:
            threshold = router.threshold
            router = choice.candidate.fit(training, embedder)
            router.threshold = threshold
        router.use_model(model)
    advance()
    curve = RoutingCurve.of(
        scores,
        retrieved,
        some.direct,
        some.augmented,
        router=choice.candidate.name,
        recommended=recommended,
        compared={name: interval(worth) for name, worth in choice.worth.items()},
    )
    return Calibration(router, curve)
