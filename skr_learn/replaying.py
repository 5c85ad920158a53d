"""replay: what routers would have served of recorded answers that they have not learnt from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import InputError, StampMismatch
from skr_core.ports import OnProgress
from skr_core.types import Action
from skr_learn.aims import Aim, Baseline, Served
from skr_learn.calibrating import Judged, choose, judge, judge_all
from skr_learn.candidates import (
    POLICIES,
    OfConstant,
    OfPolicy,
    OfScores,
    candidates_of,
    hold_searches,
    statements_of,
)
from skr_learn.costs import ASSUMED_STEPS, ActionTable, CostOf, CostUnit, actions_of
from skr_learn.curve import frontier_with
from skr_learn.metrics import Interval, Reliability, mean_by_question
from skr_learn.policy import Policy
from skr_learn.records import Record, in_fixed_order, values_of
from skr_learn.routers.base import QuestionRouter, hash_of_question, question_hashes
from skr_learn.training import RememberingEmbedder, Training

if TYPE_CHECKING:
    from skr_core.ports import Embedder

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RouterResult:
    """One router on one group of recorded questions, each figure with its 95 % interval.

    Attributes:
        accuracy: The mean score of what is served.
        cost: The mean cost a question.
        calls: The mean number of calls of the model.
        retrieval_rate: The share of the questions that are retrieved for.
        over_best: The accuracy minus that of the best constant policy.
        over_always: The accuracy minus that of one round of retrieval for every question.
        corruption: The share of the questions whose direct answer is right and whose served answer
            is wrong (W2R §5).
        reliability: How true the chances are that it tells of its answers; None where it tells
            none.
    """

    accuracy: Interval
    cost: Interval
    calls: Interval
    retrieval_rate: Interval
    over_best: Interval
    over_always: Interval
    corruption: Interval
    reliability: Reliability | None = None


@dataclass(frozen=True)
class GroupResult:
    """All routers on one group of recorded questions.

    Attributes:
        n: The number of records.
        constants: The accuracy of each action taken for every question.
        constant_costs: What that costs a question.
        oracle: The accuracy of the best action for each question.
        frontier: Mean costs a question, ascending, and the best accuracy that any choice among
            these very answers could have at each.
        routers: The results by the routers' names.
    """

    n: int
    constants: Mapping[Action, Interval]
    constant_costs: Mapping[Action, float]
    oracle: float
    frontier: tuple[tuple[float, ...], tuple[float, ...]]
    routers: Mapping[str, RouterResult]


@dataclass(frozen=True)
class Replay:
    """What a replay found.

    Attributes:
        overall: The result on all records that were judged.
        groups: The results by the values of the field that makes groups.
        unit: What cost is counted in; tokens in thousands.
        left_out: How many records were left out because a router had learnt from their questions.
        assumed_steps: The retrievals assumed of loops that nobody counted; None where none are.
    """

    overall: GroupResult
    groups: Mapping[str, GroupResult]
    unit: str
    left_out: int = 0
    assumed_steps: float | None = None


def replay(
    train: Sequence[Record],
    test: Sequence[Record] | None = None,
    *,
    routers: Sequence[str] = ("always", "never", "ladder"),
    by: str = "",
    embedder: Embedder | None = None,
    actions: Sequence[Action] | None = None,
    cost: CostUnit | CostOf | None = None,
    budget: float | None = None,
    cost_weight: float | None = None,
    retrieval_rate: float | None = None,
    stream: bool = False,
    assumed_steps: float = ASSUMED_STEPS,
    on_progress: OnProgress | None = None,
) -> Replay:
    """Fit routers on recorded answers and judge them on others.

    Without `test` the records are split into five folds, equal questions together, and each is
    judged by what was fitted on the other four: estimates and rules alike.

    Args:
        train: The records to fit on, in any order, of one model.
        test: The records to judge on; those whose questions are fitted on are left out.
        routers: The names of the routers, see `calibrate`; ``recommended`` is what that would
            choose.
        by: A field of the records whose values make groups, such as ``extra.dataset``; one router
            serves all of them.
        embedder: The embedder whose vectors are looked at too.
        actions: The actions to choose among; by default those that every record holds.
        cost: What cost is counted in, as `calibrate` takes it.
        budget: Aim at the best accuracy at this mean cost a question.
        cost_weight: Aim at the best accuracy less this much for each unit of cost.
        retrieval_rate: Aim at the best accuracy at this share of questions retrieved for.
        stream: Serve the last answer that was asked for.
        assumed_steps: The retrievals of a loop that nobody counted.
        on_progress: Told after each router.

    Raises:
        InputError: There is no such router or field, no record is left to judge on, or records of
            several models are mixed.

    Example:
        >>> known = [
        ...     Record.of(f"What is {n} plus 1?", direct=("", 1), single=("", 0))
        ...     for n in range(20)
        ... ]
        >>> unknown = [
        ...     Record.of(f"Who is CEO of {n}?", direct=("", 0), single=("", 1))
        ...     for n in range(20)
        ... ]
        >>> result = replay(known + unknown, routers=["paper"]).overall.routers["paper"]
        >>> result.accuracy.mean, result.retrieval_rate.mean
        (1.0, 0.5)
    """
    aim = Aim(budget, cost_weight, retrieval_rate, stream)
    one_model([*train, *(test or ())])
    chosen = actions_of([*train, *(test or ())], actions)
    known = partial(
        training_of,
        embedder=embedder and RememberingEmbedder(embedder),
        actions=chosen,
        cost=cost,
        assumed_steps=assumed_steps,
    )
    fitting = known(train)
    judging, left_out = fitting, 0
    if test is not None:
        fresh = without(test, question_hashes(train))
        left_out = len(test) - len(fresh)
        judging = known(fresh)
    baseline = Baseline.of(fitting.table)
    names = list(dict.fromkeys(routers))
    found: dict[str, Served] = {}
    for done, name in enumerate(names, start=1):
        found[name] = _served(name, fitting, judging, aim, baseline)
        if on_progress is not None:
            on_progress(done, len(names))
    return _replay(found, judging, by, left_out)


def replay_saved(
    router: Any,
    test: Sequence[Record],
    *,
    name: str = "saved",
    by: str = "",
    cost: CostUnit | CostOf | None = None,
    assumed_steps: float = ASSUMED_STEPS,
) -> Replay:
    """Judge the very router that is served on recorded answers, all its places together.

    Args:
        router: The router, as it was loaded: a policy, one that scores the question by itself, or
            a constant one.
        test: The records to judge on; those whose questions it has learnt from are left out.
        name: What it is called in the result.
        by: A field of the records whose values make groups.
        cost: What cost is counted in, as `calibrate` takes it.
        assumed_steps: The retrievals of a loop that nobody counted.

    Raises:
        InputError: No record is left, records of several models are mixed, or the router asks a
            model, which a replay cannot do.
    """
    one_model(test)
    fresh = without(test, getattr(router, "questions", ()))
    wanted = router.actions if isinstance(router, Policy) else None
    judging = training_of(fresh, cost=cost, assumed_steps=assumed_steps, actions=wanted)
    served = _served_by(router, judging)
    always = {each: _constant(each, judging) for each in ("never", "always")}
    return _replay({**always, name: served}, judging, by, len(test) - len(fresh))


def without(records: Sequence[Record], questions: Sequence[str] | frozenset[str]) -> list[Record]:
    """Leave out the records whose questions were learnt from.

    Args:
        records: The records.
        questions: Short hashes of the questions that were learnt from.

    Raises:
        InputError: None is left.
    """
    learnt = frozenset(questions)
    kept = [each for each in records if hash_of_question(each.question) not in learnt]
    if not kept:
        raise InputError(
            f"all {len(records)} questions were learnt from: judge on other records, or cross-fit "
            "by giving the records to train on alone"
        )
    return kept


def one_model(records: Sequence[Record]) -> str:
    """Return the model whose answers the records hold.

    Raises:
        InputError: They hold those of several, which do not compare.
    """
    names = sorted({record.stamp.model for record in records})
    if len(names) > 1:
        raise StampMismatch(
            f"these records hold answers of {len(names)} models: keep those of one, as with "
            f"where model={names[0]}"
        )
    return names[0] if names else ""


def training_of(
    records: Sequence[Record],
    *,
    embedder: Embedder | None = None,
    actions: Sequence[Action] | None = None,
    cost: CostUnit | CostOf | None = None,
    assumed_steps: float = ASSUMED_STEPS,
) -> Training:
    """Read records for fitting on them or judging by them."""
    ordered = in_fixed_order(records)
    table = ActionTable.of(ordered, actions=actions, unit=cost, assumed_steps=assumed_steps)
    return Training(ordered, table, embedder)


def _served(
    name: str, fitting: Training, judging: Training, aim: Aim, baseline: Baseline
) -> Served:
    """Return what a router of this name serves of the records judged on."""
    both = [*fitting.records, *judging.records]
    held, searched = statements_of(both), hold_searches(both)
    actions, stream = fitting.table.actions, aim.stream
    if name == "recommended":
        some = candidates_of(
            None, actions, held, searched=searched, stream=stream, weight=aim.weight
        )
        best = choose(judge_all(some, fitting, aim, baseline), aim, baseline, None)
    else:
        (candidate,) = candidates_of(
            [name], actions, held, searched=searched, stream=stream, weight=aim.weight
        )
        judged = judge(candidate, fitting, aim, baseline, anyway=True)
        assert judged is not None
        best = judged
    if fitting is judging:
        return best.served
    return best.candidate.replayed(_router(best, fitting), judging)


def _router(judged: Judged, fitting: Training) -> Any:
    return judged.candidate.router(fitting, float(judged.weights[judged.chosen]))


def _served_by(router: Any, judging: Training) -> Served:
    if isinstance(router, Policy):
        name = next(name for name, looks in POLICIES.items() if looks == router.rules.looks)
        return OfPolicy(name, router.rules.serves == "last").replayed(router, judging)
    if isinstance(router, QuestionRouter):
        return OfScores(router.kind).replayed(router, judging)
    kind = getattr(router, "kind", "")
    if kind in ("always", "never"):
        decision = router.decide("?")
        return OfConstant(kind, decision.action).replayed(router, judging)
    raise InputError(
        f"a {kind or type(router).__name__} router asks a model, which a replay cannot do: collect "
        "its statements with the records, and give its name"
    )


def _constant(name: str, judging: Training) -> Served:
    (candidate,) = candidates_of([name], judging.table.actions)
    return candidate.replayed(None, judging)


def _replay(found: Mapping[str, Served], judging: Training, by: str, left_out: int) -> Replay:
    groups: dict[str, GroupResult] = {}
    if by:
        names = values_of(judging.records, by)
        for name in np.unique(names):
            rows = np.flatnonzero(names == name)
            groups[str(name)] = _group(found, judging, rows)
    return Replay(
        _group(found, judging, np.arange(len(judging.records))),
        groups,
        judging.table.unit,
        left_out,
        judging.table.assumed_steps,
    )


def _group(found: Mapping[str, Served], judging: Training, rows: NDArray[np.int64]) -> GroupResult:
    table = judging.table[rows]
    groups = np.unique(judging.groups[rows], return_inverse=True)[1]

    def mean(values: Floats) -> Interval:
        return mean_by_question(values, groups)

    always = table.actions.index("single") if "single" in table.actions else len(table.actions) - 1
    direct_right = table.scores[:, 0] >= 0.5
    results = {}
    for name, served in found.items():
        here = served[rows]
        results[name] = RouterResult(
            mean(here.scores),
            mean(here.costs),
            mean(here.calls),
            mean(here.retrieved.astype(np.float64)),
            mean(here.scores - table.scores[:, table.best]),
            mean(here.scores - table.scores[:, always]),
            mean((direct_right & (here.scores < 0.5)).astype(np.float64)),
            here.reliability,
        )
    costs = dict(zip(table.actions, table.costs.mean(axis=0).tolist(), strict=True))
    marks = [*costs.values(), *(each.cost.mean for each in results.values())]
    return GroupResult(
        len(rows),
        {action: mean(table.scores[:, place]) for place, action in enumerate(table.actions)},
        costs,
        float(table.scores.max(axis=1).mean()),
        frontier_with(table, marks),
        results,
    )
