"""calibrate: from records to what serves an aim best, and what that is worth on new questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from skr_core.budget import Price, price_of
from skr_core.errors import InputError
from skr_core.ports import OnProgress
from skr_core.types import Action
from skr_learn.aims import (
    Aim,
    Baseline,
    Floats,
    Indices,
    Served,
    cross_fitted,
    middle_of_plateau,
)
from skr_learn.candidates import (
    Candidate,
    OfConstant,
    OfPolicy,
    candidates_of,
    hold_searches,
    statements_of,
)
from skr_learn.costs import ASSUMED_STEPS, ActionTable, CostOf, CostUnit, actions_of
from skr_learn.curve import RoutingCurve
from skr_learn.estimator import folds
from skr_learn.expected import Expected
from skr_learn.metrics import Interval, bootstrap
from skr_learn.policy import Policy
from skr_learn.records import Record, check_same_stamp, in_fixed_order, question_key, values_of
from skr_learn.reflector import LearnedReflector
from skr_learn.summary import Figures, Summary, what_is_broken
from skr_learn.training import RememberingEmbedder, Training

if TYPE_CHECKING:
    from skr_core.ports import Embedder

FEWEST = 10
"""Records below which each fold judges a question or two."""
COMPARED = 10_000
"""Records on which candidates are compared and learn: more of them change a thousandth."""
FEWEST_OF_GROUP = 20
"""Questions of a group that is looked at by itself."""
DIFFERENT = 0.1
"""Share of the records decided otherwise than promised that is told."""
SAMPLES = 5


@dataclass(frozen=True)
class Judged:
    """A candidate with what it would serve of new questions.

    Attributes:
        candidate: The candidate.
        weights: Its rules, ascending, shape (r,).
        rules: What each of them served, of records it was not fitted on.
        chosen: The index of the rule that serves the aim best.
        served: What is served where the rule of each question is chosen without it.
    """

    candidate: Candidate
    weights: Floats
    rules: Sequence[Served]
    chosen: int
    served: Served

    @property
    def promised(self) -> Served:
        """What is promised of new questions.

        Accuracy is that of rules that have not seen the question, which a rule may fit by chance;
        what is asked for follows the one rule that is served. A rule that takes the same action
        for every question is that action, and fits nothing.
        """
        rule = self.rules[self.chosen]
        if len(np.unique(rule.taken)) == len(np.unique(rule.answers)) == 1:
            return rule
        return replace(rule, scores=self.served.scores)


@dataclass(frozen=True)
class Calibration:
    """What calibration found; `str` of it is its summary.

    Attributes:
        router: What to serve: give it as the ``router`` of a system.
        summary: What it is worth, beside the constant policies.
        curve: The accuracy and cost of the candidate that was chosen, at each of its rules.
        compared: What each candidate is worth at the rule that it would be served with.
    """

    router: Any
    summary: Summary
    curve: RoutingCurve
    compared: Mapping[str, Figures]

    def save(self, path: str | Path) -> None:
        """Write the router to a file, which takes the place of an earlier one as a whole.

        Raises:
            InputError: The file cannot be written, or nothing can be advised.
        """
        if self.summary.state == "broken":
            raise InputError(f"nothing is saved: {self.summary.notes[0]}")
        self.router.save(path)

    def __str__(self) -> str:
        return str(self.summary)


def calibrate(
    records: Sequence[Record],
    *,
    embedder: Embedder | None = None,
    routers: Sequence[str] | None = None,
    actions: Sequence[Action] | None = None,
    cost: CostUnit | CostOf | None = None,
    prices: Mapping[str, Price] | None = None,
    budget: float | None = None,
    cost_weight: float | None = None,
    retrieval_rate: float | None = None,
    stream: bool = False,
    by: str = "",
    reflector: bool = False,
    anyway: bool = False,
    assumed_steps: float = ASSUMED_STEPS,
    on_progress: OnProgress | None = None,
) -> Calibration:
    """Choose what to serve by records of the very system, and say what it is worth.

    Every candidate is judged by what it would serve at the aim, on questions that neither it nor
    its rule has seen. By default the aim is parity: as little cost as costs at most half a point of
    accuracy, with caution.

    Args:
        records: The records, made with one model, one retriever and one metric, in any order.
        embedder: The embedder whose vectors of questions and answers are looked at too; by default
            words and numbers suffice.
        routers: The names of the candidates, see `skr_learn.routers.registry`; by default the
            policies of the one estimate, the routers that learn from questions alone, and those
            that the records hold statements of.
        actions: The actions to choose among: ``direct`` and ``single``, ``loop`` or both; by
            default those that every record holds.
        cost: What cost is counted in: ``retrievals``, ``calls``, ``tokens`` or ``usd``, or one's
            own cost of an outcome; by default tokens where every outcome has its usage, else
            retrievals.
        prices: The prices of models' tokens, for ``usd``; see `skr_core.budget.read_prices`.
        budget: Aim at the best accuracy at this mean cost a question.
        cost_weight: Aim at the best accuracy less this much for each unit of cost.
        retrieval_rate: Aim at the best accuracy at this share of questions retrieved for.
        stream: Serve the last answer that was asked for, so that it streams.
        by: A field of the records that makes groups, such as ``extra.tenant``: a group that surely
            loses by the router takes its best action for every question.
        reflector: Learn too which drafts to send back within the loop, as a part of the policy.
        anyway: Take the best of the candidates even where it does not pay.
        assumed_steps: The retrievals of a loop that nobody counted.
        on_progress: Told after each candidate.

    Raises:
        InputError: There are too few records, or something else, the aim contradicts itself, or no
            candidate serves it.
        StampMismatch: The records were made with different things.

    Example:
        >>> known = [
        ...     Record.of(f"What is {n} plus 1?", direct=(f"{n + 1}", 1), single=("Adam", 0))
        ...     for n in range(60)
        ... ]
        >>> unknown = [
        ...     Record.of(f"Who is CEO of {n}?", direct=("Bob", 0), single=("Ada", 1))
        ...     for n in range(60)
        ... ]
        >>> calibration = calibrate(known + unknown, routers=["question"])
        >>> round(calibration.summary.promised.accuracy.mean, 1)
        1.0
    """
    aim = Aim(budget, cost_weight, retrieval_rate, stream)
    if isinstance(records, str | Path) or not all(isinstance(each, Record) for each in records):
        raise InputError("records are wanted: Records.read(path) reads a file of them")
    if len(records) < FEWEST:
        raise InputError(
            f"{len(records)} records are too few to judge a router by: collect {FEWEST} at least, "
            "better some hundred"
        )
    check_same_stamp([record.stamp for record in records], "the records")
    records = in_fixed_order(records)
    drawn_from = len(records)
    if drawn_from > COMPARED:
        places = np.sort(np.random.default_rng(0).permutation(drawn_from)[:COMPARED])
        records = [records[place] for place in places]
    price = price_of(prices, records[0].stamp.model) if prices else None
    table = ActionTable.of(
        records,
        actions=actions_of(records, actions),
        unit=cost,
        price=price,
        assumed_steps=assumed_steps,
    )
    training = Training(records, table, embedder and RememberingEmbedder(embedder))
    candidates = candidates_of(
        routers,
        table.actions,
        statements_of(records),
        searched=hold_searches(records),
        stream=stream,
        weight=cost_weight,
        price=price,
    )
    baseline = Baseline.of(table)
    problem = what_is_broken(
        table, [[record.outcomes[each].answer for each in table.actions] for record in records]
    )
    judged = judge_all(
        [] if problem else candidates, training, aim, baseline, anyway=anyway, told=on_progress
    )
    compared = {each.candidate.name: Figures.of(each.promised) for each in judged}
    best = choose(judged, aim, baseline, len(candidates) if anyway and not problem else None)
    pays = best is choose(judged, aim, baseline, None)
    found = _calibration(best, compared, training, aim, pays, by, problem, drawn_from)
    if reflector and not problem:
        if not isinstance(found.router, Policy):
            raise InputError(
                f"a reflector is a part of a policy, and what serves the aim best is "
                f"{best.candidate.name}: give routers=['ladder'] and anyway=True"
            )
        learnt = LearnedReflector.fit(records, embedder=training.embedder)
        learnt.embedder = embedder
        found.router.reflector = learnt
    return found


def judge_all(
    candidates: Sequence[Candidate],
    training: Training,
    aim: Aim,
    baseline: Baseline,
    *,
    anyway: bool = False,
    told: OnProgress | None = None,
) -> list[Judged]:
    """Judge candidates and, behind them, every action taken for all questions.

    Args:
        candidates: The candidates.
        training: The records.
        aim: What their rules are chosen for.
        baseline: The best constant policy on the records.
        anyway: Whether their most accurate rules are taken where none serves the aim.
        told: Told after each.

    Returns:
        Those that serve the aim, in their order.

    Raises:
        InputError: None does.
    """
    actions = training.table.actions
    some = [*candidates, *(OfConstant(f"always {action}", action) for action in actions)]
    judged: list[Judged] = []
    for done, candidate in enumerate(some, start=1):
        found = judge(candidate, training, aim, baseline, anyway=anyway)
        if found is not None:
            judged.append(found)
        if told is not None:
            told(done, len(some))
    if not judged:
        table = training.table
        raise InputError(
            f"no candidate keeps to the aim; the cheapest action costs "
            f"{table.costs.mean(axis=0).min():.3g} {table.unit} a question"
        )
    return judged


def judge(
    candidate: Candidate, training: Training, aim: Aim, baseline: Baseline, *, anyway: bool = False
) -> Judged | None:
    """Judge a candidate by what it would serve at the aim.

    Args:
        candidate: The candidate.
        training: The records.
        aim: What its rule is chosen for.
        baseline: The best constant policy on the records.
        anyway: Whether its most accurate rule is taken where none serves the aim.

    Returns:
        None where none of its rules serves the aim.
    """
    weights, rules = candidate.rules(training)
    if aim.weight is not None and isinstance(candidate, OfPolicy) and len(weights) > 1:
        # The weight is given, so that there is nothing to choose.
        place = int(np.searchsorted(weights, aim.weight))
        return Judged(candidate, weights, rules, place, rules[place])
    chosen = aim.choose(rules, baseline, anyway=anyway)
    if chosen is None:
        return None
    served: Served | None = rules[0]
    if len(rules) > 1:
        served = cross_fitted(aim, rules, baseline, training.groups, anyway=anyway)
    if served is None:
        return None
    found = Judged(candidate, weights, rules, chosen, served)
    if not anyway and not np.isfinite(aim.worth(found.promised, baseline)):
        return None  # what cross-fitting does not confirm is not recommended
    return found


def choose(judged: Sequence[Judged], aim: Aim, baseline: Baseline, first: int | None) -> Judged:
    """Return the candidate that serves the aim best; of equals the cheaper, then a constant one.

    Args:
        judged: The candidates, the constant policies last.
        aim: What is aimed at.
        baseline: The best constant policy.
        first: How many of the candidates to choose among, whether they pay or not; None chooses
            among all.
    """
    some = judged if first is None else judged[:first]

    def worth(each: Judged) -> tuple[float, float, bool]:
        served = each.promised
        return (
            aim.worth(served, baseline),
            -float(served.costs.mean()),
            isinstance(each.candidate, OfConstant),
        )

    return max(some, key=worth)


def _calibration(
    best: Judged,
    compared: Mapping[str, Figures],
    training: Training,
    aim: Aim,
    pays: bool,
    by: str,
    problem: str,
    drawn_from: int,
) -> Calibration:
    """Make the router, compare it with what was promised, and summarise."""
    table, candidate = training.table, best.candidate
    weight = float(best.weights[best.chosen])
    if isinstance(candidate, OfPolicy) and len(best.weights) > 1 and aim.weight is None:
        weight = middle_of_plateau(best.weights, best.rules, best.chosen)
    router: Any = candidate.router(training, weight)
    served = best.promised[np.arange(len(table))]
    groups: dict[str, Any] = {}
    losing: dict[str, Action] = {}
    if by:
        groups = _losing(served, training, aim, by)
        losing = {value: action for value, (_, action) in groups.items() if action is not None}
    notes = []
    if losing and not isinstance(router, Policy):
        served = best.promised
        groups = {value: (change, None) for value, (change, _) in groups.items()}
        notes.append(
            f"{', '.join(losing)} surely {'loses' if len(losing) == 1 else 'lose'} by it, which "
            f"{candidate.name} cannot help: routers=['ladder'] with anyway=True can."
        )
    elif losing:
        router = router.with_rules(by=by, groups=losing)
    if isinstance(router, Policy):
        asked = [record.question for record in training.records]
        router.expected = Expected.of(
            asked, router.words, table.actions, served.taken, served.chances
        )
    notes += _notes(best, training, router, served, drawn_from)
    if isinstance(getattr(router, "embedder", None), RememberingEmbedder):
        router.embedder = router.embedder.embedder
    samples = _samples(training) if problem else ()
    summary = Summary.of(
        candidate.name,
        served,
        table,
        streams=candidate.streams,
        problem=problem,
        notes=notes,
        samples=samples,
        groups=groups,
        constant=candidate.action if isinstance(candidate, OfConstant) else None,
        pays=pays,
    )
    curve = RoutingCurve.of(candidate.name, best.rules, table, served)
    return Calibration(router, summary, curve, compared)


def _losing(served: Served, training: Training, aim: Aim, by: str) -> dict[str, Any]:
    """Put a constant in the place of the router where a group surely loses by it.

    What is told of a group is judged by folds as everything else is; what is served of it rests on
    all of its records.
    """
    table = training.table
    values = values_of(training.records, by)
    before = served[np.arange(len(table))]
    found: dict[str, Any] = {}
    for value in np.unique(values):
        rows = np.flatnonzero(values == value)
        found[str(value)] = _loss(before, table, aim, rows)
        for fit, judge in folds(training.groups):
            told, here = np.intersect1d(rows, fit), np.intersect1d(rows, judge)
            _, action = _loss(before, table, aim, told)
            if action is not None and len(here):
                column = np.full(len(here), table.actions.index(action))
                served.put(here, Served.of(table[here], column))
    return found


def _loss(
    served: Served, table: ActionTable, aim: Aim, rows: Indices
) -> tuple[Interval, Action | None]:
    """Compare what is served of some records with their best constant that the budget allows."""
    costs = table.costs.mean(axis=0)
    allowed = [
        place for place in range(len(costs)) if aim.budget is None or costs[place] <= aim.budget
    ]
    if not len(rows):
        return Interval(0.0, 0.0, 0.0, 0), None
    part = table[rows]
    best = max(allowed or [0], key=lambda place: (part.scores[:, place].mean(), -costs[place]))
    change = bootstrap((served.scores[rows] - part.scores[:, best]).tolist())
    surely = len(rows) >= FEWEST_OF_GROUP and change.high < 0
    return change, table.actions[best] if surely else None


def _notes(
    best: Judged,
    training: Training,
    router: Any,
    served: Served,
    drawn_from: int,
) -> list[str]:
    table, notes = training.table, []
    if isinstance(router, Policy):
        on_record = best.candidate.replayed(router, training).retrieved.mean()
        if abs(on_record - served.retrieved.mean()) > DIFFERENT:
            notes.append(
                f"Of the records themselves, which it has seen, it retrieves for {on_record:.0%}; "
                f"of new questions {served.retrieved.mean():.0%} are promised."
            )
    if isinstance(best.candidate, OfPolicy) and best.candidate.looks != "question":
        notes.append(_streaming(best.candidate, training, served))
    if table.assumed_steps is not None:
        steps = table.assumed_steps
        notes.append(f"Loops that nobody counted are taken to retrieve {steps:g} times.")
    if drawn_from > len(table):
        notes.append(f"The {len(table)} records were drawn at random from {drawn_from}.")
    return notes


def _streaming(candidate: OfPolicy, training: Training, served: Served) -> str:
    """Say what an answer that streams costs in accuracy, or would cost."""
    _, outlook = training.stages(candidate.looks, candidate.serves)
    scores, rows = training.table.scores, np.arange(len(served))
    likeliest = scores[rows, outlook.served(served.taken, "likeliest")].mean()
    points = 100 * float(likeliest - scores[rows, served.taken].mean())
    if candidate.streams:
        return (
            "Answers stream because the last one asked for is served; the likeliest of those at "
            f"hand would be {points:+.1f} points, and stream nothing."
        )
    return (
        "An answer that may yet be replaced cannot stream; calibrated to stream (stream=True, or "
        "--stream of the command) the last one asked for is served, at "
        f"{-points:+.1f} points where the same is asked for."
    )


def _samples(training: Training) -> tuple[str, ...]:
    """Return a few questions with what was answered, what was right, and the scores."""
    seen = {question_key(record.question): record for record in training.records}
    shown = list(seen.values())[:SAMPLES]
    return tuple(
        f"{record.question[:80]!r}: {action} said {outcome.answer[:60]!r}, right is "
        f"{', '.join(record.gold)[:60]!r}, score {outcome.score:g}"
        for record in shown
        for action, outcome in [("direct", record.direct)]
    )
