"""Candidates: what calibration chooses among, each judged by what it would serve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from skr_core.budget import Price
from skr_core.errors import InputError
from skr_core.routers.constant import constant_router
from skr_core.types import Action
from skr_learn.aims import Floats, Indices, Served
from skr_learn.costs import ActionTable, cost_of_usage
from skr_learn.estimator import folds, side_by_side
from skr_learn.policy import Policy, Rules
from skr_learn.records import Record
from skr_learn.routers.base import shared_stamp
from skr_learn.routers.registry import ASKING, entry_of, make_asking_router
from skr_learn.stages import Looks, Outlook, Serves
from skr_learn.training import Training

if TYPE_CHECKING:
    from skr_core.ports import LanguageModel, Router

RULES = 200
"""Rules of a candidate that are compared, between two of which equally many decisions change."""
POLICIES: dict[str, Looks] = {
    "ladder": "answers",
    "question": "question",
    "confirm": "search",
    "arbiter": "nothing",
}
"""Policies of the one estimate, and what each looks at before it asks for the next answer."""
SCORED = ("benefit", "paper", "classifier", "encoder")
"""Names of routers that score the question by itself."""
CONSTANTS: dict[str, Action] = {"never": "direct", "always": "single", "loop": "loop"}
OWN_THRESHOLDS = {"paper": 0.0, "classifier": 0.5, "encoder": 0.5}
"""The thresholds of SKR's methods, which are theirs."""


