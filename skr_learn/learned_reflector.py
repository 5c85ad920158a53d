"""LearnedReflector: is this draft right, given its references? Learnt from the user's records."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from skr_core.candidates import CandidateAnswer
from skr_core.errors import DataError, InputError
from skr_core.files.arrays import BROKEN
from skr_core.flow import Flow, arun, run
from skr_core.models.embedders import HashingEmbedder
from skr_core.references.citations import without_markers
from skr_core.replies.refusals import is_refusal
from skr_core.replies.reply import cited_numbers
from skr_core.rivals import standing_in
from skr_core.routers.saving import SavedPart, embedder_stamp, read_saved
from skr_core.types import Action, Reference, Reflection, Stamp
from skr_learn.arbiters.answers import Seen, in_outcome
from skr_learn.arbiters.estimate import Estimate
from skr_learn.arbiters.views import Views
from skr_learn.learning.regression import is_exact
from skr_learn.learning.rows import Floats
from skr_learn.learning.signals import groups_of, shared_stamp
from skr_learn.self_knowledge.records import SelfKnowledge

if TYPE_CHECKING:
    from skr_core.ports import Embedder, LanguageModel, Retriever


class LearnedReflector:
    """Sends a draft back whose estimated chance of being right is too low; costs no call.

    The estimate is an arbiter's, of one answer: from the question, the form of the draft, and how
    it stands in its references. Make one with `fit`.

    Attributes:
        embedder: For questions and drafts.
        threshold: The chance from which on a draft suffices.
        stamp: What the records were made with.

    Example:
        >>> records = [
        ...     SelfKnowledge.of(f"Who led team {n}?", direct=("", 0), single=("Ada", 1))
        ...     if n % 2
        ...     else SelfKnowledge.of(f"Who led {n}?", direct=("", 0), single=("no one", 0))
        ...     for n in range(60)
        ... ]
        >>> reflector = LearnedReflector.fit(records)
        >>> reflector.reflect("Who led 61?", [], "no one").sufficient
        False
    """

    def __init__(
        self, estimate: Estimate, embedder: Embedder, threshold: float, stamp: Stamp = Stamp()
    ) -> None:
        self._estimate, self.embedder = estimate, embedder
        self.threshold, self.stamp = threshold, stamp

    @cached_property
    def name(self) -> str:
        """For the stamp of what is made with it: tells one that learnt something else apart."""
        learnt = hashlib.blake2b(repr(self.threshold).encode(), digest_size=4)
        for _, array in sorted(self._estimate.arrays().items()):
            learnt.update(np.ascontiguousarray(array).tobytes())
        return f"learned:{learnt.hexdigest()}"

    @classmethod
    def fit(cls, records: Sequence[SelfKnowledge], *, embedder: Embedder | None = None) -> Self:
        """Learn from the answers with references on record.

        Its threshold is the one at which most of the records, each without itself, are judged
        rightly.

        Args:
            records: Of self-knowledge.
            embedder: For questions and drafts; a `HashingEmbedder` by default.

        Raises:
            InputError: There is no record.
        """
        return cls.with_held_out(records, embedder=embedder)[0]

    @classmethod
    def with_held_out(
        cls, records: Sequence[SelfKnowledge], *, embedder: Embedder | None = None
    ) -> tuple[Self, Floats]:
        """The same, with the estimated chance of each draft without its record, shape (n,)."""
        if not records:
            raise InputError("a reflector is fitted on records of self-knowledge; none were given")
        embedder = embedder or HashingEmbedder()
        seen = [_on_record(record) for record in records]
        right = np.array([[record.retrieved.score] for record in records])
        views = Views.of(seen, _ALONE, embedder)
        estimate = Estimate.fit(views, right)
        chances = estimate.held_out(views, right, groups_of(records))[:, 0]
        threshold = best_threshold(chances, right[:, 0])
        return cls(estimate, embedder, threshold, shared_stamp(records)), chances

    def save(self, path: str | Path) -> None:
        """Write the reflector to a folder, which may be that of a router.

        Example:
            >>> import tempfile
            >>> records = [SelfKnowledge.of(f"{n}?", direct=("a", 1), single=("b", 0))
            ...            for n in range(9)]
            >>> reflector, folder = LearnedReflector.fit(records), tempfile.mkdtemp()
            >>> reflector.save(folder)
            >>> LearnedReflector.load(folder).name == reflector.name
            True
        """
        stamp = {**asdict(self.stamp), **embedder_stamp(self.embedder)}
        parameters = {"threshold": self.threshold, "exact": is_exact(self._estimate.ridge)}
        arrays = self._estimate.arrays()
        SavedPart("learned", stamp, parameters, arrays, part="reflector").write(path)

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
        """Read a reflector that `save` wrote.

        Args:
            path: The folder.
            model: The one that will answer; compared with that of the records.
            retriever: The one that will search; compared with that of the records.
            embedder: Needed where the reflector was fitted with one of the user's own.
            force: Take it although it was made with another model, retriever or embedder.

        Raises:
            InputError: There is no such reflector, or it needs an embedder.
            DataError: Its files are broken.
            StampMismatch: It was made with another model, retriever or embedder.
        """
        saved = read_saved(path, "reflector")
        made_with = saved.embedder_beside(model, retriever, embedder, force=force)
        try:
            estimate = Estimate.from_arrays(saved.arrays, exact=bool(saved.parameters["exact"]))
            threshold = float(saved.parameters["threshold"])
        except BROKEN as error:
            raise DataError(Path(path) / "reflector.json", None, f"it lacks {error}") from error
        return cls(estimate, made_with, threshold, saved.made_of)

    def reflect(self, question: str, references: Sequence[Reference], draft: str) -> Reflection:
        """Judge a draft."""
        return run(self._reflection(question, references, draft))

    async def areflect(
        self, question: str, references: Sequence[Reference], draft: str
    ) -> Reflection:
        """The same, awaited."""
        return await arun(self._reflection(question, references, draft))

    def _reflection(
        self, question: str, references: Sequence[Reference], draft: str
    ) -> Flow[Reflection]:
        if is_refusal(draft):
            return Reflection(False, "the model finds the references insufficient")
        seen = Seen(question, {"single": _in_draft(references, draft)})
        chances = yield from self._estimate.chances_of(seen, _ALONE, self.embedder)
        chance = float(chances[0])
        reason = f"the draft is right with an estimated chance of {chance:.0%}"
        return Reflection(chance >= self.threshold, f"{reason}; {self.threshold:.0%} suffice")


_ALONE: tuple[Action, ...] = ("single",)
"""A draft stands alone: no other answer is at hand."""


def _on_record(record: SelfKnowledge) -> Seen:
    answer = in_outcome(record.retrieved)
    if answer.standing is not None:
        answer = replace(answer, standing=replace(answer.standing, direct=0.0, direct_cited=0.0))
    return Seen(record.question, {"single": answer})


def _in_draft(references: Sequence[Reference], draft: str) -> CandidateAnswer:
    text = without_markers(draft)
    standing = standing_in("", text, [reference.text for reference in references])
    grounded = bool(cited_numbers(draft, len(references)))
    return CandidateAnswer(text, grounded=grounded, standing=standing)


def best_threshold(chances: Floats, right: Floats) -> float:
    """The chance that parts right from wrong answers with the fewest errors.

    Args:
        chances: That each is right, shape (n,).
        right: Whether each is, 0 to 1, shape (n,).

    Example:
        >>> round(best_threshold(np.array([0.9, 0.3]), np.array([1.0, 0.0])), 3)
        0.6
    """
    order = np.argsort(chances)
    gained = np.concatenate([[0.0], np.cumsum(1 - 2 * right[order])])  # by sending back so many
    best = int(np.argmax(gained))
    edges = np.concatenate([[0.0], chances[order], [1.0]])
    return float((edges[best] + edges[best + 1]) / 2)
