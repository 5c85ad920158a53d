"""What an arbiter changes of W2R's two rates, by the certainty that a model stated.

The corruption rate is the share of the questions that are right without the passage and wrong as
served; the utilisation ratio is the share whose served answer moved to the passage (W2R §5). The
records hold direct and single answers and their passages, and are cross-fitted over five draws of
five folds.

Usage: python benchmarks/reliance.py RECORDS [--by extra.giveup] [--embedder hashing|FOLDER]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from skr_core.calibration.judging import RIGHT
from skr_core.calibration.replay import TWO, grouped
from skr_core.calibration.weighing import Known, arbitrated
from skr_core.learning.folds import folds
from skr_core.learning.outcomes import ActionTable
from skr_core.learning.signals import Training
from skr_core.metrics.reliance import corruption_rate, utilisation_ratio
from skr_core.models.embedders import make_embedder
from skr_core.self_knowledge import read_self_knowledge

DRAWS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("records", type=Path, help="with passages")
    parser.add_argument("--by", default="extra.giveup", help="field of the certainty")
    parser.add_argument("--embedder", default="hashing", help="`hashing` or a model's folder")
    options = parser.parse_args()
    embedder = make_embedder(options.embedder)
    records = read_self_knowledge(options.records, mixed_stamps=True)
    table = ActionTable.of(records, actions=TWO, unit="retrievals")
    known = Known.of(Training.of(records, embedder, table=table), embedder)
    right = table.scores >= RIGHT
    answers = [[each.outcomes[action].answer for action in TWO] for each in records]
    passages = [
        " ".join(passage["text"] for passage in each.extra.get("passages") or [])
        for each in records
    ]

    def rates(chosen: np.ndarray, served: np.ndarray) -> tuple[float, float]:
        corrupted = corruption_rate(
            right[chosen, 0].tolist(), right[chosen, served[chosen]].tolist()
        )
        moved = utilisation_ratio(
            [answers[each][0] for each in chosen],
            [answers[each][served[each]] for each in chosen],
            [passages[each] for each in chosen],
        )
        return corrupted, moved

    always = np.ones(len(records), dtype=np.int64)
    draws = []
    for seed in range(DRAWS):
        served = np.zeros(len(records), dtype=np.int64)
        for fit, judge in folds(known.training.groups, seed=seed):
            served[judge] = arbitrated(known[fit], known[judge]).served
        draws.append(served)
    print("| | n | corruption: always | arbiter | utilisation: always | arbiter |")
    print("|---|---|---|---|---|---|")
    for name, chosen in [("all", np.arange(len(records))), *grouped(records, options.by)]:
        before = rates(chosen, always)
        after = np.mean([rates(chosen, served) for served in draws], axis=0)
        print(
            f"| {name} | {len(chosen)} | {before[0]:.3f} | {after[0]:.3f} | {before[1]:.3f} | "
            f"{after[1]:.3f} |"
        )


if __name__ == "__main__":
    main()
