"""Arbiter: which of the answers at hand to serve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from skr_core.candidates import CandidateAnswer
from skr_core.errors import DataError, InputError
from skr_core.files.arrays import BROKEN
from skr_core.flow import Flow, arun, run
from skr_core.models.embedders import HashingEmbedder
from skr_core.routers.saving import (
    ARBITER_FILE,
    SavedPart,
    embedder_stamp,
    read_saved,
)
from skr_core.types import Action, Stamp, Verdict
from skr_learn.arbiters.answers import Seen
from skr_learn.arbiters.estimate import Estimate
from skr_learn.arbiters.serving import HeldOut, verdict_of
from skr_learn.arbiters.views import Measured, Views
from skr_learn.learning.outcomes import actions_of
from skr_learn.learning.regression import is_exact
from skr_learn.learning.rows import Floats
from skr_learn.learning.signals import groups_of, shared_stamp
from skr_learn.self_knowledge.records import SelfKnowledge

if TYPE_CHECKING:
    from skr_core.ports import Embedder, LanguageModel, Retriever


class Arbiter:
    """Estimates of each answer at hand how likely it is right, and serves the likeliest.

    It is learnt from records of self-knowledge, whose outcomes say which answers were right; it
    calls no model. In W2R's words it undoes "corruption", in SKR's it keeps the answers that
    retrieval "hurts". Make one with `fit`.

    Attributes:
        actions: Whose answers it weighs, from the cheapest to the dearest.
        embedder: For questions and answers.
        stamp: What the records were made with.
        needs_likelihoods: Whether it has learnt from the answers' likelihoods (`Margins`), which
            ``Settings(likelihoods=...)`` then has to tell of new ones.

    Example:
        >>> records = [
        ...     SelfKnowledge.of(f"What is {n} plus 1?", direct=(f"{n + 1}", 1), single=("Adam", 0))
        ...     for n in range(40)
        ... ] + [
        ...     SelfKnowledge.of(f"Who led team {n}?", direct=("7", 0), single=(f"Ada {n}", 1))
        ...     for n in range(40)
        ... ]
        >>> arbiter = Arbiter.fit(records)
        >>> answers = {"direct": CandidateAnswer("42"), "single": CandidateAnswer("Adam")}
        >>> arbiter.judge("What is 41 plus 1?", answers).served
        'direct'
    """

    def __init__(
        self,
        estimate: Estimate,
        actions: Sequence[Action],
        embedder: Embedder,
        stamp: Stamp = Stamp(),
        *,
        needs_likelihoods: bool = False,
    ) -> None:
        self._estimate, self.embedder, self.stamp = estimate, embedder, stamp
        self.needs_likelihoods = needs_likelihoods
        self.actions: tuple[Action, ...] = tuple(actions)

    @classmethod
    def fit(
        cls,
        records: Sequence[SelfKnowledge],
        *,
        actions: Sequence[Action] | None = None,
        embedder: Embedder | None = None,
    ) -> Self:
        """Learn from records.

        Args:
            records: Of self-knowledge.
            actions: Whose answers to weigh; by default those that every record holds.
            embedder: For questions and answers; a `HashingEmbedder` by default.

        Raises:
            InputError: There is no record, or one lacks an action.
        """
        return cls.with_held_out(records, actions=actions, embedder=embedder)[0]

    @classmethod
    def with_held_out(
        cls,
        records: Sequence[SelfKnowledge],
        *,
        actions: Sequence[Action] | None = None,
        embedder: Embedder | None = None,
        measured: Measured | None = None,
    ) -> tuple[Self, HeldOut]:
        """The same, with what it would have served of each record without having seen it.

        Args:
            records: As above.
            actions: As above.
            embedder: As above.
            measured: What their answers show, where that has been measured already.
        """
        if not records:
            raise InputError("an arbiter is fitted on records of self-knowledge; none were given")
        embedder = embedder or HashingEmbedder()
        chosen = actions_of(records, actions)
        measured = measured or Measured.of(records, chosen, embedder)
        asked = measured.have_margins
        views = measured.views(len(chosen), margins=asked)
        scores = np.array([[each.outcomes[action].score for action in chosen] for each in records])
        estimate = Estimate.fit(views, scores)
        chances = estimate.held_out(views, scores, groups_of(records))
        fitted = cls(estimate, chosen, embedder, shared_stamp(records), needs_likelihoods=asked)
        return fitted, HeldOut(chances, scores)

    def judge(self, question: str, answers: Mapping[Action, CandidateAnswer]) -> Verdict:
        """Which of the answers to serve.

        Args:
            question: What was asked.
            answers: Of every one of `actions`.

        Raises:
            InputError: An answer is missing.
        """
        return run(self._verdict(question, answers))

    async def ajudge(self, question: str, answers: Mapping[Action, CandidateAnswer]) -> Verdict:
        """The same, awaited."""
        return await arun(self._verdict(question, answers))

    def chances(self, seen: Sequence[Seen]) -> Floats:
        """The estimated chances of many questions' answers at once, shape (n, a)."""
        asked = self.needs_likelihoods
        return self._estimate.chances(Views.of(seen, self.actions, self.embedder, margins=asked))

    @property
    def estimate(self) -> Estimate:
        """Of how likely each answer is right."""
        return self._estimate

    def arrays(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Parameters and arrays for a file."""
        exact = is_exact(self._estimate.ridge)
        parameters = {
            "actions": list(self.actions),
            "exact": exact,
            "needs_likelihoods": self.needs_likelihoods,
        }
        return parameters, self._estimate.arrays()

    @classmethod
    def from_arrays(
        cls,
        parameters: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        embedder: Embedder,
        stamp: Stamp = Stamp(),
    ) -> Self:
        """An arbiter from what `arrays` returned."""
        estimate = Estimate.from_arrays(arrays, exact=bool(parameters["exact"]))
        asked = bool(parameters.get("needs_likelihoods"))
        actions = tuple(parameters["actions"])
        return cls(estimate, actions, embedder, stamp, needs_likelihoods=asked)

    def save(self, path: str | Path) -> None:
        """Write the arbiter to a folder, which may be that of a router.

        Example:
            >>> import tempfile
            >>> records = [SelfKnowledge.of(f"{n}?", direct=("a", 1), single=("b", 0))
            ...            for n in range(9)]
            >>> folder = tempfile.mkdtemp()
            >>> Arbiter.fit(records).save(folder)
            >>> Arbiter.load(folder).actions
            ('direct', 'single')
        """
        stamp = {**asdict(self.stamp), **embedder_stamp(self.embedder)}
        SavedPart("arbiter", stamp, *self.arrays(), part="arbiter").write(path)

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
        """Read an arbiter that `save` wrote.

        Args:
            path: The folder.
            model: The one that will answer; compared with that of the records.
            retriever: The one that will search; compared with that of the records.
            embedder: Needed where the arbiter was fitted with one of the user's own.
            force: Take it although it was made with another model, retriever or embedder.

        Raises:
            InputError: There is no such arbiter, or it needs an embedder.
            DataError: Its files are broken.
            StampMismatch: It was made with another model, retriever or embedder.
        """
        saved = read_saved(path, "arbiter")
        made_with = saved.embedder_beside(model, retriever, embedder, force=force)
        try:
            return cls.from_arrays(saved.parameters, saved.arrays, made_with, saved.made_of)
        except BROKEN as error:
            raise DataError(Path(path) / ARBITER_FILE, None, f"it lacks {error}") from error

    def _verdict(self, question: str, answers: Mapping[Action, CandidateAnswer]) -> Flow[Verdict]:
        if missing := [action for action in self.actions if action not in answers]:
            raise InputError(f"an answer is missing: {', '.join(missing)}")
        seen = Seen(question, {action: answers[action] for action in self.actions})
        chances = yield from self._estimate.chances_of(
            seen, self.actions, self.embedder, margins=self.needs_likelihoods
        )
        return verdict_of(seen, chances)
