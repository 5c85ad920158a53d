"""The routers that calibration chooses among and replay compares, by their names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from skr_core.budget import Price
from skr_core.errors import InputError
from skr_core.types import Action
from skr_learn.learning.folds import Indices, folds
from skr_learn.learning.outcomes import cost_of_usage
from skr_learn.learning.rule import Expected
from skr_learn.learning.signals import Training
from skr_learn.learning.threads import side_by_side
from skr_learn.routers.classifier import ClassifierRouter
from skr_learn.routers.combined import CombinedRouter
from skr_learn.routers.fitted import FittedRouter, scored
from skr_learn.routers.knn import KNNRouter
from skr_learn.routers.registry import ASKING, FITTED, entry_of, make_asking_router, titles

if TYPE_CHECKING:
    from skr_core.ports import Embedder, LanguageModel
    from skr_core.routers.model_routers import ModelRouter
    from skr_learn.routers.encoder import EncoderRouter

Result = TypeVar("Result")


class Candidate(ABC):
    """A router that calibration may choose.

    Attributes:
        name: As commands know it.
        drafts: Whether the records' direct answers are looked at.
        own_rule: Whether its decision is part of the method, rather than to be calibrated.
        own_price: By which it then decides.
        heavy: Whether fitting it takes gigabytes and all processors, so that it is fitted in one
            fold after the other.
    """

    name: str
    drafts: bool = False
    own_rule: bool = False
    own_price: float = 0.0
    heavy: bool = False

    @abstractmethod
    def fit(self, training: Training, embedder: Embedder) -> Any:
        """Fit the router on records."""

    @abstractmethod
    def expected(self, router: Any, training: Training) -> Expected:
        """What a fitted router expects of other records."""

    def held_out(self, training: Training, embedder: Embedder, router: Any) -> Expected:
        """What is expected of records by routers that were not fitted on them."""
        training = training.of_actions(self.actions(training))
        scores, costs = np.zeros_like(training.table.scores), np.zeros_like(training.table.costs)

        def judged(fit: Indices, judge: Indices) -> Expected:
            return self.expected(self.fit(training[fit], embedder), training[judge])

        for (_, judge), found in self.in_folds(judged, training):
            scores[judge], costs[judge] = found.scores, found.costs
        return Expected(scores, costs, training.table, training.table)

    def actions(self, training: Training) -> tuple[Action, ...]:
        """Which it chooses among: the direct answer and the best retrieving action of records."""
        return training.table.pair.actions

    def in_folds(
        self, work: Callable[[Indices, Indices], Result], training: Training
    ) -> Iterator[tuple[tuple[Indices, Indices], Result]]:
        """What a work makes of each split of the records; the splits side by side."""
        splits = list(folds(training.groups))
        works = [partial(work, *split) for split in splits]
        done = (each() for each in works) if self.heavy else side_by_side(works)
        yield from zip(splits, done, strict=True)

    def price(self, router: Any, price: float) -> None:
        """Let the router decide at a price."""
        router.price = price


@dataclass
class Combined(Candidate):
    """The regression on all signals, whose leave-one-out expectations are exact."""

    name: str
    drafts: bool

    def fit(self, training: Training, embedder: Embedder) -> CombinedRouter:
        """Fit the router on records."""
        return CombinedRouter.of_training(training, embedder, drafts=self.drafts)

    def actions(self, training: Training) -> tuple[Action, ...]:
        """Which it chooses among: all of them."""
        return training.table.actions

    def expected(self, router: CombinedRouter, training: Training) -> Expected:
        """What a fitted router expects of other records."""
        return router.expected_of(training)

    def held_out(self, training: Training, embedder: Embedder, router: CombinedRouter) -> Expected:
        """What is expected of records by routers that were not fitted on them."""
        return router.held_out(training)


@dataclass
class Scored(Candidate):
    """A router with one score for retrieval: nearest neighbours or the classification head."""

    name: str

    def __post_init__(self) -> None:
        self.own_rule = self.name != "benefit"  # the thresholds of the paper's methods are theirs
        self.own_price = 0.5 if self.name == "classifier" else 0.0

    def fit(self, training: Training, embedder: Embedder) -> FittedRouter:
        """Fit the router on records."""
        if self.name == "classifier":
            return ClassifierRouter.of_training(training, embedder)
        rule: Any = self.name
        return KNNRouter.of_training(training, embedder, rule=rule)

    def expected(self, router: FittedRouter, training: Training) -> Expected:
        """What a fitted router expects of other records."""
        table = training.table.pair
        return Expected(*router.expected(training.signals), table, table)


@dataclass
class Encoder(Candidate):
    """The fine-tuned encoder: fitted once for each fold, which takes minutes."""

    name: str = "encoder"
    own_rule: bool = True
    own_price: float = 0.5
    heavy: bool = True

    def fit(self, training: Training, embedder: Embedder) -> EncoderRouter:
        """Fit the router on records."""
        from skr_learn.routers.encoder import EncoderRouter

        return EncoderRouter.fit(training.records.tolist())

    def expected(self, router: EncoderRouter, training: Training) -> Expected:
        """What a fitted router expects of other records."""
        table = training.table.pair
        return Expected(*scored(router.predict(training.questions.tolist())), table, table)

    def price(self, router: EncoderRouter, price: float) -> None:
        """Let the router decide at a threshold."""
        router.threshold = price


@dataclass
class Stated(Candidate):
    """A router that asked the model while the records were made: its decisions are on record.

    Attributes:
        token_price: Of the model's tokens, where cost is counted in US dollars.
    """

    name: str
    own_rule: bool = True
    token_price: Price | None = None

    def fit(self, training: Training, embedder: Embedder) -> ModelRouter:
        """Make the router, which learns nothing; it decides once it is given its model."""
        model: LanguageModel = _NamedModel(training.stamp.model)
        router = make_asking_router(self.name, model, training.records.tolist())
        pair = training.table.pair.actions
        router.max_rounds = 1 if pair[1] == "single" else None
        return router

    def expected(self, router: ModelRouter, training: Training) -> Expected:
        """Its decisions as scores of 1 and -1, and what its drafts were worth."""
        said = [record.statements[self.name] for record in training.records]
        constants, unit = training.table.pair, training.table.unit
        asked = np.array([cost_of_usage(each.usage, unit, self.token_price) for each in said])
        drafted = np.array([each.draft_score is not None for each in said])
        scores, costs = constants.scores.copy(), constants.costs + asked[:, None]
        scores[drafted, 0] = [each.draft_score for each in said if each.draft_score is not None]
        costs[drafted, 0] = asked[drafted]  # the draft is served, so nothing more is asked
        table = replace(constants, scores=scores, costs=costs)
        decided = np.array([1.0 if each.retrieve else -1.0 for each in said])
        return Expected(*scored(decided), table, constants)

    def held_out(self, training: Training, embedder: Embedder, router: ModelRouter) -> Expected:
        """Nothing was fitted, so everything is held out."""
        return self.expected(router, training)

    def price(self, router: ModelRouter, price: float) -> None:
        """Its decisions are its own."""


class _NamedModel:
    """Stands for the model of the records, so that a router that asks it can be saved."""

    def __init__(self, name: str) -> None:
        self.name = name

    def generate(self, prompt: Any, *, on_token: Any = None) -> Any:
        raise InputError(f"this router asks the model {self.name!r}: load it with model=")

    async def agenerate(self, prompt: Any, *, on_token: Any = None) -> Any:
        return self.generate(prompt)


def candidates_of(
    names: Sequence[str] | None,
    statements: Sequence[str] = (),
    token_price: Price | None = None,
) -> list[Candidate]:
    """The candidates of these names, in their order.

    Args:
        names: By default those that learn from outcomes, and those that the records hold
            statements of.
        statements: Names of the routers whose statements every record holds.
        token_price: Of the model's tokens.

    Raises:
        InputError: There is no such candidate, or it has no statements on record.

    Example:
        >>> [candidate.name for candidate in candidates_of(["benefit"])]
        ['benefit']
    """
    made: list[Candidate] = []
    for name in dict.fromkeys(names or (*FITTED, *statements)):
        entry = entry_of(name)
        if name in statements:
            made.append(Stated(name, token_price=token_price))
        elif entry.name in ASKING:
            raise InputError(
                f"not every record holds a statement of {name!r}, which is asked for while "
                f"records are collected; they hold {', '.join(statements) or 'none'}"
            )
        elif entry.kind == "combined":
            made.append(Combined(name, drafts=name == "combined"))
        elif name == "encoder":
            made.append(Encoder())
        elif name in FITTED:
            made.append(Scored(name))
        else:
            raise InputError(f"no router {name!r}: give some of {titles()}")
    return made


def statements_of(records: Sequence[Any]) -> tuple[str, ...]:
    """Names of the statements that every record holds, in alphabetical order.

    Example:
        >>> from skr_learn.self_knowledge.records import SelfKnowledge
        >>> statements_of([SelfKnowledge.of("Who?", direct=("", 0), single=("", 0))])
        ()
    """
    held = [set(record.statements) for record in records]
    return tuple(sorted(set.intersection(*held))) if held else ()
