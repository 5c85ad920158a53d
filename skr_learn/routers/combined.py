"""CombinedRouter: what each action is worth and costs, learnt from every signal at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from skr_core.models.embedders import HashingEmbedder
from skr_core.ports import Embedder, LanguageModel
from skr_core.types import Action, Neighbour
from skr_learn.learning.likelihood import learn_kernel
from skr_learn.learning.novelty import Novelty
from skr_learn.learning.outcomes import ActionTable
from skr_learn.learning.pricing import LIMIT_PRICE
from skr_learn.learning.regression import (
    Ridge,
    fit_ridge,
    grown,
    held_out,
    is_exact,
    ridge_of,
)
from skr_learn.learning.rows import Floats
from skr_learn.learning.rule import Expected, parity_rule
from skr_learn.learning.signals import Signals, Training
from skr_learn.routers.fitted import FittedRouter, pack_texts, unpack_texts
from skr_learn.routers.knn import cosines, neighbour
from skr_learn.self_knowledge.records import SelfKnowledge

EVIDENCE = 5
"""Nearest records that a decision names."""
_ROUNDS: dict[Action, str] = {"single": "one round of retrieval", "loop": "retrieval"}


class CombinedRouter(FittedRouter):
    """Expects the score and the cost of each action, and takes the best one at a price.

    A Gaussian process on the recorded scores and costs: records count by how similar they are in
    what is asked, in what is answered, in the form of both and in the stated confidence. How much
    each of these counts is learnt from the records too. All records count, also those that no
    answer got right, because they show where retrieval is in vain. Make one with `fit`.

    A question that is unlike all records is treated as the average one: see
    `skr_learn.learning.novelty`.

    With drafts it asks the model for its direct answer first, one call, which is in the decision's
    usage; without, it looks at the question alone.

    Example:
        >>> known = [
        ...     SelfKnowledge.of(f"What is {n} plus 1?", direct=("", 1), single=("", 0))
        ...     for n in range(9)
        ... ]
        >>> unknown = [
        ...     SelfKnowledge.of(f"Who is CEO of {x}?", direct=("", 0), single=("", 1))
        ...     for x in "ABCDE"
        ... ]
        >>> router = CombinedRouter.fit(known + unknown, drafts=False, price=0.0)
        >>> router.decide("Who is CEO of F?").retrieve, router.decide("What is 9 plus 1?").retrieve
        (True, False)
    """

    kind: ClassVar[str] = "combined"

    def __init__(
        self,
        ridge: Ridge,
        questions: NDArray[np.object_],
        cost_range: Floats,
        **parts: Any,
    ) -> None:
        super().__init__(**parts)
        self._ridge, self._questions, self._cost_range = ridge, questions, cost_range
        self._novelty = Novelty.fit(ridge.kernel, ridge.signals)

    @classmethod
    def fit(
        cls,
        records: Sequence[SelfKnowledge],
        *,
        embedder: Embedder | None = None,
        model: LanguageModel | None = None,
        drafts: bool = True,
        price: float | None = None,
    ) -> Self:
        """Learn from records.

        Args:
            records: Of self-knowledge.
            embedder: For questions and answers; a `HashingEmbedder` by default.
            model: The one the records are about; needed to decide with drafts.
            drafts: Look at the model's direct answer too.
            price: Accuracy that a unit of cost is worth. By default it is chosen on leave-one-out
                expectations as `skr_learn.calibrate` chooses it, and decides alone where these do
                not tell one question from another.

        Raises:
            InputError: There is no record.
        """
        embedder = embedder or HashingEmbedder()
        training = Training.of(records, embedder, drafts=drafts)
        router = cls.of_training(training, embedder, drafts=drafts)
        router.use_model(model)
        if price is None:
            rule = parity_rule(router.held_out(training))
            always = rule.constant not in (None, "direct")
            price = -LIMIT_PRICE if always else rule.price
            price = LIMIT_PRICE if rule.constant == "direct" else price
        router.price = price
        return router

    @classmethod
    def of_training(cls, training: Training, embedder: Embedder, *, drafts: bool = True) -> Self:
        """The same as `fit`, when the records have been embedded already; its price is 0."""
        if not drafts:
            training = training.without_drafts
        table = _paid(training.table, drafts)
        kernel = learn_kernel(training.signals, table.scores)
        targets = np.hstack([table.scores, table.costs])
        ridge, kept = fit_ridge(training.signals, targets, kernel)
        return cls(
            ridge,
            training.questions[kept],
            np.stack([table.costs.min(axis=0), table.costs.max(axis=0)]),
            embedder=embedder,
            stamp=training.stamp,
            actions=table.actions,
            price=0.0,
            unit=table.unit,
            drafts=drafts,
        )

    def expected(self, signals: Signals) -> tuple[Floats, Floats]:
        """Expect what each action is worth and costs, the direct answer before it included."""
        if not self.drafts:
            signals = signals.without_drafts
        return self._split(self._averaged(self._ridge.predict(signals), signals))

    def held_out(self, training: Training) -> Expected:
        """What was expected of each record it was fitted on without that record."""
        signals = training.signals if self.drafts else training.signals.without_drafts
        table = _paid(training.table, self.drafts)
        targets = np.hstack([table.scores, table.costs])
        predicted = held_out(self._ridge, signals, targets, training.groups)
        return Expected(*self._split(self._averaged(predicted, signals)), table, training.table)

    def expected_of(self, training: Training) -> Expected:
        """What it expects of other records."""
        table = _paid(training.table, self.drafts)
        return Expected(*self.expected(training.signals), table, training.table)

    def _averaged(self, predicted: Floats, signals: Signals) -> Floats:
        """With the average of all records where a question is unlike each of them."""
        novel = self._novelty.novel(signals)[:, None]
        return np.where(novel, self._ridge.mean, predicted)

    def _split(self, predicted: Floats) -> tuple[Floats, Floats]:
        scores, costs = np.hsplit(predicted, 2)
        # An expectation may leave the range of what was measured: no loop takes half a round.
        return scores, np.clip(costs, *self._cost_range)

    def _reason(self, signals: Signals, score: float, threshold: float, action: Action) -> str:
        looked_at = "question and direct answer" if self.drafts else "question"
        if self._novelty.novel(signals)[0]:
            looked_at = "average of all records, for it is unlike each of them"
        return (
            f"judging by the {looked_at}, {_ROUNDS[action]} changes accuracy by {score:+.3f}, "
            f"and its cost is worth {threshold:+.3f}"
        )

    def _neighbours(self, signals: Signals) -> tuple[Neighbour, ...]:
        similarity = cosines(signals.question, self._ridge.signals.question)[0]
        scores = self._ridge.targets[:, : len(self.actions)]
        benefit = scores[:, 1 + int(np.argmax(scores[:, 1:].mean(axis=0)))] - scores[:, 0]
        nearest = np.argsort(-similarity, kind="stable")[:EVIDENCE]
        return tuple(neighbour(self._questions[i], similarity[i], benefit[i]) for i in nearest)

    def _learn(self, training: Training) -> None:
        signals = training.signals
        # What was not measured is taken to be as it is expected, which changes no expectation.
        targets = self._ridge.predict(signals)
        table = _paid(training.table, self.drafts)
        measured = np.hstack([table.scores, table.costs])
        targets = np.where(np.isnan(measured), targets, measured)
        self._ridge, kept = grown(self._ridge, signals, targets)
        self._questions = np.concatenate([self._questions, training.questions])[kept]
        self._novelty = Novelty.fit(self._ridge.kernel, self._ridge.signals)

    def _saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        arrays = self._ridge.arrays() | {"questions": pack_texts(self._questions)}
        arrays |= {"cost_range": self._cost_range}
        return {"drafts": self.drafts, "exact": is_exact(self._ridge)}, arrays

    @classmethod
    def _restored(
        cls, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], **parts: Any
    ) -> Self:
        return cls(
            ridge_of(arrays, exact=parameters["exact"]),
            unpack_texts(arrays["questions"]),
            arrays["cost_range"],
            drafts=parameters["drafts"],
            **parts,
        )


def _paid(table: ActionTable, drafts: bool) -> ActionTable:
    return table.after_draft() if drafts else table
