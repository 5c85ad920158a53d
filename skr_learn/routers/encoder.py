"""EncoderRouter: known or unknown, by a fine-tuned encoder (SKR §3.2, equation 5)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from skr_core.errors import DataError, InputError
from skr_core.ports import LanguageModel, Retriever
from skr_core.prompts.asking import checked_question
from skr_core.routers.saving import ROUTER_FILE, SavedPart, read_saved
from skr_core.types import Action, Decision, Stamp
from skr_learn.learning.outcomes import ActionTable
from skr_learn.learning.rows import Floats
from skr_learn.learning.signals import shared_stamp
from skr_learn.self_knowledge.records import SelfKnowledge

if TYPE_CHECKING:
    from skr_learn.routers.sequence_classifier import SequenceClassifier

ENCODER_FOLDER = "encoder"
UPDATE_EPOCHS = 1
"""More would forget what it learnt before."""


class EncoderRouter:
    """The paper's classifier: BERT fine-tuned on known and unknown questions; made with `fit`.

    It needs ``pip install "skr-rag[local]"``, and a GPU for more than a few thousand records. The
    `ClassifierRouter` learns the same from fixed embeddings in seconds.
    """

    kind: ClassVar[str] = "encoder"

    def __init__(
        self,
        classifier: SequenceClassifier,
        *,
        threshold: float,
        stamp: Stamp,
        action: Action = "loop",
    ) -> None:
        self._classifier, self.threshold, self.stamp = classifier, threshold, stamp
        self.action = action

    @classmethod
    def fit(
        cls,
        records: Sequence[SelfKnowledge],
        *,
        encoder: str | Path = "bert-base-uncased",
        threshold: float = 0.5,
    ) -> Self:
        """Fine-tune an encoder, leaving out the records that no answer got right.

        Args:
            records: Of self-knowledge.
            encoder: A name on the hub, or a folder.
            threshold: Retrieval happens where the probability of unknown is above it.

        Raises:
            InputError: No answer is right on any record.
            MissingDependency: The extra is not installed.
        """
        from skr_learn.routers.sequence_classifier import SequenceClassifier

        if not records:
            raise InputError("a router is fitted on records of self-knowledge; none were given")
        table = ActionTable.of(records)
        action = table.actions[table.retrieving]
        texts, labels = _examples(records, action)
        if not texts:
            raise InputError("no answer is right on any record, so nothing is known")
        classifier = SequenceClassifier(encoder)
        classifier.fit(texts, labels)
        stamp = shared_stamp(records)
        return cls(classifier, threshold=threshold, stamp=stamp, action=action)

    def decide(self, question: str) -> Decision:
        """Decide by the fine-tuned encoder.

        Raises:
            InputError: The question is empty.
        """
        score = float(self.predict([checked_question(question)])[0])
        retrieve = score > self.threshold
        return Decision(
            retrieve=retrieve,
            max_rounds=1 if retrieve and self.action == "single" else None,
            score=score,
            threshold=self.threshold,
            reason=f"needs references with a probability of {score:.0%}, "
            f"and retrieval begins above {self.threshold:.0%}",
        )

    async def adecide(self, question: str) -> Decision:
        """The same in a thread: a local model computes, so there is no reply to await."""
        return await asyncio.to_thread(self.decide, question)

    def predict(self, questions: Sequence[str]) -> Floats:
        """The probability of unknown for many questions at once, shape (n,)."""
        return np.asarray(self._classifier.predict(list(questions)), dtype=np.float64)

    def update(self, records: Sequence[SelfKnowledge]) -> None:
        """Go on training from the weights there are, on the new records alone."""
        held = [each for each in records if self.action in each.outcomes]
        texts, labels = _examples(held, self.action)
        if texts:
            self._classifier.fit(texts, labels, epochs=UPDATE_EPOCHS)

    def save(self, path: str | Path) -> None:
        """Write the router to a folder, with the encoder's weights."""
        parameters = {"threshold": self.threshold, "action": self.action}
        SavedPart(self.kind, asdict(self.stamp), parameters).write(path)
        self._classifier.save(Path(path) / ENCODER_FOLDER)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        model: LanguageModel | None = None,
        embedder: Any = None,
        retriever: Retriever | None = None,
        force: bool = False,
    ) -> Self:
        """Read a router that `save` wrote; see `FittedRouter.load`. It uses no embedder."""
        from skr_learn.routers.sequence_classifier import SequenceClassifier

        saved = read_saved(path)
        if saved.kind != cls.kind:
            raise InputError(f"{path} holds a {saved.kind} router, not a {cls.kind} router")
        current = {} if model is None else {"model": model.name}
        current |= {} if retriever is None else {"retriever": retriever.name}
        saved.check(force=force, **current)
        stamp = Stamp(**{key: saved.stamp.get(key, "") for key in asdict(Stamp())})
        classifier = SequenceClassifier(Path(path) / ENCODER_FOLDER)
        try:
            return cls(classifier, stamp=stamp, **saved.parameters)
        except TypeError as error:
            raise DataError(Path(path) / ROUTER_FILE, None, str(error)) from error


def _examples(records: Sequence[SelfKnowledge], action: Action) -> tuple[list[str], Any]:
    scores = [(each.direct.score, each.outcomes[action].score) for each in records]
    kept = [index for index, pair in enumerate(scores) if any(pair)]
    labels = np.array([scores[index][0] < scores[index][1] for index in kept], dtype=np.int64)
    return [records[index].question for index in kept], labels
