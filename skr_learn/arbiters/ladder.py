"""Ladder: which answer to ask for next, after each that is there, and which to serve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from skr_core.answering import answer_directly
from skr_core.budget import Price
from skr_core.candidates import CandidateAnswer
from skr_core.errors import DataError, InputError
from skr_core.files.arrays import BROKEN
from skr_core.flow import Flow, arun, run
from skr_core.models.adapting import AnyModel, as_language_model
from skr_core.models.embedders import HashingEmbedder
from skr_core.prompts.asking import checked_question
from skr_core.rivals import candidate_of_generation
from skr_core.routers.saving import ROUTER_FILE, SavedPart, embedder_stamp, read_saved
from skr_core.types import Action, Decision, Generation, Stamp, Verdict
from skr_learn.arbiters.climbing import Climber
from skr_learn.arbiters.rungs import (
    Climb,
    Rung,
    arrays_of_rungs,
    fit_rungs,
    rungs_of_arrays,
    views_of_rungs,
)
from skr_learn.arbiters.views import Views
from skr_learn.learning.outcomes import ActionTable, CostUnit
from skr_learn.learning.regression import is_exact
from skr_learn.learning.rows import Floats
from skr_learn.learning.rule import Aim
from skr_learn.learning.signals import groups_of, shared_stamp
from skr_learn.self_knowledge.records import SelfKnowledge

if TYPE_CHECKING:
    from skr_core.ports import Embedder, LanguageModel, Retriever
    from skr_learn.arbiters.estimate import Estimate

LADDER = "ladder"
"""The kind of a router that is an arbiter too."""


class Ladder:
    """Asks for the direct answer, then for one round of retrieval, then for the loop.

    The estimate is the same at every rung, "is this answer right?", with more to see each time. So
    it is a router before retrieval (`decide_on`), decides again within the loop, when the first
    round has answered (`decide_after`), and is an arbiter after it (`judge`). What the next rung is
    worth is the score that an arbiter was able to serve there on the records. Make one with `fit`,
    and give it as the ``router`` of a system.

    Attributes:
        actions: The rungs, from the cheapest to the dearest.
        costs: Of ending at each, on average, the direct answer included, shape (rungs,).
        price: Accuracy that a unit of cost is worth.
        unit: What cost is counted in.
        embedder: For questions and answers.
        stamp: What the records were made with.

    Example:
        >>> records = [
        ...     SelfKnowledge.of(f"What is {n} plus 1?", direct=(f"{n + 1}", 1), single=("Adam", 0))
        ...     for n in range(40)
        ... ] + [
        ...     SelfKnowledge.of(f"Who led team {n}?", direct=("7", 0), single=(f"Ada {n}", 1))
        ...     for n in range(40)
        ... ]
        >>> ladder = Ladder.fit(records, price=0.05)
        >>> [ladder.decide_on(question, Generation(said)).retrieve
        ...  for question, said in [("What is 41 plus 1?", "42"), ("Who led team 41?", "7")]]
        [False, True]
        >>> answers = {"direct": CandidateAnswer("7"), "single": CandidateAnswer("Ada 41")}
        >>> ladder.judge("Who led team 41?", answers).served
        'single'
    """

    kind: ClassVar[str] = LADDER
    drafts: ClassVar[bool] = True

    def __init__(
        self,
        rungs: Sequence[Rung],
        actions: Sequence[Action],
        costs: Floats,
        embedder: Embedder,
        stamp: Stamp = Stamp(),
        *,
        price: float = 0.0,
        unit: CostUnit = "retrievals",
        model: AnyModel | None = None,
    ) -> None:
        self.actions: tuple[Action, ...] = tuple(actions)
        self.embedder, self.costs, self.stamp = embedder, costs, stamp
        self.price, self.unit = price, unit
        self._rungs = tuple(rungs)
        self._climber = Climber(self._rungs, self.actions, costs, embedder)
        self.use_model(model)

    @classmethod
    def of_views(
        cls,
        views: Sequence[Views],
        table: ActionTable,
        groups: NDArray[np.int64],
        embedder: Embedder,
        stamp: Stamp = Stamp(),
        *,
        top: tuple[Estimate, Floats] | None = None,
    ) -> tuple[Self, Climb]:
        """Learn from records; its price is 0.

        Args:
            views: At each rung, of n records.
            table: What the actions were worth and cost.
            groups: Records of equal numbers are left out together, shape (n,).
            embedder: The one they were embedded with.
            stamp: What they were made with.
            top: As `fit_rungs` takes it.

        Returns:
            The ladder, and what it would have done with each record without having seen it.
        """
        costs = table.after_draft().costs.mean(axis=0)
        rungs, climb = fit_rungs(views, table.scores, costs, groups, top=top)
        return cls(rungs, table.actions, costs, embedder, stamp, unit=table.unit), climb

    @classmethod
    def fit(
        cls,
        records: Sequence[SelfKnowledge],
        *,
        embedder: Embedder | None = None,
        actions: Sequence[Action] | None = None,
        unit: CostUnit | None = None,
        token_price: Price | None = None,
        price: float | None = None,
        budget: float | None = None,
        model: AnyModel | None = None,
    ) -> Self:
        """Learn from records.

        Args:
            records: Of self-knowledge.
            embedder: For questions and answers; a `HashingEmbedder` by default.
            actions: The rungs; by default those that every record holds.
            unit: What cost is counted in; by default tokens where every outcome has its usage, else
                retrievals.
            token_price: Of the model's tokens, for the unit ``usd``.
            price: Accuracy that a unit of cost is worth; by default cost is free.
            budget: Mean cost a question that a price is chosen to keep within.
            model: The one the records are about; needed to decide on a question alone.

        Raises:
            InputError: There is no record, or one lacks an action or its usage; or price and budget
                are both given.
        """
        aim = Aim(price=price, budget=budget)
        if not records:
            raise InputError("a ladder is fitted on records of self-knowledge; none were given")
        embedder = embedder or HashingEmbedder()
        table = ActionTable.of(records, actions=actions, unit=unit, price=token_price)
        views = views_of_rungs(records, table.actions, embedder)
        ladder, climb = cls.of_views(
            views, table, groups_of(records), embedder, shared_stamp(records)
        )
        ladder.price = climb.price_for(aim)
        ladder.use_model(model)
        return ladder

    def climb(self, views: Sequence[Views]) -> Climb:
        """What it would do with questions whose answers are all there."""
        return Climb.of(self._rungs, views, self.costs)

    def use_model(self, model: AnyModel | None) -> None:
        """Ask this model for direct answers: the one the records are about."""
        self._model = None if model is None else as_language_model(model)

    def decide(self, question: str) -> Decision:
        """Ask for the direct answer, and decide whether to retrieve, with blocking calls.

        Raises:
            InputError: The question is empty, or the ladder has no model.
            ModelError: The model failed.
        """
        return run(self._decision(checked_question(question)))

    async def adecide(self, question: str) -> Decision:
        """The same, awaited."""
        return await arun(self._decision(checked_question(question)))

    def decide_on(self, question: str, direct: Generation) -> Decision:
        """Decide whether to retrieve when the direct answer is there already."""
        return run(self._decision_on(checked_question(question), direct))

    async def adecide_on(self, question: str, direct: Generation) -> Decision:
        """The same, awaited."""
        return await arun(self._decision_on(checked_question(question), direct))

    def decide_after(self, question: str, answers: Mapping[Action, CandidateAnswer]) -> Decision:
        """Decide whether to go on from the answers that are there.

        Args:
            question: What was asked.
            answers: Of the first of `actions`, up to the rung that is reached.

        Returns:
            The action to take after all: that of the rung where it ends there.

        Raises:
            InputError: The direct answer is missing.
        """
        return run(self._climber.decide(question, answers, self.price))

    async def adecide_after(
        self, question: str, answers: Mapping[Action, CandidateAnswer]
    ) -> Decision:
        """The same, awaited."""
        return await arun(self._climber.decide(question, answers, self.price))

    def judge(self, question: str, answers: Mapping[Action, CandidateAnswer]) -> Verdict:
        """Which of the answers to serve.

        Args:
            question: What was asked.
            answers: Of the first of `actions`, up to the rung that was reached.

        Raises:
            InputError: The direct answer is missing.
        """
        return run(self._climber.judge(question, answers))

    async def ajudge(self, question: str, answers: Mapping[Action, CandidateAnswer]) -> Verdict:
        """The same, awaited."""
        return await arun(self._climber.judge(question, answers))

    def save(self, path: str | Path) -> None:
        """Write the ladder to a folder, as a router, without its model.

        Example:
            >>> import tempfile
            >>> records = [SelfKnowledge.of(f"{n}?", direct=("a", 1), single=("b", 0))
            ...            for n in range(9)]
            >>> folder = tempfile.mkdtemp()
            >>> Ladder.fit(records, price=0.1).save(folder)
            >>> Ladder.load(folder).price
            0.1
        """
        parameters = {
            "actions": list(self.actions),
            "price": self.price,
            "unit": self.unit,
            "costs": self.costs.tolist(),
            "exact": is_exact(self._rungs[0].worth.ridge),
        }
        stamp = {**asdict(self.stamp), **embedder_stamp(self.embedder)}
        arrays = arrays_of_rungs(self._rungs, self.actions)
        SavedPart(LADDER, stamp, parameters, arrays).write(path)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        model: LanguageModel | None = None,
        retriever: Retriever | None = None,
        embedder: Embedder | None = None,
        force: bool = False,
    ) -> Self:
        """Read a ladder that `save` wrote; arguments and errors are those of `load_router`."""
        saved = read_saved(path)
        if saved.kind != LADDER:
            raise InputError(f"{path} holds the router {saved.kind!r}, not a ladder")
        made_with = saved.embedder_beside(model, retriever, embedder, force=force)
        given = saved.parameters
        try:
            actions: tuple[Action, ...] = tuple(given["actions"])
            rungs = rungs_of_arrays(saved.arrays, actions, exact=bool(given["exact"]))
            costs = np.array(given["costs"], dtype=np.float64)
            ladder = cls(rungs, actions, costs, made_with, saved.made_of, model=model)
            ladder.price, ladder.unit = float(given["price"]), given["unit"]
            return ladder
        except BROKEN as error:
            raise DataError(Path(path) / ROUTER_FILE, None, f"it lacks {error}") from error

    def _decision(self, question: str) -> Flow[Decision]:
        if self._model is None:
            raise InputError("this ladder looks at the direct answer: give model=")
        direct = yield from answer_directly(self._model, question)
        return (yield from self._decision_on(question, direct))

    def _decision_on(self, question: str, direct: Generation) -> Flow[Decision]:
        said = candidate_of_generation(direct)
        decision = yield from self._climber.decide(question, {"direct": said}, self.price)
        return replace(decision, usage=direct.usage, draft=direct.text)
