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
from skr_core.flow import Flow, arun, call, run
from skr_core.learning.observed import Observed
from skr_core.learning.rows import Floats, TextEmbedder
from skr_core.learning.signals import Signals, Training, texts_of
from skr_core.models.ngrams import NgramEmbedder
from skr_core.ports import LanguageModel, Retriever
from skr_core.prompts.templates import checked_question
from skr_core.routers.saving import ROUTER_FILE, SavedRouter, read_router
from skr_core.self_knowledge.records import SelfKnowledge, Stamp
from skr_core.types import NO_USAGE, Decision, Usage

_CHECKED = ("model", "retriever", "metric")
"""Fields of a stamp in which records that are added must agree with the router."""


class FittedRouter(ABC):
    """A router that has learnt from records of self-knowledge; a subclass scores questions.

    Attributes:
        threshold: Retrieval happens where the score is above it.
        drafts: Whether it looks at the model's direct answer, which costs one call a question.
        embedder: Turns texts into vectors.
        stamp: What the records were made with.
    """

    kind: ClassVar[str]

    def __init__(
        self,
        embedder: TextEmbedder,
        stamp: Stamp,
        threshold: float,
        *,
        drafts: bool = False,
        model: LanguageModel | None = None,
    ) -> None:
        self.embedder, self.stamp, self.threshold, self.drafts = embedder, stamp, threshold, drafts
        self._model = model

    @abstractmethod
    def scores(self, signals: Signals) -> Floats:
        """Score many questions at once; higher means that retrieval helps more.

        Args:
            signals: Of n questions, with drafts if the router looks at them.

        Returns:
            Shape (n,), each between -1 and 1.
        """

    @abstractmethod
    def _decide_seen(self, signals: Signals, usage: Usage) -> Decision:
        """Decide on the one question that the signals are of."""

    @abstractmethod
    def _learn(self, training: Training) -> None:
        """Take in more records."""

    @abstractmethod
    def _saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Parameters and arrays for a file."""

    @classmethod
    @abstractmethod
    def _restored(
        cls,
        parameters: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        embedder: TextEmbedder,
        stamp: Stamp,
        model: LanguageModel | None,
    ) -> Self:
        """What `_saved` was made of."""

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

    def use_model(self, model: LanguageModel | None) -> None:
        """Ask this model for direct answers: the one the records are about."""
        self._model = model

    def update(self, records: Sequence[SelfKnowledge], *, force: bool = False) -> None:
        """Learn from more records, without those it was fitted on.

        The threshold stays; calibrate anew when much has been added. Nothing is changed on the
        disk until `save` is called.

        Args:
            records: Made with the same model, retriever and metric.
            force: Take them although they were made with others.

        Raises:
            StampMismatch: They were made with others.
        """
        if self.drafts:
            # Feedback on an answer from references comes without a direct answer to look at.
            records = [each for each in records if each.extra.get("imputed") != "direct_score"]
        if not records:
            return
        training = Training.of(records, self.embedder, drafts=self.drafts)
        for name in _CHECKED if not force else ():
            mine, theirs = getattr(self.stamp, name), getattr(training.stamp, name)
            if mine and theirs and mine != theirs:
                raise StampMismatch(
                    f"these records were made with the {name} {theirs!r}, the router with {mine!r}"
                )
        self._learn(training)

    def save(self, path: str | Path) -> None:
        """Write the router to a folder, without its model."""
        stamp = {**asdict(self.stamp), "embedder": self.embedder.name}
        parameters, arrays = self._saved()
        SavedRouter(self.kind, stamp, {"threshold": self.threshold, **parameters}, arrays).write(
            path
        )

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        model: LanguageModel | None = None,
        embedder: TextEmbedder | None = None,
        retriever: Retriever | None = None,
        force: bool = False,
    ) -> Self:
        """Read a router that `save` wrote.

        Args:
            path: The folder.
            model: The one that will answer; compared with the router's.
            embedder: The one it was fitted with; may be left out for an `NgramEmbedder`.
            retriever: The one that will search; compared with the router's.
            force: Take it although it was made with another model, retriever or embedder.

        Raises:
            InputError: There is no such router, or it needs an embedder or a model.
            DataError: Its files are broken.
            StampMismatch: It was made with another model, retriever or embedder.
        """
        saved = read_router(path)
        if saved.kind != cls.kind:
            raise InputError(f"{path} holds a {saved.kind} router, not a {cls.kind} router")
        made_with = saved.stamp.get("embedder", "")
        if embedder is None:
            if made_with != NgramEmbedder.name:
                raise InputError(f"this router compares questions by {made_with}: give embedder=")
            embedder = NgramEmbedder()
        current = {"embedder": embedder.name}
        current |= {"model": model.name} if model is not None else {}
        current |= {"retriever": retriever.name} if retriever is not None else {}
        saved.check(force=force, **current)
        stamp = Stamp(**{key: saved.stamp.get(key, "") for key in asdict(Stamp())})
        try:
            return cls._restored(saved.parameters, saved.arrays, embedder, stamp, model)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(Path(path) / ROUTER_FILE, None, f"it lacks {error}") from error

    def _decision(self, question: str) -> Flow[Decision]:
        usage, observed, draft = NO_USAGE, Observed(question), ""
        if self.drafts:
            if self._model is None:
                raise InputError(f"this {self.kind} router looks at the direct answer: give model=")
            direct = yield from answer_directly(self._model, question)
            usage, observed = direct.usage, Observed.in_answer(question, direct)
            draft = direct.text
        embed, texts = self.embedder, texts_of([observed], self.drafts)
        vectors = yield from call(embed.embed, embed.aembed, texts)
        signals = Signals.of_vectors([observed], vectors, drafts=self.drafts)
        decision = yield from call(self._decide_seen, self._adecide_seen, signals, usage)
        return replace(decision, draft=draft)

    async def _adecide_seen(self, signals: Signals, usage: Usage) -> Decision:
        # Work for the processor, which must not hold up an event loop.
        return await asyncio.to_thread(self._decide_seen, signals, usage)


def pack_texts(texts: NDArray[np.object_]) -> NDArray[np.uint8]:
    """Texts as bytes, because an array of texts takes as much for each as for the longest.

    Example:
        >>> unpack_texts(pack_texts(np.array(["a?", "bé?"], dtype=object))).tolist()
        ['a?', 'bé?']
    """
    joined = "\x00".join(str(text).replace("\x00", " ") for text in texts)
    return np.frombuffer(joined.encode("utf-8", "replace"), dtype=np.uint8)


def unpack_texts(packed: NDArray[np.uint8]) -> NDArray[np.object_]:
    """What `pack_texts` was made of."""
    return np.array(packed.tobytes().decode().split("\x00"), dtype=object)
