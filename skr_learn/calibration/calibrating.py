"""calibrate: from records of self-knowledge to the router that serves them best, or to none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from numpy.typing import NDArray

from skr_core.budget import Price, price_of
from skr_core.errors import InputError
from skr_core.files import encodable_json, replace_file
from skr_core.models.embedders import HashingEmbedder
from skr_core.plain import to_plain
from skr_core.ports import OnProgress
from skr_core.routers.saving import remove_arbiter
from skr_core.types import Action
from skr_learn.arbiters.views import Measured
from skr_learn.calibration.arbitration import Arbitration, arbitrate
from skr_learn.calibration.candidates import candidates_of, statements_of
from skr_learn.calibration.choice import Choice, choose
from skr_learn.calibration.climbing import Alone, Climbing, climb_records
from skr_learn.calibration.curve import Policy, RoutingCurve, best_constant
from skr_learn.calibration.guidance import Guidance
from skr_learn.calibration.intervals import interval
from skr_learn.calibration.kinds import weakest_kind
from skr_learn.learning.folds import FOLDS, Indices
from skr_learn.learning.outcomes import ASSUMED_STEPS, ActionTable, CostUnit, actions_of
from skr_learn.learning.pricing import best_actions
from skr_learn.learning.rule import Aim, Expected, Rule
from skr_learn.learning.signals import Training
from skr_learn.routers.fitted import FittedRouter
from skr_learn.self_knowledge.order import in_fixed_order
from skr_learn.self_knowledge.records import SelfKnowledge, check_same_stamp

if TYPE_CHECKING:
    from skr_core.ports import Embedder, LanguageModel
    from skr_learn.arbiters.arbiter import Arbiter

COMPARED = 10_000
"""Records on which routers are compared: their differences are then known to a few thousandths. The
chosen one is fitted on all."""
FEWEST = 10
"""Below that, each fold judges a question or two."""


@dataclass(frozen=True)
class Calibration:
    """What calibration found.

    Attributes:
        router: The one to use; `AlwaysRetrieve` or `NeverRetrieve` where routing does not pay.
        curve: Why.
        arbiter: Which of several answers to serve; None where it does not pay, and beside a ladder,
            which is one.
        arbitration: Why; None where it was not asked for, or the records are too few to tell.
        climbing: What a ladder is worth beyond both, which is the router where that pays; None as
            above, and where the records hold no loop beside the first round.
    """

    router: Any
    curve: RoutingCurve
    arbiter: Arbiter | None = None
    arbitration: Arbitration | None = None
    climbing: Climbing | None = None

    def save(self, path: str | Path) -> None:
        """Write the router to a folder, why as ``curve.json``, and the arbiter where it pays."""
        self.router.save(path)
        row = encodable_json({"sentence": self.curve.sentence, **to_plain(self.curve)})
        replace_file(Path(path) / "curve.json", orjson.dumps(row, option=orjson.OPT_INDENT_2))
        if self.arbiter is None:
            remove_arbiter(path)  # that of an earlier calibration
        else:
            self.arbiter.save(path)


def calibrate(
    records: Sequence[SelfKnowledge],
    *,
    model: LanguageModel | None = None,
    embedder: Embedder | None = None,
    routers: Sequence[str] | None = None,
    actions: Sequence[Action] | None = None,
    cost: CostUnit | None = None,
    prices: Mapping[str, Price] | None = None,
    retrieval_rate: float | None = None,
    price: float | None = None,
    budget: float | None = None,
    arbiter: bool = True,
    assumed_steps: float = ASSUMED_STEPS,
    on_progress: OnProgress | None = None,
) -> Calibration:
    """Choose a router and its price on records, and say what it is worth.

    A router takes the action of highest expected accuracy less price times expected cost. No record
    is judged by a router that was fitted on its question. By default the price saves as much cost
    as costs at most half a point of accuracy, with caution; where no router can be trusted with
    that, the better constant policy is recommended.

    Of more than 10,000 records as many are drawn at random: routers are compared on these, an
    arbiter and a ladder learn from them, and the router that is chosen is fitted on all.

    Args:
        records: Made with one model, one retriever and one metric, in any order.
        model: The one the records are about, for a router that asks it.
        embedder: For questions and answers; a `HashingEmbedder` by default.
        routers: Which to choose among, by the names of `skr_learn.routers.registry`; by default
            those that learn from outcomes, and those that the records hold statements of.
        actions: Which to choose among: ``direct`` and ``single``, ``loop`` or both; by default
            those that every record holds.
        cost: What cost is counted in: ``retrievals``, ``calls``, ``tokens`` or ``usd``; by default
            tokens where every outcome has its usage, else retrievals.
        prices: Of models' tokens, for ``usd``; see `skr_core.budget.read_prices`.
        retrieval_rate: Choose for the best accuracy at this share of questions instead.
        price: Choose for the best accuracy less this much for each unit of cost instead: for each
            retrieval, call, thousand tokens or dollar.
        budget: Choose for the best accuracy at this mean cost a question instead.
        arbiter: Look whether an arbiter pays beside what is chosen, which serves of a question's
            answers the one that is likeliest to be right; and where the records hold direct, single
            and loop, whether a ladder is worth more than both.
        assumed_steps: Retrievals of a loop that nobody counted.
        on_progress: Told after each step.

    Raises:
        InputError: There are too few records, or something else, or the options contradict one
            another.
        StampMismatch: The records were made with different things.

    Example:
        >>> known = [
        ...     SelfKnowledge.of(f"What is {n} plus 1?", direct=("", 1), single=("", 0))
        ...     for n in range(20)
        ... ]
        >>> unknown = [
        ...     SelfKnowledge.of(f"Who is CEO of {n}?", direct=("", 0), single=("", 1))
        ...     for n in range(20)
        ... ]
        >>> calibration = calibrate(known + unknown, routers=["benefit"])
        >>> calibration.curve.recommended, round(calibration.curve.chosen.mean, 2)
        ('router', 1.0)
    """
    if isinstance(records, str | Path) or not all(
        isinstance(each, SelfKnowledge) for each in records
    ):
        raise InputError("a list of SelfKnowledge is wanted: read_self_knowledge(path) reads one")
    aim = Aim(retrieval_rate, price, budget)
    token_price = price_of(prices, records[0].stamp.model) if prices and records else None
    candidates = candidates_of(routers, statements_of(records), token_price)
    if len(records) < FEWEST:
        raise InputError(
            f"{len(records)} records are too few to judge a router by: collect {FEWEST} at least, "
            "better some hundred"
        )
    check_same_stamp([record.stamp for record in records], "the records")
    records = in_fixed_order(records)
    table = ActionTable.of(
        records,
        actions=actions_of(records, actions),
        unit=cost,
        price=token_price,
        assumed_steps=assumed_steps,
    )
    embedder = embedder or HashingEmbedder()
    done, steps = 0, 1 + len(candidates) + FOLDS + 1 + 2 * arbiter

    def advance() -> None:
        nonlocal done
        done += 1
        if on_progress is not None:
            on_progress(done, steps)

    chosen = np.sort(np.random.default_rng(0).permutation(len(records))[:COMPARED])
    drafts = any(candidate.drafts for candidate in candidates)
    some = Training.of(
        [records[place] for place in chosen], embedder, drafts=drafts, table=table[chosen]
    )
    advance()
    with some.signals.compared_once():
        choice = choose(some, embedder, candidates, aim=aim, on_step=advance)
        expected, taken = cross_fitted(choice, some, embedder, aim, advance)
    router = choice.router
    recommended: Policy = choice.rule.constant or "router"
    if recommended == "router":
        if len(some) < len(records):
            router = fitted_on_all(choice, records, table, some, embedder)
        if isinstance(router, FittedRouter):
            router.use_model(model)
        elif model is not None and hasattr(router, "_model"):
            router._model = model
    routed = np.array([table.actions.index(each) for each in expected.table.actions])[taken]
    fitted = arbitration = climbing = None
    if arbiter:
        alone, learnt = Alone.by(choice, expected, taken, some.table), None
        shown = Measured.of(some.records.tolist(), table.actions, embedder)
        if weighed := arbitrate(some, shown, embedder, alone.taken):
            weighing, arbitration, held_out = weighed
            if not weighing.needs_likelihoods:  # a ladder sees none
                learnt = weighing.estimate, held_out.chances
            if arbitration.pays:
                scores = held_out.served_after(alone.taken)
                fitted, alone = weighing, alone.with_arbiter(scores, some.table.costs[:, 0])
        advance()
        if climbed := climb_records(some, shown, embedder, alone, aim, learnt):
            ladder, climbing = climbed
            if climbing.pays:
                ladder.use_model(model)
                router, fitted = ladder, None
    while done < steps:
        advance()
    lost = expected.table.scores[np.arange(len(some)), taken]
    change = lost - some.table.scores[:, best_constant(some.table)]
    retrieved = choice.retrieved | {choice.candidate.name: routed > 0}
    guidance = {name: Guidance.of(some.table.scores, each) for name, each in retrieved.items()}
    curve = RoutingCurve.of(
        expected,
        taken,
        some.table,
        router=choice.candidate.name,
        recommended=recommended,
        compared={name: interval(worth) for name, worth in choice.worth.items()},
        guidance=guidance,
        own_calls=bool((expected.table.costs != expected.constants.costs).any()),
        weakest=weakest_kind(some, change) if recommended == "router" else None,
        drawn_from=len(records) if len(some) < len(records) else None,
    )
    return Calibration(router, curve, fitted, arbitration, climbing)


def cross_fitted(
    choice: Choice,
    training: Training,
    embedder: Embedder,
    aim: Aim,
    on_step: Callable[[], None] = lambda: None,
) -> tuple[Expected, NDArray[np.int64]]:
    """What routers that were not fitted on each record expected of it, and the action they took.

    Price and constant are chosen anew on the records of each fold.
    """
    candidate, n = choice.candidate, len(training)
    whole = candidate.expected(choice.fitted, training)
    training = training.of_actions(whole.table.actions)  # the best of each fold may be another
    scores, costs = np.zeros_like(whole.scores), np.zeros_like(whole.costs)
    taken = np.zeros(n, dtype=np.int64)

    def judged(fit: Indices, judge: Indices) -> tuple[Expected, Rule]:
        router = candidate.fit(training[fit], embedder)
        rule = aim.rule(candidate.held_out(training[fit], embedder, router))
        return candidate.expected(router, training[judge]), rule

    for (_, judge), (found, rule) in candidate.in_folds(judged, training):
        if rule.constant is None:
            taken[judge] = best_actions(found.scores, found.costs, rule.price)
        else:
            taken[judge] = whole.table.actions.index(rule.constant)
        # Folds differ in their mean benefit by chance.
        scores[judge] = found.scores - found.scores.mean(axis=0) + whole.scores.mean(axis=0)
        costs[judge] = found.costs
        on_step()
    return replace(whole, scores=scores, costs=costs), taken


def fitted_on_all(
    choice: Choice,
    records: Sequence[SelfKnowledge],
    table: ActionTable,
    compared: Training,
    embedder: Embedder,
) -> Any:
    """The chosen router at its price, fitted on all records.

    Args:
        choice: Made on some of them.
        records: All.
        table: What their actions were worth and cost.
        compared: The records that it was made on.
        embedder: For questions and answers.
    """
    candidate = choice.candidate
    training = Training.of(records, embedder, drafts=candidate.drafts, table=table)
    router = candidate.fit(training.of_actions(candidate.actions(compared)), embedder)
    candidate.price(router, choice.rule.price)
    return router
