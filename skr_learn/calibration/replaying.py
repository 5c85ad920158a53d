"""Replay: judging routers and arbiters on recorded answers, without any call of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from skr_core.errors import InputError
from skr_core.models.embedders import HashingEmbedder
from skr_core.ports import OnProgress
from skr_core.types import Action
from skr_learn.calibration.candidates import Candidate, candidates_of, statements_of
from skr_learn.calibration.choice import choose
from skr_learn.calibration.judging import GroupResult, Replayed, judge_group
from skr_learn.calibration.recorded_signal import PREFIX, RecordedSignal, value_of
from skr_learn.calibration.weighing import (
    WEIGHING,
    Decided,
    Known,
    arbitrated,
    by_margins,
    climbed,
    have_likelihoods,
)
from skr_learn.learning.folds import FOLDS, Indices, folds
from skr_learn.learning.outcomes import ASSUMED_STEPS, ActionTable
from skr_learn.learning.pricing import best_actions
from skr_learn.learning.rule import Aim, Expected, Rule
from skr_learn.learning.signals import Training
from skr_learn.routers.registry import FITTED, entry_of, titles
from skr_learn.self_knowledge.order import in_fixed_order
from skr_learn.self_knowledge.records import SelfKnowledge

if TYPE_CHECKING:
    from skr_core.ports import Embedder

CONSTANTS: dict[str, Action] = {"never": "direct", "always": "single", "multistep": "loop"}
LEARNT = (*FITTED, "recommended")
ROUTERS = ("always", "never", *LEARNT)
"""Names that replay always knows, beside ``arbiter``, ``ladder``, ``encoder``, ``multistep`` where
the loop is among the actions, the names of the records' statements and ``signal:`` with a field."""
_NAMES = f"always, never, recommended, {titles()}, arbiter, ladder, margins, signal:FIELD"
TWO: tuple[Action, ...] = ("direct", "single")
THREE: tuple[Action, ...] = ("direct", "single", "loop")


@dataclass(frozen=True)
class Replay:
    """What routers would have done: over all questions, and in each group of them.

    Attributes:
        overall: Over all questions.
        groups: In each group, by its name.
        budget: Retrievals a question that were allowed; None where accuracy was kept instead.
        assumed_steps: Retrievals assumed for loops that nobody counted; None where none are.
    """

    overall: GroupResult
    groups: Mapping[str, GroupResult]
    budget: float | None = None
    assumed_steps: float | None = None

    def row(self) -> dict[str, Any]:
        """The result as plain values."""
        found: dict[str, Any] = {} if self.budget is None else {"budget": self.budget}
        if self.assumed_steps is not None:
            found["assumed_multistep_steps"] = self.assumed_steps
        groups = {name: group.row() for name, group in self.groups.items()}
        return found | {"overall": self.overall.row(), "groups": groups}


