"""Accuracy against retrievals: a ladder at many budgets, beside a router, constants and oracle.

Cross-fitted over five folds of answers on record: direct, after one round, after the loop. At each
budget the price is set on the folds that are fitted on.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.rows import needed
from skr_core.models.embedders import make_embedder
from skr_core.ports import Embedder
from skr_learn.arbiters.ladder import Ladder
from skr_learn.calibration.candidates import Combined
from skr_learn.calibration.weighing import Known
from skr_learn.learning.folds import folds
from skr_learn.learning.outcomes import ActionTable
from skr_learn.learning.pricing import best_actions
from skr_learn.learning.rule import Aim
from skr_learn.learning.signals import Training
from skr_learn.self_knowledge import read_self_knowledge

RECORDS = "adarague_llama31_8b_dev.jsonl.gz"
BUDGETS = (0.4, 0.75, 1.0, 1.25, 1.5, 1.85, 2.25, 2.75, 3.35)
PRICES = np.geomspace(0.01, 2.0, 20)

Point = tuple[float, float]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--records", type=Path, help=f"in the place of {RECORDS}")
    parser.add_argument("--embedder", default="hashing", help="`hashing` or a model's folder")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="draw the curves into it")


def run(options: argparse.Namespace) -> None:
    [path] = [options.records] if options.records else needed(RECORDS)
    embedder = make_embedder(options.embedder)
    records = read_self_knowledge(path, mixed_stamps=True)
    table = ActionTable.of(records, actions=("direct", "single", "loop"), unit="retrievals")
    known = Known.of(Training.of(records, embedder, table=table), embedder)
    curves = {
        "ladder": ladder_curve(known, embedder),
        "router (combined)": router_curve(known.training, embedder),
        "oracle": oracle_curve(table),
        "constants": list(
            zip(table.costs.mean(axis=0).tolist(), table.scores.mean(axis=0).tolist(), strict=True)
        ),
    }
    print("| budget | ladder: accuracy | retrievals | router: accuracy | retrievals |")
    print("|---|---|---|---|---|")
    for budget, (spent, accuracy), (routed, by_router) in zip(
        BUDGETS, curves["ladder"], curves["router (combined)"], strict=True
    ):
        print(f"| {budget:g} | {accuracy:.3f} | {spent:.2f} | {by_router:.3f} | {routed:.2f} |")
    if options.plot is not None:
        draw(curves, options.plot)


def ladder_curve(known: Known, embedder: Embedder) -> list[Point]:
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
    return [point(table, *each) for each in zip(served, paid, strict=True)]


def router_curve(training: Training, embedder: Embedder) -> list[Point]:
    candidate = Combined("combined", drafts=True)
    taken = np.zeros((len(BUDGETS), len(training)), dtype=np.int64)
    for fit, judge in folds(training.groups):
        router = candidate.fit(training[fit], embedder)
        held_out = candidate.held_out(training[fit], embedder, router)
        found = candidate.expected(router, training[judge])
        for place, budget in enumerate(BUDGETS):
            price = Aim(budget=budget).rule(held_out).price
            taken[place, judge] = best_actions(found.scores, found.costs, price)
    return [point(training.table, each, each) for each in taken]


def oracle_curve(table: ActionTable) -> list[Point]:
    """The cheapest right answer, at any price; it knows the scores."""
    taken = [best_actions(table.scores, table.costs, float(price)) for price in PRICES]
    return sorted({point(table, each, each) for each in taken})


def point(table: ActionTable, served: NDArray[np.int64], paid: NDArray[np.int64]) -> Point:
    """Mean retrievals and accuracy."""
    rows = np.arange(len(table))
    return float(table.costs[rows, paid].mean()), float(table.scores[rows, served].mean())


def draw(curves: dict[str, list[Point]], path: Path) -> None:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 4.2), layout="constrained")
    for name, points in curves.items():
        spent, accuracy = zip(*points, strict=True)
        style = {"constants": "s", "oracle": "o:"}.get(name, "o-")
        axes.plot(spent, accuracy, style, ms=3, label=name)
    for name, place in zip(("never", "always", "multi-step"), curves["constants"], strict=True):
        axes.annotate(name, place, xytext=(0, -11), textcoords="offset points", ha="center")
    axes.set_xlabel("retrievals a question")
    axes.set_ylabel("accuracy")
    axes.margins(x=0.1)
    axes.legend(loc="upper right")
    figure.savefig(path)
