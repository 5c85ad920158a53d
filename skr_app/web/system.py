"""The system that the page asks: its settings, its store, its router, and what it is told to do."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from skr_app.web.runs import Runs
from skr_app.web.streaming import Told
from skr_core.budget import Price, cost, price_of
from skr_core.prompts.asking import checked_question
from skr_core.routers.constant import AlwaysRetrieve, FixedDecision
from skr_core.settings import Settings
from skr_core.types import Action, Usage
from skr_graphs import SKRContext, answer_of, create_self_completion_graph, without_messages
from skr_graphs.answerer import DECISIONS
from skr_store.chroma_store import ChromaStore


@dataclass
class ServedSystem:
    """What answers the page's questions.

    Attributes:
        settings: Of the system; another router may take the place of its own while it is served.
        store: That is searched, and that uploads go to.
        runs: The history.
        prices: Of models' tokens; None where nobody gave any.
    """

    settings: Settings
    store: ChromaStore
    runs: Runs
    prices: Mapping[str, Price] | None = None

    def __post_init__(self) -> None:
        self.serve(self.settings)

    def serve(self, settings: Settings) -> None:
        """Answer with other settings from the next question on."""
        self.settings = settings
        self._graph: Any = create_self_completion_graph(**vars(settings)).compile(name="skr")
        # How a person wants a question answered is neither routed nor weighed.
        alone = settings.but(arbiter=None, router=AlwaysRetrieve())
        self._alone: Any = create_self_completion_graph(**vars(alone)).compile(name="skr")

    async def ask(
        self, question: str, conversation: str | None = None, action: Action | None = None
    ) -> AsyncGenerator[Told]:
        """Answer a question and tell the graph's events, then the run that is kept.

        Args:
            question: What is asked.
            conversation: That it belongs to.
            action: How it is to be answered; None leaves it to the router.

        Raises:
            InputError: The question is empty or too long.
            ModelError: The model failed.
            RetrieverError: Every search failed.
        """
        given = {
            "question": checked_question(question),
            "history": self.runs.turns(conversation) if conversation else [],
        }
        graph, router = self._graph, None
        if action is not None:
            graph, router = self._alone, FixedDecision(DECISIONS[action])
        context = SKRContext(stream=True, router=router)
        told: list[Any] = []
        output: Any = None
        begun = time.monotonic()
        stream = graph.astream(given, context=context, stream_mode=["custom", "values"])
        async with aclosing(stream):
            async for mode, event in stream:
                if mode == "values":
                    output = event
                else:
                    told.append(event)
                    yield "", event
        run = await self.runs.keep(
            without_messages(output),
            told,
            conversation=conversation,
            action=action,
            model=self.settings.model.name,
            seconds=time.monotonic() - begun,
            usd=self._usd(answer_of(output).total_usage),
        )
        yield "run", run

    def _usd(self, usage: Usage) -> float | None:
        if self.prices is None:
            return None
        return cost(usage, price_of(self.prices, self.settings.model.name))