def replay(
    train: Sequence[SelfKnowledge],
    test: Sequence[SelfKnowledge] | None = None,
    *,
    routers: Sequence[str] = ("recommended",),
    by: str | None = None,
    embedder: Embedder | None = None,
    seeds: int = 1,
    actions: Sequence[Action] = TWO,
    budget: float | None = None,
    assumed_steps: float = ASSUMED_STEPS,
    on_progress: OnProgress | None = None,
) -> Replay:
    """Fit routers and arbiters on recorded answers and judge them on others.

    Without `test` the records are split into five folds, equal questions together, and each is
    judged by routers fitted on the other four. The group of a question does not matter to that:
    one router serves all.

    Two names weigh answers. ``arbiter`` has every action taken and serves the answer that is
    likeliest to be right; the answer of one round is read off the loop's first, so that the direct
    answer is all it adds to the cost of the dearest. ``ladder`` asks for the direct answer, then
    for one round, then for the loop, while the next is expected to be worth its cost, and serves
    the likeliest of those it has.

    Args:
        train: To fit on, in any order.
        test: To judge on, in any order.
        routers: Names out of `ROUTERS`, ``arbiter``, ``ladder``, or ``signal:`` with a field of
            the records. ``recommended`` is what `calibrate` would choose on the records a router is
            fitted on.
        by: Field whose values make the groups, such as ``extra.dataset``.
        embedder: For questions and answers; a `HashingEmbedder` by default.
        seeds: Times the folds are drawn anew; results are means over them.
        actions: Which to choose among; cost is counted in retrievals.
        budget: Choose for the best accuracy at so many retrievals a question; by default for as
            few as cost hardly any accuracy. A ladder without it stops where more is not expected
            to be better.
        assumed_steps: Retrievals of a loop that nobody counted.
        on_progress: Told after each fit.

    Raises:
        InputError: There is no such router or field, or a fold holds too little to fit a router.

    Example:
        >>> known = [
        ...     SelfKnowledge.of(f"What is {n} plus 1?", direct=("", 1), single=("", 0))
        ...     for n in range(20)
        ... ]
        >>> unknown = [
        ...     SelfKnowledge.of(f"Who is CEO of {n}?", direct=("", 0), single=("", 1))
        ...     for n in range(20)
        ... ]
        >>> result = replay(known + unknown, routers=["paper"]).overall.routers["paper"]
        >>> result.accuracy, result.retrieval_rate
        (1.0, 0.5)
    """
    routers = list(dict.fromkeys(routers))
    if not routers:
        raise InputError(f"no router to judge: give some of {_NAMES}")
    embedder = embedder or HashingEmbedder()
    aim = Aim(budget=budget)
    train = in_fixed_order(train)
    asked = train if test is None else in_fixed_order(test)
    groups = grouped(asked, by)
    makers = {name: _maker(name, train, asked, embedder, aim, tuple(actions)) for name in routers}
    drafts = any(maker.drafts for maker in makers.values())

    weighs = any(maker.weighs for maker in makers.values())
    told = have_likelihoods(train)

    def known(records: Sequence[SelfKnowledge]) -> Known:
        table = ActionTable.of(
            records, actions=actions, unit="retrievals", assumed_steps=assumed_steps
        )
        training = Training.of(records, embedder, drafts=drafts, table=table)
        return Known.of(training, embedder, likelihoods=told) if weighs else Known(training)

    fitting = known(train)
    judging = fitting if test is None else known(asked)
    runs = seeds if test is None else 1
    n, done, steps = len(asked), 0, len(routers) * runs * (FOLDS if test is None else 1)
    found = {
        name: Replayed.empty(runs, n, drafts=maker.drafts or maker.weighs, weighs=maker.weighs)
        for name, maker in makers.items()
    }
    for run in range(runs):
        for fit, judge in split(fitting, judging, run):
            for name, maker in makers.items():
                decided, into = maker.decide(fitting[fit], judging[judge]), found[name]
                scores = decided.benefit
                if fitting is judging and (name in LEARNT or maker.weighs):
                    scores = scores - scores.mean()  # folds differ in their mean benefit by chance
                into.scores[run, judge] = scores
                into.served[run, judge], into.paid[run, judge] = decided.served, decided.paid
                done += 1
                if on_progress is not None:
                    on_progress(done, steps)

    def group(chosen: Indices) -> GroupResult:
        parts = {name: each[chosen] for name, each in found.items()}
        return judge_group(judging.training.table[chosen], parts)

    return Replay(
        group(np.arange(n)),
        {name: group(chosen) for name, chosen in groups},
        budget,
        judging.training.table.assumed_steps,
    )


def split(fitting: Known, judging: Known, seed: int) -> Iterator[tuple[Indices, Indices]]:
    """Indices to fit on and to judge: folds of one set of records, or all of two."""
    if fitting is judging:
        yield from folds(fitting.training.groups, seed=seed)
    else:
        yield np.arange(len(fitting)), np.arange(len(judging))


