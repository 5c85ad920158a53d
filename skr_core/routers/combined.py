"""CombinedRouter: the expected benefit of retrieval, learnt from every signal at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from skr_core.learning.kernel import Kernel
from skr_core.learning.landmarks import LandmarkRidge, landmarks_of
from skr_core.learning.ridge import ExactRidge
from skr_core.learning.rows import Floats, TextEmbedder
from skr_core.learning.signals import Signals, Training
from skr_core.learning.threshold import parity_threshold
from skr_core.models.ngrams import NgramEmbedder
from skr_core.ports import LanguageModel
from skr_core.routers.fitted import FittedRouter, pack_texts, unpack_texts
from skr_core.routers.knn import neighbour, rows_dot
from skr_core.self_knowledge.records import SelfKnowledge, Stamp
from skr_core.types import Decision, Usage

EXACT = 5_000
"""Records up to which every one is compared with every other: about ten seconds and 1 GB."""
EVIDENCE = 5
"""Nearest records that a decision names."""


class CombinedRouter(FittedRouter):
    """Predicts what retrieval would add, from the question and the model's direct answer.

    A kernel ridge regression on the measured benefit: records count by how like they are in what is
    asked, in what is answered, in the form of both and in the stated confidence. It learns from all
    records, also those that neither answer got right, because they show where retrieval is in vain.
    Make one with `fit`.

    With drafts it asks the model for its direct answer first, one call, which is in the decision's
    usage; without, it looks at the question alone.

    Example:
        >>> known = [SelfKnowledge(f"What is {n} plus 1?", (), "", "", 1.0, 0.0) for n in range(9)]
        >>> unknown = [SelfKnowledge(f"Who is CEO of {x}?", (), "", "", 0.0, 1.0) for x in "ABCDE"]
        >>> router = CombinedRouter.fit(known + unknown, drafts=False, threshold=0.0)
        >>> router.decide("Who is CEO of F?").retrieve, router.decide("What is 9 plus 1?").retrieve
        (True, False)
    """

    kind: ClassVar[str] = "combined"

    def __init__(
        self,
        ridge: ExactRidge | LandmarkRidge,
        questions: NDArray[np.object_],
        *,
        threshold: float,
        drafts: bool,
        embedder: TextEmbedder,
        stamp: Stamp,
        model: LanguageModel | None = None,
    ) -> None:
        super().__init__(embedder, stamp, threshold, drafts=drafts, model=model)
        self._ridge, self._questions = ridge, questions

    @classmethod
    def fit(
        cls,
        records: Sequence[SelfKnowledge],
        *,
        embedder: TextEmbedder | None = None,
        model: LanguageModel | None = None,
        drafts: bool = True,
        threshold: float | None = None,
    ) -> Self:
        """Learn from records.

        Args:
            records: Of self-knowledge.
            embedder: For questions and answers; an `NgramEmbedder` by default.
            model: The one the records are about; needed to decide with drafts.
            drafts: Look at the model's direct answer too.
            threshold: Retrieval happens where the expected benefit is above it. By default it is
                chosen on leave-one-out predictions, and is -2 or 2 (always, never) where these do
                not tell one question from another.

        Raises:
            InputError: There is no record.
        """
        embedder = embedder or NgramEmbedder()
        training = Training.of(records, embedder, drafts=drafts)
        router = cls.of_training(training, embedder, drafts=drafts, threshold=0.0)
        router._model = model
        if threshold is None:
            held_out = router.held_out(training)
            threshold = parity_threshold(held_out, training.direct, training.augmented)
        router.threshold = threshold
        return router

    @classmethod
    def of_training(
        cls,
        training: Training,
        embedder: TextEmbedder,
        *,
        drafts: bool = True,
        threshold: float = 0.0,
    ) -> Self:
        """The same as `fit`, when the records have been embedded already."""
        if not drafts:
            training = training.without_drafts
        ridge, places = fit_ridge(training.signals, training.benefit[:, None])
        return cls(
            ridge,
            training.questions[places],
            threshold=threshold,
            drafts=drafts,
            embedder=embedder,
            stamp=training.stamp,
        )

    def held_out(self, training: Training) -> Floats:
        """What each record that it was fitted on would have scored without it, shape (n,)."""
        if not self.drafts:
            training = training.without_drafts
        return held_out(self._ridge, training.signals, training.benefit[:, None], training.groups)[
            :, 0
        ]

    def scores(self, signals: Signals) -> Floats:
        """The expected benefit of retrieval for each question, shape (n,)."""
        if not self.drafts:
            signals = signals.without_drafts
        return np.clip(self._ridge.predict(signals)[:, 0], -1.0, 1.0)

    def _decide_seen(self, signals: Signals, usage: Usage) -> Decision:
        score = float(self.scores(signals)[0])
        kept = self._ridge.signals.question
        likeness = rows_dot(signals.question, kept)[0]
        nearest = np.argsort(-likeness, kind="stable")[:EVIDENCE]
        seen = "question and direct answer" if self.drafts else "question"
        return Decision(
            retrieve=score > self.threshold,
            score=score,
            threshold=self.threshold,
            reason=f"judging by the {seen}, retrieval changes accuracy by {score:+.3f}, "
            f"and pays above {self.threshold:+.3f}",
            neighbours=tuple(
                neighbour(self._questions[place], likeness[place], self._ridge.targets[place, 0])
                for place in nearest
            ),
            usage=usage,
        )

    def _learn(self, training: Training) -> None:
        signals, targets = training.signals, training.benefit[:, None]
        ridge = self._ridge
        if isinstance(ridge, ExactRidge):
            self._questions = np.concatenate([self._questions, training.questions])
            if len(self._questions) > EXACT:
                all_targets = np.concatenate([ridge.targets, targets])
                self._ridge, places = fit_ridge(ridge.signals.and_also(signals), all_targets)
                self._questions = self._questions[places]
                return
        self._ridge = ridge.extended(signals, targets)

    def _saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        exact = isinstance(self._ridge, ExactRidge)
        arrays = self._ridge.arrays() | {"questions": pack_texts(self._questions)}
        return {"drafts": self.drafts, "exact": exact}, arrays

    @classmethod
    def _restored(
        cls,
        parameters: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        embedder: TextEmbedder,
        stamp: Stamp,
        model: LanguageModel | None,
    ) -> Self:
        ridge: type[ExactRidge] | type[LandmarkRidge] = (
            ExactRidge if parameters["exact"] else LandmarkRidge
        )
        return cls(
            ridge.from_arrays(arrays),
            unpack_texts(arrays["questions"]),
            threshold=parameters["threshold"],
            drafts=parameters["drafts"],
            embedder=embedder,
            stamp=stamp,
            model=model,
        )


def fit_ridge(
    signals: Signals, targets: Floats
) -> tuple[ExactRidge | LandmarkRidge, NDArray[np.int64]]:
    """The regression for as many records, and the places of those that it keeps."""
    n = len(signals)
    kernel = Kernel.fit(signals)
    if n <= EXACT:
        return ExactRidge(kernel, signals, targets), np.arange(n)
    model = LandmarkRidge.fit(kernel, signals, targets)
    return model, landmarks_of(n)


def held_out(
    ridge: ExactRidge | LandmarkRidge,
    signals: Signals,
    targets: Floats,
    groups: NDArray[np.int64],
) -> Floats:
    """Leave-one-out predictions of the records a regression was fitted on, shape (n, t)."""
    if isinstance(ridge, ExactRidge):
        return ridge.held_out(groups)
    return ridge.held_out(signals, targets, groups)
