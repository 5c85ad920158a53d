"""What looking at a first search is worth before the model reads, on recorded answers.

The answers are those of Llama-3.1-8B to HotpotQA, 2WikiMultihopQA and MuSiQue; the passages are
those of all questions of a set, searched by words. The recorded answers read other passages, and
these hold the gold ones, so that the figures flatter. `confirm` beside `ladder`: the accuracy at
the same budget of calls, everything cross-fitted.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace

from benchmarks.rows import DATA
from skr_core import Reference
from skr_core.ports import Embedder
from skr_core.rivals import confirmation_in
from skr_core.types import Action
from skr_lab.opening import open_embedder
from skr_learn import Record, Records
from skr_learn.aims import Aim, Baseline, Served
from skr_learn.calibrating import judge
from skr_learn.candidates import candidates_of
from skr_learn.metrics import bootstrap
from skr_learn.replaying import training_of
from skr_learn.training import RememberingEmbedder, Training
from skr_store import Store
from skr_store.loaders import load_file, stop

SETS = ("hotpotqa", "2wikimultihopqa", "musique")
ACTIONS: Sequence[tuple[Action, ...]] = (("direct", "single"), ("direct", "single", "loop"))
BUDGETS = {2: (1.2, 1.4, 1.6, 1.8), 3: (1.3, 1.6, 2.0, 2.5, 3.0)}
"""Calls a question, by the number of actions; the direct answer takes one."""


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--embedder", help="looked at beside words; its name or folder")
    options = parser.parse_args()
    embedder = None
    if options.embedder:
        embedder = RememberingEmbedder(open_embedder(options.embedder))
    records = [each for name in SETS for each in searched(name)]
    print(
        "| sets | actions | calls | ladder | confirm | difference |\n|---|---:|---:|---:|---:|---:|"
    )
    for sets in ((SETS[0],), (SETS[1],), SETS[:2], SETS):
        some = [each for each in records if each.extra["dataset"] in sets]
        for actions in ACTIONS:
            for line in lines(some, actions, embedder):
                print(f"| {', '.join(sets)} | {len(actions)} | {line} |", flush=True)


def searched(name: str) -> Iterator[Record]:
    """The records of a set, with how each direct answer stands in what its question finds."""
    recorded = Records.read(DATA / "adarague_llama31_8b_dev.jsonl.gz")
    with Store.ephemeral(k=10) as store:
        read = load_file(DATA / f"corpus_{name}.jsonl.gz", stop)
        store.add([Reference.of(each.text, each.title) for each in read])
        for each in recorded.where(dataset=name):
            found, direct = store.retrieve(each.question), each.direct
            seen = confirmation_in(each.question, direct.candidate.text, found)
            outcomes = {**each.outcomes, "direct": replace(direct, confirmation=seen)}
            yield replace(each, outcomes=outcomes)


def lines(
    records: Sequence[Record], actions: Sequence[Action], embedder: Embedder | None
) -> Iterator[str]:
    """The accuracy of both at each budget of calls."""
    training = training_of(records, embedder=embedder, actions=actions, cost="calls")
    for budget in BUDGETS[len(actions)]:
        ladder, confirm = (served(name, training, budget) for name in ("ladder", "confirm"))
        gain = bootstrap((confirm.scores - ladder.scores).tolist())
        figures = [
            f"{each.scores.mean():.3f} at {each.calls.mean():.2f}" for each in (ladder, confirm)
        ]
        yield " | ".join(
            [f"{budget:g}", *figures, f"{gain.mean:+.3f} ({gain.low:+.3f} to {gain.high:+.3f})"]
        )


def served(name: str, training: Training, budget: float) -> Served:
    """What one serves within a budget."""
    aim = Aim(budget=budget, stream=True)
    (candidate,) = candidates_of([name], training.table.actions, searched=True, stream=True)
    found = judge(candidate, training, aim, Baseline.of(training.table), anyway=True)
    assert found is not None  # anyway
    return found.promised


if __name__ == "__main__":
    main()
