"""Routers on recorded answers: accuracy, retrievals and regret of each.

Each source is cross-fitted over draws of five folds. Intervals are 95 %.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from benchmarks.rows import needed
from skr_core.models.embedders import make_embedder
from skr_learn.calibration import replay
from skr_learn.calibration.judging import GroupResult
from skr_learn.calibration.replaying import THREE, Replay
from skr_learn.metrics.statistics import Interval
from skr_learn.self_knowledge import SelfKnowledge, read_self_knowledge

ROUTERS = ("paper", "benefit", "classifier", "combined", "combined-question", "recommended")
GROUPED = "adarague_llama31_8b_dev"
OTHERS = (
    "adarague_table_llama31_8b_train",
    "realtimeqa_gpt3_2022_2023",
    "realtimeqa_models_2026",
    "skr_temporalqa_instructgpt",
    "whentoretrieve_nq_chatgpt",
)
FEWEST = 100
"""Sources with fewer questions have intervals as wide as anything they could show."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--embedder", default="hashing", help="`hashing` or a model's folder")
    parser.add_argument("--seeds", type=int, default=5, help="times the folds are drawn")


def run(options: argparse.Namespace) -> None:
    pooled = read(GROUPED)
    sources = list(separate())
    embedder = make_embedder(options.embedder)
    print(f"Embedder: `{embedder.name}`, {options.seeds} draws of five folds.\n")
    print(
        "| source | router | accuracy | retrieved | regret | gain over random | area gain | saved |"
    )
    print("|---|---|---|---|---|---|---|---|")
    found = replay(
        pooled, routers=ROUTERS, by="extra.dataset", embedder=embedder, seeds=options.seeds
    )
    show("adarague, all six", found.overall)
    for name, group in found.groups.items():
        show(f"adarague/{name}, fitted on all", group)
    for name, records in sources:
        show(name, replay(records, routers=ROUTERS, embedder=embedder, seeds=options.seeds).overall)
    show_actions(
        replay(
            pooled,
            actions=THREE,
            budget=1.85,
            routers=("never", "always", "multistep", "combined-question", "combined"),
            embedder=embedder,
            seeds=options.seeds,
        )
    )


def read(name: str) -> list[SelfKnowledge]:
    [path] = needed(f"{name}.jsonl.gz")
    return read_self_knowledge(path, mixed_stamps=True)


def separate() -> Iterator[tuple[str, list[SelfKnowledge]]]:
    """Records of one source and one model each: what one user would have."""
    for file in OTHERS:
        records = read(file)
        made: dict[tuple[str, str], list[SelfKnowledge]] = {}
        for record in records:
            source = str(record.extra.get("source", file))
            made.setdefault((source, record.stamp.model.partition(" (")[0]), []).append(record)
        for (source, model), some in sorted(made.items()):
            if len(some) >= FEWEST:
                yield f"{source}, {model}", some


def show(name: str, group: GroupResult) -> None:
    print(
        f"| **{name}** | n {group.n} | never {group.never:.3f} | always {group.always:.3f} | "
        f"oracle {group.oracle:.3f} | | | |"
    )
    for router, found in group.routers.items():
        print(
            f"| | {router} | {found.accuracy:.3f} | {found.retrieval_rate:.2f} | "
            f"{signed(found.regret)} | {signed(found.gain)} | {signed(found.area_gain)} | "
            f"{found.saved_at_parity:.2f} |",
            flush=True,
        )


def signed(value: Interval) -> str:
    return f"{value.mean:+.4f} ({value.low:+.4f} to {value.high:+.4f})"


def show_actions(replayed: Replay) -> None:
    found = replayed.row()
    print(
        f"\nThree actions at {found['budget']} retrievals a question, "
        f"{found.get('assumed_multistep_steps', 'the recorded')} steps for multi-step:\n"
    )
    print("| router | accuracy | 95 % interval | retrievals | model calls | direct/single/multi |")
    print("|---|---|---|---|---|---|")
    for router, row in found["overall"]["routers"].items():
        low, high = row["accuracy_ci"]
        shares = " / ".join(f"{share:.2f}" for share in row["shares"].values())
        print(
            f"| {router} | {row['accuracy']:.4f} | {low:.3f} to {high:.3f} | "
            f"{row['retrievals']:.2f} | {row['model_calls']:.2f} | {shares} |"
        )