def grouped(records: Sequence[SelfKnowledge], by: str | None) -> list[tuple[str, Indices]]:
    """The groups by a field's values, in the order of their names; none without a field."""
    if by is None:
        return []
    values = [value_of(record, by) for record in records]
    if all(value is None for value in values):
        raise InputError(f"no record has the field {by}")
    names = np.array(["" if value is None else str(value) for value in values])
    return [(str(name), np.flatnonzero(names == name)) for name in np.unique(names)]


@dataclass(frozen=True)
class _Maker:
    """Fits one router or arbiter on some records and decides on others."""

    decide: Callable[[Known, Known], Decided]
    drafts: bool = False
    weighs: bool = False


def _maker(
    name: str,
    train: Sequence[SelfKnowledge],
    asked: Sequence[SelfKnowledge],
    embedder: Embedder,
    aim: Aim,
    actions: tuple[Action, ...],
) -> _Maker:
    if CONSTANTS.get(name) in actions:
        column = actions.index(CONSTANTS[name])
        return _Maker(
            lambda _, judged: Decided.by_router(np.zeros(len(judged)), np.full(len(judged), column))
        )
    if name in WEIGHING:
        if name == "arbiter":
            return _Maker(arbitrated, weighs=True)
        if name == "margins":
            if not have_likelihoods(asked):
                raise InputError("no record has likelihoods: collect them with --likelihoods")
            return _Maker(by_margins, weighs=True)
        return _Maker(partial(climbed, embedder=embedder, budget=aim.budget), weighs=True)
    if name.startswith(PREFIX):
        if len(actions) > 2:
            raise InputError("a signal orders two actions, not three: leave it out")
        return _Maker(_signal_maker(RecordedSignal(name.removeprefix(PREFIX)), asked))
    held = statements_of([*train, *asked])
    if name == "recommended":
        candidates = candidates_of(None, held)
    elif name in CONSTANTS:
        raise InputError(f"no router {name!r} of {len(actions)} actions")
    else:
        try:
            entry_of(name)
        except InputError as error:
            raise InputError(f"no router {name!r}: give some of {_NAMES}") from error
        candidates = candidates_of([name], held)
    return _Maker(
        _candidates_maker(candidates, embedder, aim, recommended=name == "recommended"),
        drafts=any(candidate.drafts for candidate in candidates),
    )


def _candidates_maker(
    candidates: Sequence[Candidate], embedder: Embedder, aim: Aim, *, recommended: bool
) -> Callable[[Known, Known], Decided]:
    def decide(fitted_on: Known, judged: Known) -> Decided:
        candidate, training = candidates[0], fitted_on.training
        if recommended:
            choice = choose(training, embedder, candidates, aim=aim)
            candidate, router, rule = choice.candidate, choice.fitted, choice.rule
        else:
            router = candidate.fit(training, embedder)
            if candidate.own_rule:
                rule = Rule(candidate.own_price)
            else:
                rule = aim.rule(candidate.held_out(training, embedder, router))
        actions = candidate.actions(training)  # those of the records that it was fitted on
        expected = candidate.expected(router, judged.training.of_actions(actions))
        return _decided(expected, rule, judged.training.table)

    return decide


def _signal_maker(
    signal: RecordedSignal, asked: Sequence[SelfKnowledge]
) -> Callable[[Known, Known], Decided]:
    def decide(fitted_on: Known, judged: Known) -> Decided:
        threshold = signal.half
        if not signal.is_truth_value(asked):
            threshold = signal.threshold(
                fitted_on.training.records.tolist(), fitted_on.training.table
            )
        scores = signal.scores(judged.training.records.tolist())
        return Decided.by_router(scores, (scores > threshold).astype(np.int64))

    return decide


def _decided(expected: Expected, rule: Rule, table: ActionTable) -> Decided:
    benefit = expected.scores[:, 1] - expected.scores[:, 0]
    columns = np.array([table.actions.index(each) for each in expected.table.actions])
    if rule.constant is not None:
        only = table.actions.index(rule.constant)
        return Decided.by_router(benefit, np.full(len(benefit), only))
    taken = columns[best_actions(expected.scores, expected.costs, rule.price)]
    return Decided.by_router(benefit, taken)