class Candidate(Protocol):
    """What calibration judges."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def streams(self) -> bool:
        """Whether an answer can be streamed while it is made."""

    def rules(self, training: Training) -> tuple[Floats, list[Served]]:
        """Return ascending rules, shape (r,), and what each would serve of unseen records."""

    def router(self, training: Training, rule: float) -> Router:
        """Make the router that is served, fitted on all the records."""

    def replayed(self, router: Any, training: Training) -> Served:
        """Return what a router that `router` made serves of other records."""


@dataclass(frozen=True)
class OfPolicy:
    """A policy of the one estimate.

    Attributes:
        name: ``ladder``, ``question``, ``confirm`` or ``arbiter``.
        stream: Whether it serves the last answer asked for.
        weight: The weight of cost that is asked for; None where one is to be chosen.
    """

    name: str
    stream: bool = False
    weight: float | None = None

    @property
    def looks(self) -> Looks:
        """What it looks at before it asks for the next answer."""
        return POLICIES[self.name]

    @property
    def serves(self) -> Serves:
        """Which of the answers at hand it serves."""
        return "last" if self.stream or self.looks == "question" else "likeliest"

    @property
    def streams(self) -> bool:
        """Whether an answer can be streamed while it is made."""
        return self.serves == "last"

    def rules(self, training: Training) -> tuple[Floats, list[Served]]:
        """Return weights of cost, and what is served at each."""
        _, outlook = training.stages(self.looks, self.serves)
        table = training.table_of(self.looks)
        if self.looks == "nothing":
            ends = np.full(len(table), len(table.actions) - 1)
            return np.zeros(1), [self._served(table, outlook, ends)]
        weights = outlook.weights(RULES)
        if self.weight is not None:
            weights = np.unique(np.append(weights, self.weight))
        found = []
        for weight in weights:
            found.append(self._served(table, outlook, outlook.ends(float(weight))))
        return weights, found

    def router(self, training: Training, rule: float) -> Policy:
        """Make the policy, fitted on all the records."""
        stages, outlook = training.stages(self.looks, self.serves)
        rules = Rules(
            training.table.actions,
            tuple(outlook.costs.tolist()),
            self.looks,
            self.serves,
            rule,
            training.table.unit,
        )
        return Policy.of(rules, stages, **training.parts)

    def replayed(self, router: Policy, training: Training) -> Served:
        """Return what the policy serves of other records."""
        # What the policy was learnt from shows no more than what it looks at.
        same = router.stated == training.parts["stated"] and router.embedder is training.embedder
        views = training.views_of(self.looks) if same else None
        outlook = router.outlook(training.records, views)
        ends, answers = router.taken(training.records, outlook)
        chances = outlook.served_chances(ends, answers)
        return Served.of(training.table_of(self.looks), ends, answers, chances)

    def _served(self, table: ActionTable, outlook: Outlook, ends: Indices) -> Served:
        answers = outlook.served(ends, self.serves)
        return Served.of(table, ends, answers, outlook.served_chances(ends, answers))


@dataclass(frozen=True)
class OfScores:
    """A router that scores the question by itself: SKR's, and the neighbours' mean benefit."""

    name: str
    streams: bool = True

    def rules(self, training: Training) -> tuple[Floats, list[Served]]:
        """Return thresholds, and what is served at each; the paper's methods have their own."""
        questions = [record.question for record in training.records]
        training.remembering.embed(questions)  # at once, not fold by fold

        def judged(fit: Indices, judge: Indices) -> Floats:
            if not len(fit):
                return np.zeros(len(judge))
            router = self._fitted([training.records[row] for row in fit], training)
            scored: Floats = router.scores([questions[row] for row in judge])
            return scored

        scores, parts = np.zeros(len(questions)), list(folds(training.groups))
        found = side_by_side([partial(judged, *part) for part in parts])
        for (_, judge), each in zip(parts, found, strict=True):
            scores[judge] = each
        own = OWN_THRESHOLDS.get(self.name)
        edges = np.unique(scores)
        thresholds = np.array([own]) if own is not None else (edges[1:] + edges[:-1]) / 2
        if not len(thresholds):  # all are alike
            thresholds = edges
        if len(thresholds) > RULES:
            places = np.linspace(0, len(thresholds) - 1, RULES).round().astype(int)
            thresholds = thresholds[places]
        column = training.table.retrieving
        return thresholds, [
            Served.of(training.table, np.where(scores > each, column, 0)) for each in thresholds
        ]

    def router(self, training: Training, rule: float) -> Any:
        """Fit the router on all the records."""
        return self._fitted(training.records, training).with_threshold(rule)

    def replayed(self, router: Any, training: Training) -> Served:
        """Return what the router serves of other records."""
        scores = router.scores([record.question for record in training.records])
        column = training.table.actions.index(router.action)
        return Served.of(training.table, np.where(scores > router.threshold, column, 0))

    def _fitted(self, records: Sequence[Record], training: Training) -> Any:
        made = entry_of(self.name).load_class()
        if self.name == "encoder":
            return made.fit(records)
        given = {"rule": self.name} if self.name in ("benefit", "paper") else {}
        return made.fit(records, embedder=training.remembering, **given)


@dataclass(frozen=True)
class OfStatements:
    """A router that asked the model while the records were made: its decisions are on record."""

    name: str
    price: Price | None = None
    streams: bool = True

    def rules(self, training: Training) -> tuple[Floats, list[Served]]:
        """Return the one rule, which is the router's own."""
        return np.zeros(1), [self.replayed(None, training)]

    def router(self, training: Training, rule: float) -> Any:
        """Make the router, which learns nothing; it decides once it is loaded with its model."""
        model: LanguageModel = _NamedModel(shared_stamp(training.records).model)
        router = make_asking_router(self.name, model, training.records)
        table = training.table
        router.max_rounds = 1 if table.actions[table.retrieving] == "single" else None
        return router

    def replayed(self, router: Any, training: Training) -> Served:
        """Return what its decisions on record serve, where its own drafts are served too."""
        table, said = training.table, [each.statements[self.name] for each in training.records]
        asked = np.array([cost_of_usage(each.usage, table.unit, self.price) for each in said])
        calls = np.array([float(each.usage.calls) for each in said])
        drafted = np.array([each.draft_score is not None for each in said], dtype=bool)
        scores, costs = table.scores.copy(), table.costs + asked[:, None]
        called = table.calls + calls[:, None]
        scores[drafted, 0] = [each.draft_score for each in said if each.draft_score is not None]
        costs[drafted, 0], called[drafted, 0] = asked[drafted], calls[drafted]
        decided = np.array([each.retrieve for each in said], dtype=bool)
        taken = np.where(decided, table.retrieving, 0)
        return Served.of(replace(table, scores=scores, costs=costs, calls=called), taken)


