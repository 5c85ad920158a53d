"""Routers replayed on recorded answers: what they would have served, at which cost.

Every source is cross-fitted over five folds; no model is asked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from skr_core.types import Action
from skr_lab.experiment import Bench, Experiment, Found, Recorded
from skr_lab.opening import Result, Row, open_embedder, progress
from skr_learn import Records, replay
from skr_learn.aims import Aim, Baseline
from skr_learn.calibrating import judge
from skr_learn.candidates import candidates_of
from skr_learn.costs import ASSUMED_STEPS
from skr_learn.metrics import mean_by_question
from skr_learn.records import Record
from skr_learn.replaying import GroupResult, training_of
from skr_learn.training import Training

TWO: tuple[Action, ...] = ("direct", "single")
THREE: tuple[Action, ...] = ("direct", "single", "loop")
ROUTERS = ("question", "ladder", "arbiter", "benefit", "paper", "classifier", "recommended")
POLICIES = ("ladder", "question")
"""Those that keep to any budget."""
RATES = (0.4, 0.6, 0.8)
"""Shares of the questions retrieved for, where routers choose between two actions."""
BUDGETS = (0.5, 0.75, 1.0, 1.4, 1.85, 2.5, 3.35)
"""Retrievals a question, where they choose among three."""
POOLED = "adarague_llama31_8b_dev"
"""Six question sets answered by one model: pooled for fitting, judged apart."""
OTHERS = (
    "adarague_table_llama31_8b_train",
    "realtimeqa_gpt3_2022_2023",
    "realtimeqa_models_2026",
    "skr_temporalqa_instructgpt",
    "whentoretrieve_nq_chatgpt",
)
FEWEST = 100
"""Sources with fewer questions have intervals as wide as anything they could show."""
DATASET = "extra.dataset"


class ReplayedRouting(Experiment):
    """How accurate is each router, at how many retrievals, on every source of records?"""

    name: ClassVar[str] = "replayed-routing"
    reproduces: ClassVar[str] = "SKR Table 1 and Figure 4, W2R Table 5, on recorded answers"

    data: Path = Field(default_factory=lambda: Path(os.environ.get("SKR_DATA", "data")))
    """The folder of recorded data."""
    embedder: str | None = None
    """The embedder that is looked at beside words."""
    assumed_steps: float = Field(default=ASSUMED_STEPS, ge=1)
    """The retrievals of a loop that nobody counted."""

    async def run(self, bench: Bench) -> Found:
        """Replay every source between two actions, and the pooled one among three."""
        known: dict[str, Any] = {"cost": "retrievals", "assumed_steps": self.assumed_steps}
        if self.embedder is not None:
            known["embedder"] = open_embedder(self.embedder)
        settings = {"embedder": self.embedder or "words alone"}
        bench.open_folder(command=self.name, **settings)
        pooled, sources = self._records(POOLED), list(self._sources())
        rows: list[Row] = []
        with progress("Replaying") as advance:
            found = replay(pooled, routers=ROUTERS, actions=TWO, by=DATASET, **known)
            rows += _rows("adarague, all six", found.overall)
            for name, group in found.groups.items():
                rows += _rows(f"adarague/{name}, fitted on all", group)
            for rate in RATES:
                found = replay(
                    pooled, routers=["question"], actions=TWO, retrieval_rate=rate, **known
                )
                rows += _rows(f"adarague, {rate:.0%} retrieved for", found.overall)
            found = replay(pooled, routers=ROUTERS, actions=THREE, by=DATASET, **known)
            rows += _rows("adarague, three actions", found.overall)
            for name, group in found.groups.items():
                rows += _rows(f"adarague/{name}, three actions", group)
            for place, (name, records) in enumerate(sources, start=1):
                found = replay(records, routers=ROUTERS, actions=TWO, **known)
                rows += _rows(name, found.overall)
                advance(place, len(sources))
        result = Result(
            self.name,
            "how accurate is each router, at how many retrievals?",
            settings,
            tuple(rows),
            plotted=("accuracy", "over_always"),
        )
        return Found(result, {}, {"sources": len(sources) + 1})

    def _records(self, name: str) -> Records:
        path = self.data / f"{name}.jsonl.gz"
        return Records.read(path, skip_bad=self.skip_bad, mixed_stamps=True)[: self.limit]

    def _sources(self) -> Iterator[tuple[str, list[Record]]]:
        """Records of one source and one model each: what one user would have."""
        for file in OTHERS:
            made: dict[tuple[str, str], list[Record]] = {}
            for record in self._records(file):
                source = str(record.extra.get("source", file))
                made.setdefault((source, record.stamp.model), []).append(record)
            for (source, model), some in sorted(made.items()):
                if len(some) >= FEWEST:
                    yield f"{source}, {model}", some


class ReplayedLadder(Recorded):
    """What accuracy does a ladder reach at each budget of retrievals, beside a router?"""

    name: ClassVar[str] = "replayed-ladder"
    reproduces: ClassVar[str] = "SKR, W2R and RaLLM together, on recorded answers"

    embedder: str | None = None
    """The embedder that is looked at beside words."""

    async def run(self, bench: Bench) -> Found:
        """Replay at every budget; everything is fitted once."""
        records = Records.read(self.recorded, skip_bad=self.skip_bad, mixed_stamps=True)
        records = records[: self.limit]
        embedder = None if self.embedder is None else open_embedder(self.embedder)
        settings = {
            "recorded": self.told(each.question for each in records),
            "embedder": self.embedder or "words alone",
        }
        bench.open_folder(command=self.name, **settings)
        with progress("Replaying"):
            training = training_of(records, embedder=embedder, actions=THREE, cost="retrievals")
            rows = list(_rows_at_budgets(training))
        result = Result(
            self.name,
            "what accuracy does a ladder reach at each budget of retrievals?",
            settings,
            tuple(rows),
            plotted=("accuracy",),
            over="retrievals a question",
        )
        return Found(result, {}, {"n": len(records)})


def _rows(source: str, group: GroupResult) -> Iterator[Row]:
    """A row for each router on a group, and one for each action that is always taken."""
    for name, found in group.routers.items():
        cells = {
            "accuracy": found.accuracy,
            "over_always": found.over_always,
            "over_best": found.over_best,
            "corruption": found.corruption,
            "retrieval_rate": found.retrieval_rate,
            "retrievals": found.cost,
            "model_calls": found.calls,
        }
        yield Row(f"{source}: {name}", cells)
    for action, accuracy in group.constants.items():
        yield Row(f"{source}: always {action}", {"accuracy": accuracy})


def _rows_at_budgets(training: Training) -> Iterator[Row]:
    baseline = Baseline.of(training.table)
    for candidate in candidates_of([*POLICIES, "never", "always", "loop"], THREE):
        for budget in BUDGETS if candidate.name in POLICIES else (None,):
            found = judge(candidate, training, Aim(budget=budget), baseline, anyway=True)
            assert found is not None  # anyway
            accuracy = mean_by_question(found.served.scores, training.groups)
            retrievals = mean_by_question(found.served.costs, training.groups)
            name = candidate.name if budget is None else f"{candidate.name} within {budget:g}"
            line = "constants" if budget is None else candidate.name
            cells = {"accuracy": accuracy, "retrievals": retrievals}
            yield Row(name, cells, retrievals.mean, line)
