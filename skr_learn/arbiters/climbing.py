"""Climbing with one question: whether to go on from the answers at hand, and which to serve."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from skr_core.candidates import CandidateAnswer
from skr_core.errors import InputError
from skr_core.flow import Flow, call
from skr_core.types import Action, Decision, Verdict
from skr_learn.arbiters.answers import Seen
from skr_learn.arbiters.rungs import Outlook, Rung
from skr_learn.arbiters.serving import NAMES, verdict_of
from skr_learn.arbiters.views import Views, texts_seen
from skr_learn.learning.rows import Floats, aembed_texts, embed_texts
from skr_learn.learning.threads import one_thread

if TYPE_CHECKING:
    from skr_core.ports import Embedder


@dataclass(frozen=True)
class Climber:
    """The rungs of a ladder, asked about one question at a time.

    Attributes:
        rungs: What is estimated at each.
        actions: Whose answer each adds, from the cheapest to the dearest.
        costs: Of ending at each, on average, shape (rungs,).
        embedder: For questions and answers.
    """

    rungs: Sequence[Rung]
    actions: Sequence[Action]
    costs: Floats
    embedder: Embedder

    def decide(
        self, question: str, answers: Mapping[Action, CandidateAnswer], price: float
    ) -> Flow[Decision]:
        """Whether to go on from the rung that is reached.

        Raises:
            InputError: The direct answer is missing.
        """
        seen = self._seen(question, answers)
        views = yield from self._views(seen)
        return (yield from call(self._weigh, self._aweigh, views, len(seen.answers) - 1, price))

    def judge(self, question: str, answers: Mapping[Action, CandidateAnswer]) -> Flow[Verdict]:
        """Which answer to serve at the rung that is reached.

        Raises:
            InputError: The direct answer is missing.
        """
        seen = self._seen(question, answers)
        rung = self.rungs[len(seen.answers) - 1]
        views = yield from self._views(seen)
        if rung.estimate is None:
            chances = np.clip(rung.expected(views)[0, :1], 0.0, 1.0)
        else:
            chances = (yield from call(rung.estimate.chances, rung.estimate.achances, views))[0]
        return verdict_of(seen, chances)

    def _weigh(self, views: Views, rung: int, price: float) -> Decision:
        here, later = self.actions[rung], self.actions[rung + 1 :]
        if not later:
            return Decision(True, _rounds_of(here), reason=f"{NAMES[here]} is the last")
        with one_thread():
            expected = self.rungs[rung].expected(views)
        outlook = Outlook.of(expected, self.costs[rung:], price)
        gain, toll = float(outlook.gain[0]), float(outlook.toll[0])
        taken = later[-1] if outlook.goes_on[0] else here
        looked_at = " and ".join(NAMES[action] for action in self.actions[: rung + 1])
        return Decision(
            retrieve=taken != "direct",
            max_rounds=_rounds_of(taken),
            score=float(np.clip(gain, -1.0, 1.0)),
            threshold=toll,
            reason=(
                f"judging by {looked_at}, more retrieval changes accuracy by {gain:+.3f}, and its "
                f"cost is worth {toll:+.3f}"
            ),
        )

    async def _aweigh(self, views: Views, rung: int, price: float) -> Decision:
        # Work for the processor, which must not hold up an event loop.
        return await asyncio.to_thread(self._weigh, views, rung, price)

    def _views(self, seen: Seen) -> Flow[Views]:
        reached = list(seen.answers)
        texts = texts_seen([seen], reached)
        vectors = yield from call(embed_texts, aembed_texts, self.embedder, texts)
        return Views.of_vectors([seen], reached, vectors)

    def _seen(self, question: str, answers: Mapping[Action, CandidateAnswer]) -> Seen:
        """The answers up to the first that is missing."""
        reached: dict[Action, CandidateAnswer] = {}
        for action in self.actions:
            if action not in answers:
                break
            reached[action] = answers[action]
        if not reached:
            raise InputError(f"an answer is missing: {self.actions[0]}")
        return Seen(question, reached)


def _rounds_of(action: Action) -> int | None:
    """How many rounds of retrieval an action takes; None is what the budget says."""
    return 1 if action == "single" else None
