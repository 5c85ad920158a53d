"""FittedRouter: what the routers that learn from records have in common."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from skr_core.answering import answer_directly
from skr_core.errors import DataError, InputError, StampMismatch
from skr_core.files.arrays import BROKEN
from skr_core.flow import Flow, arun, call, run
from skr_core.models.adapting import AnyModel, as_language_model
from skr_core.ports import Embedder, LanguageModel, Retriever
from skr_core.prompts.asking import checked_question
from skr_core.routers.saving import ROUTER_FILE, SavedPart, embedder_stamp, read_saved
from skr_core.texts import encodable
from skr_core.types import Action, Decision, Generation, Neighbour, Stamp
from skr_learn.learning.observed import Observed
from skr_learn.learning.outcomes import ActionTable, CostUnit
from skr_learn.learning.rows import Floats, aembed_texts, embed_texts
from skr_learn.learning.signals import Signals, Training, texts_of
from skr_learn.learning.threads import one_thread
from skr_learn.self_knowledge.records import SelfKnowledge

_CHECKED = ("model", "retriever", "metric")
"""Fields of a stamp in which records that are added must agree with the router."""
_NEVER = 2.0
"""Beyond any benefit, which lies between -1 and 1: a price that decides alone is shown as this."""


class FittedRouter(ABC):
    """A router that has learnt from records of self-knowledge.

    It expects a score and a cost of each action and takes the action of highest score less price
    times cost. A subclass whose score is no accuracy expects a score for retrieval alone, at a cost
    of 1, so that its price is a threshold.

    Attributes:
        features: Whether it looks at more of a question than its vector.
        actions: It chooses among, from the cheapest to the dearest; the first is ``direct``.
        price: Accuracy that a unit of cost is worth.
        unit: What cost is counted in.
        drafts: Whether it looks at the model's direct answer, which costs one call a question.
        embedder: Turns texts into vectors.
        stamp: What the records were made with.
    """

    kind: ClassVar[str]
    features: ClassVar[bool] = True

    def __init__(
        self,
        embedder: Embedder,
        stamp: Stamp,
        *,
        actions: Sequence[Action],
        price: float,
        unit: CostUnit = "retrievals",
        drafts: bool = False,
        model: AnyModel | None = None,
    ) -> None:
        self.embedder, self.stamp, self.price, self.drafts = embedder, stamp, price, drafts
        self.actions, self.unit = tuple(actions), unit
        self.use_model(model)

    @abstractmethod
    def expected(self, signals: Signals) -> tuple[Floats, Floats]:
        """Expect what each action is worth and costs on many questions at once.

        Args:
            signals: Of n questions, with drafts if the router looks at them.

        Returns:
            Scores and costs, shape (n, a) each.
        """

    @abstractmethod
    def _reason(self, signals: Signals, score: float, threshold: float, action: Action) -> str:
        """One sentence on the one question that the signals are of."""

    def _neighbours(self, signals: Signals) -> tuple[Neighbour, ...]:
        """The recorded questions that a decision names."""
        return ()

    @abstractmethod
    def _learn(self, training: Training) -> None:
        """Take in more records, whose table has NaN where an action was not measured."""

    @abstractmethod
    def _saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Parameters and arrays for a file."""

    @classmethod
    @abstractmethod
    def _restored(
        cls, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], **parts: Any
    ) -> Self:
        """A router from what `_saved` returned; `parts` are arguments of the constructor."""

    def scores(self, signals: Signals) -> Floats:
        """The expected benefit of retrieval for many questions at once, shape (n,)."""
        scores, costs = self.expected(signals)
        return np.clip(_benefit(scores, costs, self.price)[0], -1.0, 1.0)

    def decide(self, question: str) -> Decision:
        """Decide with blocking calls.

        Raises:
            InputError: The question is empty, or the router needs a model and has none.
            ModelError: The model failed.
        """
        return run(self._decision(checked_question(question)))

    async def adecide(self, question: str) -> Decision:
        """Decide with awaited calls."""
        return await arun(self._decision(checked_question(question)))

    def decide_on(self, question: str, direct: Generation) -> Decision:
        """Decide when the direct answer is there already, with blocking calls."""
        return run(self._decision_on(checked_question(question), direct))

    async def adecide_on(self, question: str, direct: Generation) -> Decision:
        """The same, with awaited calls."""
        return await arun(self._decision_on(checked_question(question), direct))

    def use_model(self, model: AnyModel | None) -> None:
        """Ask this model for direct answers: the one the records are about."""
        self._model = None if model is None else as_language_model(model)

    def update(self, records: Sequence[SelfKnowledge], *, force: bool = False) -> None:
        """Learn from more records, without those it was fitted on.

        The price stays; calibrate anew when much has been added. Nothing is changed on the disk
        until `save` is called.

        Args:
            records: Made with the same model, retriever and metric.
            force: Take them although they were made with others.

        Raises:
            StampMismatch: They were made with others.
        """
        if self.drafts:
            # Feedback on an answer from references comes without a direct answer to look at.
            records = [each for each in records if not _is_imputed(each, "direct")]
        if not records:
            return
        table = ActionTable.measured(records, self.actions, self.unit)
        training = Training.of(records, self.embedder, drafts=self.drafts, table=table)
        for name in _CHECKED if not force else ():
            mine, theirs = getattr(self.stamp, name), getattr(training.stamp, name)
            if mine and theirs and mine != theirs:
                raise StampMismatch(
                    f"these records were made with the {name} {theirs!r}, the router with {mine!r}"
                )
        self._learn(training)

    def save(self, path: str | Path) -> None:
        """Write the router to a folder, without its model."""
        stamp = {**asdict(self.stamp), **embedder_stamp(self.embedder)}
        parameters, arrays = self._saved()
        common = {"price": self.price, "actions": list(self.actions), "unit": self.unit}
        SavedPart(self.kind, stamp, {**common, **parameters}, arrays).write(path)

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
        """Read a router that `save` wrote.

        Args:
            path: The folder.
            model: The one that will answer; compared with the router's.
            retriever: The one that will search; compared with the router's.
            embedder: Needed where the router was fitted with one of the user's own.
            force: Take it although it was made with another model, retriever or embedder.

        Raises:
            InputError: There is no such router, or it needs an embedder.
            DataError: Its files are broken.
            StampMismatch: It was made with another model, retriever or embedder.
        """
        saved = read_saved(path)
        if saved.kind != cls.kind:
            raise InputError(f"{path} holds a {saved.kind} router, not a {cls.kind} router")
        made_with = saved.embedder_beside(model, retriever, embedder, force=force)
        try:
            router = cls._restored(
                saved.parameters,
                saved.arrays,
                embedder=made_with,
                stamp=saved.made_of,
                actions=tuple(saved.parameters["actions"]),
                price=float(saved.parameters["price"]),
                unit=saved.parameters["unit"],
            )
        except BROKEN as error:
            raise DataError(Path(path) / ROUTER_FILE, None, f"it lacks {error}") from error
        router.use_model(model)
        return router

    def _decision(self, question: str) -> Flow[Decision]:
        if not self.drafts:
            return (yield from self._decision_for(Observed(question)))
        if self._model is None:
            raise InputError(f"this {self.kind} router looks at the direct answer: give model=")
        direct = yield from answer_directly(self._model, question)
        return (yield from self._decision_on(question, direct))

    def _decision_on(self, question: str, direct: Generation) -> Flow[Decision]:
        decision = yield from self._decision_for(Observed.in_answer(question, direct))
        return replace(decision, usage=direct.usage, draft=direct.text)

    def _decision_for(self, observed: Observed) -> Flow[Decision]:
        texts = texts_of([observed], self.drafts)
        vectors = yield from call(embed_texts, aembed_texts, self.embedder, texts)
        signals = Signals.of_vectors(
            [observed], vectors, drafts=self.drafts, features=self.features
        )
        return (yield from call(self._decide_one, self._adecide_one, signals))

    def _decide_one(self, signals: Signals) -> Decision:
        with one_thread():
            return self._decided(signals)

    def _decided(self, signals: Signals) -> Decision:
        scores, costs = self.expected(signals)
        benefits, thresholds, best = _benefit(scores, costs, self.price)
        score = min(max(float(benefits[0]), -1.0), 1.0)
        threshold = min(max(float(thresholds[0]), -_NEVER), _NEVER)
        action, retrieve = self.actions[best[0]], score > threshold
        return Decision(
            retrieve=retrieve,
            max_rounds=1 if retrieve and action == "single" else None,
            score=score,
            threshold=threshold,
            reason=self._reason(signals, score, threshold, action),
            neighbours=self._neighbours(signals),
        )

    async def _adecide_one(self, signals: Signals) -> Decision:
        # Work for the processor, which must not hold up an event loop.
        return await asyncio.to_thread(self._decide_one, signals)


