"""LearnedReflector: is this draft right, given its references? Learnt from the user's records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np

from skr_core.arbiters.answers import Seen, SeenAnswer
from skr_core.arbiters.estimate import Estimate
from skr_core.arbiters.views import Views
from skr_core.errors import InputError
from skr_core.flow import Flow, arun, run
from skr_core.learning.rows import Floats
from skr_core.learning.signals import groups_of
from skr_core.models.embedders import HashingEmbedder
from skr_core.references.citations import without_markers
from skr_core.replies.refusal import is_refusal
from skr_core.replies.reply import cited_numbers
from skr_core.self_knowledge.records import SelfKnowledge
from skr_core.self_knowledge.standing import standing_in
from skr_core.types import Action, Reference, Reflection

if TYPE_CHECKING:
    from skr_core.ports import Embedder


class LearnedReflector:
    """Sends a draft back whose estimated chance of being right is too low; costs no call.

    The estimate is an arbiter's, of one answer: from the question, the form of the draft, and how
    it stands in its references. Make one with `fit`.

    Attributes:
        name: For the stamp of what is made with it.
        threshold: The chance from which on a draft suffices.

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

    name = "learned"

    def __init__(self, estimate: Estimate, embedder: Embedder, threshold: float) -> None:
        self._estimate, self._embedder, self.threshold = estimate, embedder, threshold

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
        return cls(estimate, embedder, _best_threshold(chances, right[:, 0])), chances

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
        chances = yield from self._estimate.chances_of(seen, _ALONE, self._embedder)
        chance = float(chances[0])
        reason = f"the draft is right with an estimated chance of {chance:.0%}"
        return Reflection(chance >= self.threshold, f"{reason}; {self.threshold:.0%} suffice")


_ALONE: tuple[Action, ...] = ("single",)
"""A draft stands alone: no other answer is at hand."""


def _on_record(record: SelfKnowledge) -> Seen:
    answer = SeenAnswer.in_outcome(record.retrieved)
    if answer.standing is not None:
        answer = replace(answer, standing=replace(answer.standing, direct=0.0, direct_cited=0.0))
    return Seen(record.question, {"single": answer})


def _in_draft(references: Sequence[Reference], draft: str) -> SeenAnswer:
    text = without_markers(draft)
    standing = standing_in("", text, [reference.text for reference in references])
    grounded = bool(cited_numbers(draft, len(references)))
    return SeenAnswer(text, grounded=grounded, standing=standing)


def _best_threshold(chances: Floats, right: Floats) -> float:
    """The chance that parts right from wrong answers with the fewest errors."""
    order = np.argsort(chances)
    gained = np.concatenate([[0.0], np.cumsum(1 - 2 * right[order])])  # by sending back so many
    best = int(np.argmax(gained))
    edges = np.concatenate([[0.0], chances[order], [1.0]])
    return float((edges[best] + edges[best + 1]) / 2)