@dataclass(frozen=True)
class OfConstant:
    """One action for every question."""

    name: str
    action: Action
    streams: bool = True

    def rules(self, training: Training) -> tuple[Floats, list[Served]]:
        """Return the one rule."""
        return np.zeros(1), [self.replayed(None, training)]

    def router(self, training: Training, rule: float) -> Router:
        """Make the router."""
        return constant_router(self.action)

    def replayed(self, router: Any, training: Training) -> Served:
        """Return what the action serves."""
        column = training.table.actions.index(self.action)
        return Served.of(training.table, np.full(len(training.records), column))


def candidates_of(
    names: Sequence[str] | None,
    actions: Sequence[Action],
    statements: Sequence[str] = (),
    *,
    searched: bool = False,
    stream: bool = False,
    weight: float | None = None,
    price: Price | None = None,
) -> list[Candidate]:
    """Make the candidates of these names.

    Args:
        names: Their names; by default the policies, the routers that learn from questions alone
            but the encoder, and those that the records hold statements of.
        actions: The actions that are chosen among.
        statements: The names of the routers whose statements every record holds.
        searched: Whether the records hold what a search found, beside the direct answers.
        stream: Whether the last answer asked for is served.
        weight: The weight of cost that is asked for; None where one is to be chosen.
        price: The price of the model's tokens.

    Raises:
        InputError: There is no such candidate, or the records do not hold what it looks at.

    Example:
        >>> [each.name for each in candidates_of(["paper", "always"], ("direct", "single"))]
        ['paper', 'always']
    """
    usual = [*POLICIES, *SCORED[:3], *statements]
    if stream:
        usual.remove("arbiter")
    if not searched:
        usual.remove("confirm")
    made: list[Candidate] = []
    for name in dict.fromkeys(names or usual):
        action = CONSTANTS.get(name)
        if action is not None:
            made.append(OfConstant(name, action if action in actions else actions[-1]))
        elif name in POLICIES:
            if stream and name == "arbiter":
                raise InputError("an arbiter cannot stream: it serves an answer asked for before")
            if name == "confirm" and not searched:
                raise InputError(
                    "confirm looks at how the direct answers stand in what a search found, which "
                    "these records do not hold: collect them anew"
                )
            made.append(OfPolicy(name, stream, weight))
        elif name in statements:
            made.append(OfStatements(name, price))
        elif entry_of(name).name in ASKING:
            raise InputError(
                f"not every record holds a statement of {name!r}, which is asked for while "
                f"records are collected; they hold {', '.join(statements) or 'none'}"
            )
        else:
            made.append(OfScores(name))
    return made


def statements_of(records: Sequence[Record]) -> tuple[str, ...]:
    """Return the names of the statements that every record holds, in alphabetical order.

    Example:
        >>> statements_of([Record.of("Who?", direct=("", 0), single=("", 0))])
        ()
    """
    held = [set(record.statements) for record in records]
    return tuple(sorted(set.intersection(*held))) if held else ()


def hold_searches(records: Sequence[Record]) -> bool:
    """Return whether records tell how direct answers stand in what a search found.

    An empty answer stands nowhere.
    """
    answers = [record.direct.candidate for record in records]
    return all(each.confirmation is not None or not each.text for each in answers) and any(
        each.confirmation is not None for each in answers
    )


class _NamedModel:
    """Stands for the model of the records, so that a router that asks it can be saved."""

    def __init__(self, name: str) -> None:
        self.name = name

    def generate(self, prompt: Any, *, on_token: Any = None) -> Any:
        raise InputError(f"this router asks the model {self.name!r}: load it with model=")

    async def agenerate(self, prompt: Any, *, on_token: Any = None) -> Any:
        return self.generate(prompt)