def scored(scores: Floats) -> tuple[Floats, Floats]:
    """Expectations of a router that has one score for retrieval: its price is a threshold.

    Example:
        >>> [each.tolist() for each in scored(np.array([0.2]))]
        [[[0.0, 0.2]], [[0.0, 1.0]]]
    """
    worth, costs = np.zeros((len(scores), 2)), np.zeros((len(scores), 2))
    worth[:, 1], costs[:, 1] = scores, 1.0
    return worth, costs


def pack_texts(texts: NDArray[np.object_]) -> NDArray[np.uint8]:
    """Texts as bytes, because an array of texts takes as much for each as for the longest.

    Example:
        >>> unpack_texts(pack_texts(np.array(["a?", "bé?"], dtype=object))).tolist()
        ['a?', 'bé?']
    """
    joined = "\x00".join(str(text).replace("\x00", " ") for text in texts)
    return np.frombuffer(encodable(joined).encode(), dtype=np.uint8)


def unpack_texts(packed: NDArray[np.uint8]) -> NDArray[np.object_]:
    """Texts from what `pack_texts` returned."""
    return np.array(packed.tobytes().decode().split("\x00"), dtype=object)


def _benefit(
    scores: Floats, costs: Floats, price: float
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Benefit of the best retrieving action, what it has to exceed, and the action's index."""
    rows = np.arange(len(scores))
    best = 1 + np.argmax(scores[:, 1:] - price * costs[:, 1:], axis=1)
    return (
        scores[rows, best] - scores[:, 0],
        price * (costs[rows, best] - costs[:, 0]),
        best,
    )


def _is_imputed(record: SelfKnowledge, action: Action) -> bool:
    return str(record.extra.get("imputed", "")).startswith(action)
