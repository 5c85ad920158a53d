"""LearnedReflector: is this draft right, given its references? Learnt from the user's records."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from skr_core._compat import cached_property
from skr_core.candidates import CandidateAnswer
from skr_core.errors import InputError
from skr_core.flow import Flow, arun, call, run
from skr_core.replies.refusals import is_refusal
from skr_core.rivals import candidate_of_draft
from skr_core.routers.saving import SavedRouter, embedder_stamp
from skr_core.types import Reference, Reflection, Stamp
from skr_learn.estimator import Estimator, held_out, part_of
from skr_learn.features.views import STATED, Seen, Views, stated_in, texts_of
from skr_learn.records import Record, question_groups
from skr_learn.routers.base import question_hashes, shared_stamp
from skr_learn.stages import Stage, logistic_map

if TYPE_CHECKING:
    from skr_core.ports import Embedder, LanguageModel, Retriever

Floats = NDArray[np.float64]


class LearnedReflector:
    """Sends a draft back whose estimated chance of being right is too low; costs no call.

    The estimate is that of a policy, of one answer: from the question, the form of the draft, and
    how it stands in its references. Make one with `fit`.

    Args:
        stage: What it has learnt.
        threshold: The chance from which on a draft suffices.
        embedder: The embedder of questions and drafts; None without one.
        stamp: The system whose records it was made of.
        questions: Short hashes of the questions that it has learnt from.
        stated: What the records state of an answer beside its text, see
            `skr_learn.features.stated_in`: nothing else is looked at.

    Example:
        >>> records = [
        ...     Record.of(f"Who led team {n}?", direct=("", 0), single=("Ada", 1))
        ...     if n % 2
        ...     else Record.of(f"Who led {n}?", direct=("", 0), single=("no one", 0))
        ...     for n in range(60)
        ... ]
        >>> reflector = LearnedReflector.fit(records)
        >>> reflector.reflect("Who led 61?", [], "no one").sufficient
        False
    """

    kind: ClassVar[str] = "learned"

    def __init__(
        self,
        stage: Stage,
        threshold: float,
        *,
        embedder: Embedder | None = None,
        stamp: Stamp = Stamp(),
        questions: Sequence[str] = (),
        stated: Sequence[Sequence[str]] = (STATED,),
    ) -> None:
        self.stage, self.threshold = stage, threshold
        self.stated = tuple(map(tuple, stated))
        self.embedder, self.stamp, self.questions = embedder, stamp, tuple(questions)

    @cached_property
    def name(self) -> str:
        """For the stamp of what is made with it: tells one that learnt something else apart."""
        learnt = hashlib.blake2b(repr(self.threshold).encode(), digest_size=4)
        for _, array in sorted(self.stage.arrays().items()):
            learnt.update(np.ascontiguousarray(array).tobytes())
        return f"learned:{learnt.hexdigest()}"

    @classmethod
    def fit(cls, records: Sequence[Record], *, embedder: Embedder | None = None) -> Self:
        """Learn from the drafts on record, of each round; without them, from the served answers.

        Its threshold is the one at which most of the records, each without itself, are judged
        rightly.

        Args:
            records: The records.
            embedder: The embedder whose vectors of questions and drafts are looked at too.

        Raises:
            InputError: There is no record.
        """
        return cls.with_held_out(records, embedder=embedder)[0]

    @classmethod
    def with_held_out(
        cls, records: Sequence[Record], *, embedder: Embedder | None = None
    ) -> tuple[Self, Floats]:
        """Return the same, and the chance of each draft estimated without its record.

        The drafts stand in the order of their records; shape (d,), one a record without drafts.
        """
        if not records:
            raise InputError("a reflector is fitted on records; none were given")
        drafts = [_on_record(record) for record in records]
        rows = np.repeat(np.arange(len(records)), [len(each) for each in drafts])
        seen = [
            Seen(record.question, (candidate,))
            for record, some in zip(records, drafts, strict=True)
            for candidate, _ in some
        ]
        vectors = None if embedder is None else embedder.embed(texts_of(seen))
        shown = Views(seen, vectors).each(1)
        right = np.array([[score] for some in drafts for _, score in some])
        expected = held_out(shown, right, question_groups(records)[rows])[:, 0]
        slope, intercept = logistic_map(expected, right[:, 0])
        stage = Stage(Estimator.fit(shown, right), None, slope, intercept)
        chances = stage.as_chances(expected)
        reflector = cls(
            stage,
            best_threshold(chances, right[:, 0]),
            embedder=embedder,
            stamp=shared_stamp(records),
            questions=question_hashes(records),
            stated=stated_in(seen),
        )
        return reflector, chances

    def save(self, path: str | Path) -> None:
        """Write the reflector to a file, which takes the place of an earlier one as a whole.

        Raises:
            InputError: The file cannot be written.
        """
        parameters, arrays = self.state()
        embedder = {} if self.embedder is None else embedder_stamp(self.embedder)
        own = {f"reflector.{name}": array for name, array in arrays.items()}
        SavedRouter(
            self.kind, {"reflector": parameters}, own, self.stamp, embedder, self.questions
        ).write(path)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the parameters and arrays for a file."""
        parameters = {
            "threshold": self.threshold,
            "stage": self.stage.parameters(),
            "stated": [list(each) for each in self.stated],
        }
        return parameters, self.stage.arrays()

    @classmethod
    def load(
        cls,
        path: str | Path | SavedRouter,
        *,
        model: LanguageModel | None = None,
        retriever: Retriever | None = None,
        embedder: Embedder | None = None,
        force: bool = False,
    ) -> Self:
        """Read a reflector that `save` wrote, alone or as a part of a policy.

        Arguments and errors are those of `load_router`.
        """
        saved = SavedRouter.read(path)
        if "reflector" not in saved.parameters:
            raise InputError(
                f"{saved.path} holds no reflector: make one with skr calibrate --reflector"
            )
        made_with = saved.embedder_beside(model, retriever, embedder, force=force)
        with saved.unpacking():
            return cls.of_saved(saved, made_with)

    @classmethod
    def of_saved(cls, saved: SavedRouter, embedder: Embedder | None) -> Self:
        """Make a reflector of what a file holds.

        Args:
            saved: What the file holds.
            embedder: The embedder that it was made with.
        """
        given = saved.parameters["reflector"]
        stage = Stage.from_arrays(given["stage"], part_of(saved.arrays, "reflector"))
        stage.try_out(1, 0, searched=False)
        return cls(
            stage,
            float(given["threshold"]),
            embedder=embedder,
            stamp=saved.stamp,
            questions=saved.questions,
            stated=given["stated"],
        )

    def reflect(self, question: str, references: Sequence[Reference], draft: str) -> Reflection:
        """Judge a draft by its estimated chance of being right."""
        return run(self._reflection(question, references, draft))

    async def areflect(
        self, question: str, references: Sequence[Reference], draft: str
    ) -> Reflection:
        """Async version of `reflect`."""
        return await arun(self._reflection(question, references, draft))

    def _reflection(
        self, question: str, references: Sequence[Reference], draft: str
    ) -> Flow[Reflection]:
        if is_refusal(draft):
            return Reflection(False, "the model finds the references insufficient")
        seen = Seen(question, (candidate_of_draft(draft, references),)).only(self.stated)
        vectors = None
        if self.embedder is not None:
            vectors = yield from call(self.embedder.embed, self.embedder.aembed, texts_of([seen]))
        chance = float(self.stage.chances_of(Views([seen], vectors), 1)[0, 0])
        reason = f"the draft is right with an estimated chance of {chance:.0%}"
        return Reflection(chance >= self.threshold, f"{reason}; {self.threshold:.0%} suffice")


def best_threshold(chances: Floats, right: Floats) -> float:
    """Return the chance that parts right from wrong answers with the fewest errors.

    Args:
        chances: The chance of each, shape (n,).
        right: Whether each is right, 0 to 1, shape (n,).

    Example:
        >>> round(best_threshold(np.array([0.9, 0.3]), np.array([1.0, 0.0])), 3)
        0.6
    """
    order = np.argsort(chances)
    gained = np.concatenate([[0.0], np.cumsum(1 - 2 * right[order])])  # by sending back so many
    best = int(np.argmax(gained))
    edges = np.concatenate([[0.0], chances[order], [1.0]])
    return float((edges[best] + edges[best + 1]) / 2)


def _on_record(record: Record) -> list[tuple[CandidateAnswer, float]]:
    """The drafts of a record with their scores; where it holds none, the answer that was served."""
    drafts = record.retrieved.drafts
    if drafts:
        return [(each.candidate, each.score) for each in drafts]
    answer = record.retrieved.candidate
    if answer.standing is not None:  # a draft stands alone: there is no direct answer beside it
        answer = replace(answer, standing=replace(answer.standing, direct=0.0, direct_cited=0.0))
    return [(replace(answer, confidence=None), record.retrieved.score)]
