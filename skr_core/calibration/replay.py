"""Replay: judging routers on recorded answers, without any call of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skr_core.calibration.candidates import CANDIDATES
from skr_core.calibration.choice import choose
from skr_core.calibration.curve import guidance, interval
from skr_core.calibration.folds import FOLDS, Places, folds
from skr_core.calibration.recorded_signal import PREFIX, RecordedSignal, value_of
from skr_core.errors import InputError
from skr_core.learning.rows import Floats, TextEmbedder
from skr_core.learning.signals import Training
from skr_core.learning.threshold import ALWAYS, NEVER
from skr_core.metrics.routing import area_contributions, saved_at_parity
from skr_core.metrics.statistics import Interval
from skr_core.models.ngrams import NgramEmbedder
from skr_core.self_knowledge.records import SelfKnowledge

OnProgress = Callable[[int, int], None]

LEARNT = (*CANDIDATES, "recommended")
ROUTERS = ("always", "never", *LEARNT)
"""Every name that replay knows, beside ``signal:FIELD``."""


@dataclass(frozen=True)
class RouterResult:
    """One router on one group of recorded questions.

    Attributes:
        accuracy: Of the answers it chose.
        retrieval_rate: Share of the questions it retrieved for.
        random_line: Accuracy of retrieving for as many questions at random.
        gain: Accuracy minus the random line.
        regret: The better constant policy minus accuracy.
        area_gain: Mean over all rates of accuracy minus the random line.
        saved_at_parity: See `skr_core.metrics.routing.saved_at_parity`.
    """

    accuracy: float
    retrieval_rate: float
    random_line: float
    gain: Interval
    regret: Interval
    area_gain: Interval
    saved_at_parity: float

    def row(self) -> dict[str, Any]:
        """As it goes out."""
        return {
            "accuracy": self.accuracy,
            "retrieval_rate": self.retrieval_rate,
            "random_line": self.random_line,
            "gain": self.gain.mean,
            "gain_ci": [self.gain.low, self.gain.high],
            "regret": self.regret.mean,
            "area_gain": self.area_gain.mean,
            "saved_at_parity": self.saved_at_parity,
        }


@dataclass(frozen=True)
class GroupResult:
    """All routers on one group of recorded questions.

    Attributes:
        n: Questions.
        never: Accuracy of the direct answers.
        always: Accuracy of the augmented answers.
        oracle: Accuracy of the better of both for each question.
        routers: Results by name.
    """

    n: int
    never: float
    always: float
    oracle: float
    routers: Mapping[str, RouterResult]

    def row(self) -> dict[str, Any]:
        """As it goes out."""
        routers = {name: result.row() for name, result in self.routers.items()}
        own = {"n": self.n, "never": self.never, "always": self.always, "oracle": self.oracle}
        return {**own, "routers": routers}


@dataclass(frozen=True)
class Replay:
    """What routers would have done: over all questions, and in each group of them."""

    overall: GroupResult
    groups: Mapping[str, GroupResult]

    def row(self) -> dict[str, Any]:
        """As it goes out."""
        groups = {name: group.row() for name, group in self.groups.items()}
        return {"overall": self.overall.row(), "groups": groups}


def replay(
    train: Sequence[SelfKnowledge],
    test: Sequence[SelfKnowledge] | None = None,
    *,
    routers: Sequence[str] = ("recommended",),
    by: str | None = None,
    embedder: TextEmbedder | None = None,
    seeds: int = 1,
    on_progress: OnProgress | None = None,
) -> Replay:
    """Fit routers on recorded answers and judge them on others.

    Without `test` the records are parted into five folds, equal questions together, and each is
    judged by routers fitted on the other four. The group of a question does not matter to that:
    one router serves all.

    Args:
        train: To fit on.
        test: To judge on.
        routers: Names out of `ROUTERS`, or ``signal:`` with a field of the records. ``recommended``
            is what `calibrate` would choose on the records a router is fitted on.
        by: Field whose values make the groups, such as ``extra.dataset``.
        embedder: For questions and answers; an `NgramEmbedder` by default.
        seeds: Times the folds are drawn anew; results are means over them.
        on_progress: Told after each fit.

    Raises:
        InputError: There is no such router, or a fold holds too little to fit it.

    Example:
        >>> known = [SelfKnowledge(f"What is {n} plus 1?", (), "", "", 1, 0) for n in range(20)]
        >>> unknown = [SelfKnowledge(f"Who is CEO of {n}?", (), "", "", 0, 1) for n in range(20)]
        >>> result = replay(known + unknown, routers=["paper"]).overall.routers["paper"]
        >>> result.accuracy, result.retrieval_rate
        (1.0, 0.5)
    """
    routers = list(dict.fromkeys(routers))
    for name in routers:
        if name not in ROUTERS and not name.startswith(PREFIX):
            raise InputError(f"no router {name!r}: give some of {', '.join(ROUTERS)}, signal:FIELD")
    embedder = embedder or NgramEmbedder()
    drafts = bool({"combined", "recommended"} & set(routers))
    asked = train if test is None else test
    fitting = Training.of(train, embedder, drafts=drafts)
    judging = fitting if test is None else Training.of(test, embedder, drafts=drafts)
    runs = seeds if test is None else 1
    n, done, steps = len(asked), 0, len(routers) * runs * (FOLDS if test is None else 1)
    scores = {name: np.zeros((runs, n)) for name in routers}
    chosen = {name: np.zeros((runs, n), dtype=bool) for name in routers}
    for run in range(runs):
        for fit_on, judge_on in parted(fitting, judging, run):
            for name in routers:
                found, retrieved = _route(
                    name, fitting, judging, fit_on, judge_on, embedder, train, asked
                )
                if fitting is judging and name in LEARNT:
                    found = found - found.mean()  # folds differ in their mean benefit by chance
                scores[name][run, judge_on], chosen[name][run, judge_on] = found, retrieved
                done += 1
                if on_progress is not None:
                    on_progress(done, steps)

    def group(places: Places) -> GroupResult:
        direct, augmented = judging.direct[places], judging.augmented[places]
        return GroupResult(
            n=len(places),
            never=float(direct.mean()),
            always=float(augmented.mean()),
            oracle=float(np.maximum(direct, augmented).mean()),
            routers={
                name: judged(scores[name][:, places], chosen[name][:, places], direct, augmented)
                for name in routers
            },
        )

    return Replay(group(np.arange(n)), {name: group(places) for name, places in grouped(asked, by)})


def judged(
    scores: Floats, retrieved: NDArray[np.bool_], direct: Floats, augmented: Floats
) -> RouterResult:
    """One router's result, the mean over runs.

    Args:
        scores: Shape (runs, n).
        retrieved: Shape (runs, n).
        direct: Scores of the direct answers, shape (n,).
        augmented: Scores of the augmented answers, shape (n,).

    Example:
        >>> right = np.ones(2)
        >>> judged(np.zeros((1, 2)), np.ones((1, 2), dtype=bool), 0 * right, right).regret.mean
        0.0
    """
    benefit = augmented - direct
    rate = float(retrieved.mean())
    achieved = np.where(retrieved, augmented, direct).mean(axis=0)
    better = augmented if augmented.mean() >= direct.mean() else direct
    runs = list(zip(scores, retrieved, strict=True))
    return RouterResult(
        accuracy=float(achieved.mean()),
        retrieval_rate=rate,
        random_line=float(direct.mean() + rate * benefit.mean()),
        gain=interval(np.mean([guidance(each, benefit) for _, each in runs], axis=0)),
        regret=interval(better - achieved),
        area_gain=interval(
            np.mean([area_contributions(each, direct, augmented) for each, _ in runs], axis=0)
        ),
        saved_at_parity=float(
            np.mean([saved_at_parity(each, direct, augmented) for each, _ in runs])
        ),
    )


def parted(fitting: Training, judging: Training, seed: int) -> Iterator[tuple[Places, Places]]:
    """Places to fit on and to judge: folds of one set of records, or all of two."""
    if fitting is judging:
        yield from folds(fitting.groups, seed=seed)
    else:
        yield np.arange(len(fitting)), np.arange(len(judging))


def grouped(records: Sequence[SelfKnowledge], by: str | None) -> list[tuple[str, Places]]:
    """The groups by a field's values, in the order of their names; none without a field."""
    if by is None:
        return []
    values = [value_of(record, by) for record in records]
    if all(value is None for value in values):
        raise InputError(f"no record has the field {by}")
    names = np.array(["" if value is None else str(value) for value in values])
    return [(str(name), np.flatnonzero(names == name)) for name in np.unique(names)]


def _route(
    name: str,
    fitting: Training,
    judging: Training,
    fit_on: Places,
    judge_on: Places,
    embedder: TextEmbedder,
    train: Sequence[SelfKnowledge],
    asked: Sequence[SelfKnowledge],
) -> tuple[Floats, NDArray[np.bool_]]:
    """Scores and decisions of one router on the questions to be judged."""
    if name in ("always", "never"):
        found, threshold = np.zeros(len(judge_on)), ALWAYS if name == "always" else NEVER
    elif name.startswith(PREFIX):
        signal = RecordedSignal(name.removeprefix(PREFIX))
        threshold = signal.threshold([train[place] for place in fit_on], asked)
        found = signal.scores([asked[place] for place in judge_on])
    else:
        seen = fitting[fit_on]
        if name == "recommended":
            router = choose(seen, embedder).fitted
        else:
            router = CANDIDATES[name].fit_at_parity(seen, embedder)
        found, threshold = router.scores(judging[judge_on].signals), router.threshold
    return found, found > threshold
