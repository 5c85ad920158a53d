"""Routers and a ladder replayed on recorded answers: what they would have served, at which cost.

Every source is cross-fitted over draws of five folds; no model is asked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from skr_core.ports import Embedder
from skr_lab.experiment import Bench, Experiment, Found, Recorded
from skr_lab.opening import Result, Row, open_embedder, progress
from skr_learn.arbiters.ladder import Ladder
from skr_learn.calibration.candidates import Combined
from skr_learn.calibration.judging import GroupResult
from skr_learn.calibration.replaying import THREE, replay
from skr_learn.calibration.weighing import Known
from skr_learn.learning.folds import folds
from skr_learn.learning.outcomes import ActionTable
from skr_learn.learning.pricing import best_actions
from skr_learn.learning.rule import Aim
from skr_learn.learning.signals import Training
from skr_learn.metrics import Interval, bootstrap
from skr_learn.self_knowledge import read_self_knowledge
from skr_learn.self_knowledge.records import SelfKnowledge

ROUTERS = ("paper", "benefit", "classifier", "combined", "combined-question", "recommended")
OF_THREE = ("never", "always", "multistep", "combined-question", "combined")
BUDGET = 1.85
"""Retrievals a question, where routers choose among three actions."""
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
BUDGETS = (0.4, 0.75, 1.0, 1.25, 1.5, 1.85, 2.25, 2.75, 3.35)
COST_WEIGHTS = np.geomspace(0.01, 2.0, 20)


class ReplayedRouting(Experiment):
    """How accurate is each router, at how many retrievals, on every source of records?"""

    name: ClassVar[str] = "replayed-routing"
    reproduces: ClassVar[str] = "SKR Table 1 and Figure 4, W2R Table 5, on recorded answers"

    data: Path = Field(default_factory=lambda: Path(os.environ.get("SKR_DATA", "data")))
    """The folder of recorded data."""
    embedder: str = "hashing"
    """The embedder of questions."""
    seeds: int = Field(default=5, ge=1)
    """Times that the folds are drawn."""

    async def run(self, bench: Bench) -> Found:
        """Replay every source, and three actions on the pooled one."""
        embedder = open_embedder(self.embedder)
        settings = {"embedder": embedder.name, "seeds": f"{self.seeds} draws of five folds"}
        bench.open_folder(command=self.name, **settings)
        pooled, sources = self._records(POOLED), list(self._sources())
        rows: list[Row] = []
        with progress("Replaying") as advance:
            found = replay(
                pooled, routers=ROUTERS, by="extra.dataset", embedder=embedder, seeds=self.seeds
            )
            rows += _rows("adarague, all six", found.overall)
            for name, group in found.groups.items():
                rows += _rows(f"adarague/{name}, fitted on all", group)
            for place, (name, records) in enumerate(sources, start=1):
                found = replay(records, routers=ROUTERS, embedder=embedder, seeds=self.seeds)
                rows += _rows(name, found.overall)
                advance(place, len(sources) + 1)
            three = replay(
                pooled,
                actions=THREE,
                budget=BUDGET,
                routers=OF_THREE,
                embedder=embedder,
                seeds=self.seeds,
            )
            rows += _rows(f"adarague, three actions within {BUDGET:g}", three.overall)
        result = Result(
            self.name,
            "how accurate is each router, at how many retrievals?",
            settings,
            tuple(rows),
            plotted=("accuracy", "gain"),
        )
        return Found(result, {}, {"sources": len(sources) + 1})

    def _records(self, name: str) -> list[SelfKnowledge]:
        path = self.data / f"{name}.jsonl.gz"
        return read_self_knowledge(path, skip_bad=self.skip_bad, mixed_stamps=True)[: self.limit]

    def _sources(self) -> Iterator[tuple[str, list[SelfKnowledge]]]:
        """Records of one source and one model each: what one user would have."""
        for file in OTHERS:
            made: dict[tuple[str, str], list[SelfKnowledge]] = {}
            for record in self._records(file):
                source = str(record.extra.get("source", file))
                model = record.stamp.model.partition(" (")[0]
                made.setdefault((source, model), []).append(record)
            for (source, model), some in sorted(made.items()):
                if len(some) >= FEWEST:
                    yield f"{source}, {model}", some


class ReplayedLadder(Recorded):
    """What accuracy does a ladder reach at each budget of retrievals, beside a router?"""

    name: ClassVar[str] = "replayed-ladder"
    reproduces: ClassVar[str] = "SKR, W2R and RaLLM together, on recorded answers"

    embedder: str = "hashing"
    """The embedder of questions."""

    async def run(self, bench: Bench) -> Found:
        """Climb at every budget; the weight of cost is set on the folds that are fitted on."""
        embedder = open_embedder(self.embedder)
        records = read_self_knowledge(self.recorded, skip_bad=self.skip_bad, mixed_stamps=True)
        records = records[: self.limit]
        table = ActionTable.of(records, actions=THREE, unit="retrievals")
        known = Known.of(Training.of(records, embedder, table=table), embedder)
        settings = {"recorded": f"{self.recorded.name} ({len(records)})", "embedder": self.embedder}
        bench.open_folder(command=self.name, **settings)
        with progress("Climbing"):
            rows = [
                *_ladder_rows(known, embedder),
                *_router_rows(known.training, embedder),
                *_oracle_rows(table),
                *_constant_rows(table),
            ]
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
    """A row for each router on a group, and one for the oracle."""
    for name, found in group.routers.items():
        figures = {
            "retrieval_rate": found.retrieval_rate,
            "retrievals": found.retrievals,
            "model_calls": found.model_calls,
            "saved_at_parity": found.saved_at_parity,
        }
        cells = {
            "accuracy": found.accuracies,
            "regret": found.regret,
            "gain": found.gain,
            "area_gain": found.area_gain,
            **{name: Interval(value, value, value, group.n) for name, value in figures.items()},
        }
        yield Row(f"{source}: {name}", cells)
    for name, value in (
        ("never", group.never),
        ("always", group.always),
        ("oracle", group.oracle),
    ):
        if name not in group.routers:
            yield Row(f"{source}: {name}", {"accuracy": Interval(value, value, value, group.n)})


Chosen = NDArray[np.int64]
"""Indices of actions, one a question."""


def _row(name: str, line: str, table: ActionTable, served: Chosen, paid: Chosen) -> Row:
    rows = np.arange(len(table))
    accuracy = bootstrap(table.scores[rows, served].tolist())
    retrievals = bootstrap(table.costs[rows, paid].tolist())
    return Row(name, {"accuracy": accuracy, "retrievals": retrievals}, retrievals.mean, line)


def _ladder_rows(known: Known, embedder: Embedder) -> Iterator[Row]:
    table, groups = known.training.table, known.training.groups
    served, paid = np.zeros((2, len(BUDGETS), len(table)), dtype=np.int64)
    for fit, judge in folds(groups):
        some = known[fit]
        ladder, held_out = Ladder.of_views(
            some.views, some.training.table, some.training.groups, embedder
        )
        climb = ladder.climb(known[judge].views)
        for place, budget in enumerate(BUDGETS):
            ends = climb.ends(held_out.price_within(budget))
            served[place, judge], paid[place, judge] = climb.answers(ends), ends
    for place, budget in enumerate(BUDGETS):
        yield _row(f"ladder within {budget:g}", "ladder", table, served[place], paid[place])


def _router_rows(training: Training, embedder: Embedder) -> Iterator[Row]:
    candidate = Combined("combined", drafts=True)
    taken = np.zeros((len(BUDGETS), len(training)), dtype=np.int64)
    for fit, judge in folds(training.groups):
        router = candidate.fit(training[fit], embedder)
        held_out = candidate.held_out(training[fit], embedder, router)
        found = candidate.expected(router, training[judge])
        for place, budget in enumerate(BUDGETS):
            weight = Aim(budget=budget).rule(held_out).price
            taken[place, judge] = best_actions(found.scores, found.costs, weight)
    for place, budget in enumerate(BUDGETS):
        name = f"router (combined) within {budget:g}"
        yield _row(name, "router (combined)", training.table, taken[place], taken[place])


def _oracle_rows(table: ActionTable) -> Iterator[Row]:
    """The cheapest right answer at any weight of cost; the oracle knows the scores."""
    for weight in COST_WEIGHTS:
        taken = best_actions(table.scores, table.costs, float(weight))
        yield _row(f"oracle at a cost weight of {weight:.2g}", "oracle", table, taken, taken)


def _constant_rows(table: ActionTable) -> Iterator[Row]:
    for place, action in enumerate(THREE):
        taken = np.full(len(table), place)
        yield _row(f"always {action}", "constants", table, taken, taken)
