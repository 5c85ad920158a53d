"""Training: records with all that is read of them, once for all that learn from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skr_core._compat import cached_property
from skr_core.models.embedders import HashingEmbedder
from skr_learn.costs import ActionTable
from skr_learn.features.views import Seen, Views, stated_in, texts_of
from skr_learn.records import Record, question_groups
from skr_learn.routers.base import question_hashes, shared_stamp
from skr_learn.stages import Looks, Outlook, Serves, Stage, fit_question_stage, fit_stages

if TYPE_CHECKING:
    from skr_core.ports import Embedder

Indices = NDArray[np.int64]


@dataclass
class Training:
    """Records with all that is read of them, once.

    Attributes:
        records: n records.
        table: What their actions were worth and cost.
        embedder: The user's own; None for words alone.
    """

    records: Sequence[Record]
    table: ActionTable
    embedder: Embedder | None = None
    _fitted: dict[tuple[str, str], Any] = field(default_factory=dict, repr=False)

    @cached_property
    def groups(self) -> Indices:
        """A number for each question; equal questions have the same, shape (n,)."""
        return question_groups(self.records)

    @cached_property
    def seen(self) -> list[Seen]:
        """The questions with all of their answers."""
        return [record.seen(self.table.actions) for record in self.records]

    @cached_property
    def views(self) -> Views:
        """What the questions and all of their answers show."""
        vectors = None if self.embedder is None else self.embedder.embed(texts_of(self.seen))
        return Views(self.seen, vectors)

    def views_of(self, looks: Looks) -> Views:
        """What the questions show to who looks at this."""
        return self.views.with_searches(self.seen) if looks == "search" else self.views

    def table_of(self, looks: Looks) -> ActionTable:
        """What the actions cost who looks at this."""
        if looks == "question":
            return self.table
        return self.table.after_search() if looks == "search" else self.table.after_draft()

    @cached_property
    def remembering(self) -> RememberingEmbedder:
        """The embedder of routers that compare questions by vectors; hashing by default."""
        if isinstance(self.embedder, RememberingEmbedder):
            return self.embedder
        return RememberingEmbedder(self.embedder or HashingEmbedder())

    @cached_property
    def parts(self) -> dict[str, Any]:
        """What every policy of these records is made with."""
        return {
            "embedder": self.embedder,
            "stamp": shared_stamp(self.records),
            "questions": question_hashes(self.records),
            "stated": stated_in(self.seen),
        }

    def stages(self, looks: Looks, serves: Serves) -> tuple[tuple[Stage, ...], Outlook]:
        """Learn the stages of a policy, and what they expect of each record without it; once."""
        key = looks if looks in ("question", "search") else ""
        if (key, serves) not in self._fitted:
            scores, costs = self.table.scores, self.table_of(looks).costs.mean(axis=0)
            if looks == "question":
                found = fit_question_stage(self.views.whole(0), scores, costs, self.groups)
            else:
                found = fit_stages(self.views_of(looks), scores, costs, self.groups, serves)
            self._fitted[key, serves] = found
        stages: tuple[tuple[Stage, ...], Outlook] = self._fitted[key, serves]
        return stages


class RememberingEmbedder:
    """Embeds each text once, while several candidates are compared on the same questions.

    Args:
        embedder: The embedder that is asked.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder, self.name = embedder, embedder.name
        self._known: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts, shape (n, d)."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._known]
        if missing:
            self._known.update(zip(missing, self.embedder.embed(missing), strict=True))
        return np.array([self._known[text] for text in texts])

    async def aembed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Async version of `embed`, which remembers nothing."""
        return await self.embedder.aembed(texts)
