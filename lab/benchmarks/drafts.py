"""What a reflector learns from every round's draft, beside what it learns from served answers.

The extractive model answers questions of HotpotQA, 2WikiMultihopQA and MuSiQue over their pooled
passages, for as many rounds as it has queries. A reflector learns from half of the questions, five
times, and judges the drafts of the others: how many rightly, and how many rounds it takes to stop
at the first draft that suffices, at the accuracy of the last one or a little below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from benchmarks.rows import DATA
from langchain_skr import load_model
from skr_core import Budget, Reference, Reflection, Settings
from skr_core.questions import Question, read_questions
from skr_graphs import GraphAnswerer
from skr_learn import LearnedReflector, Record, collect
from skr_learn.features.views import Seen, Views
from skr_store import Store
from skr_store.loaders import load_file, stop

SETS = ("hotpotqa", "2wikimultihopqa", "musique")
ASKED, DRAWS, PASSAGES = 200, 5, 4
LOST = (0.01, 0.005, 0.0)
"""Accuracy below that of the last draft."""


class GoOn:
    """A reflector that no draft suffices."""

    name = "go on"

    def reflect(self, question: str, references: Sequence[Reference], draft: str) -> Reflection:
        """Send it back."""
        return Reflection(False, "go on")

    async def areflect(
        self, question: str, references: Sequence[Reference], draft: str
    ) -> Reflection:
        """Async version of `reflect`."""
        return self.reflect(question, references, draft)


def main() -> None:
    """Print a table in Markdown."""
    records = [each for name in SETS for each in collected(name)]
    drafted = [each for each in records if each.outcomes["loop"].drafts]
    rounds = np.mean([len(each.outcomes["loop"].drafts) for each in drafted])
    needed = " | ".join(f"rounds at -{100 * each:g}" for each in LOST)
    print(f"{len(drafted)} questions, {rounds:.2f} drafts each\n")
    print(f"| learnt from | judged rightly | F1 | {needed} |\n|---|---:|---:|{'---:|' * len(LOST)}")
    for name in ("served answers", "drafts"):
        found = np.mean([judged(drafted, draw, name == "drafts") for draw in range(DRAWS)], axis=0)
        print(f"| {name} | {' | '.join(f'{each:.3f}' for each in found)} |", flush=True)


def collected(name: str) -> Iterator[Record]:
    """The records of a set, whose loops go on as long as there is something to search."""
    path = DATA / f"multihop_{name}_contexts.jsonl.gz"
    asked = [Question(each.id, each.question, each.gold) for each in read_questions(path)][:ASKED]
    with Store.ephemeral(k=PASSAGES) as store:
        read = load_file(DATA / f"corpus_{name}.jsonl.gz", stop)
        store.add([Reference.of(each.text, each.title) for each in read])
        budget = Budget(max_rounds=3)
        system = Settings.of(load_model("extractive"), store, reflector=GoOn(), budget=budget)
        yield from collect(asked, GraphAnswerer(system))


def judged(records: Sequence[Record], draw: int, from_drafts: bool) -> list[float]:
    """The share of drafts judged rightly, F1, and the rounds needed at each loss of accuracy."""
    order = np.random.default_rng(draw).permutation(len(records))
    half = len(records) // 2
    learnt = [records[place] for place in order[:half]]
    if not from_drafts:
        learnt = [without_drafts(each) for each in learnt]
    reflector = LearnedReflector.fit(learnt)
    others = [records[place] for place in order[half:]]
    chances = [chances_of(reflector, each) for each in others]
    scores = [[draft.score for draft in each.outcomes["loop"].drafts] for each in others]
    right = np.concatenate(scores) > 0.5
    said = np.concatenate(chances) >= reflector.threshold
    f1 = 2 * (said & right).sum() / (said.sum() + right.sum())
    last = np.mean([each[-1] for each in scores])
    stops = [stopped(chances, scores, edge) for edge in np.unique(np.concatenate(chances))]
    needed = [min(rounds for rounds, accuracy in stops if accuracy >= last - lost) for lost in LOST]
    return [float((said == right).mean()), float(f1), *needed]


def without_drafts(record: Record) -> Record:
    """The record as it would be without its drafts."""
    loop = replace(record.outcomes["loop"], drafts=())
    return replace(record, outcomes={**record.outcomes, "loop": loop})


def chances_of(reflector: LearnedReflector, record: Record) -> list[float]:
    """The chance of each draft of a record to be right."""
    seen = [
        Seen(record.question, (draft.candidate,)).only(reflector.stated)
        for draft in record.outcomes["loop"].drafts
    ]
    return [float(each) for each in reflector.stage.chances_of(Views(seen), 1)[:, 0]]


def stopped(
    chances: Sequence[Sequence[float]], scores: Sequence[Sequence[float]], edge: float
) -> tuple[float, float]:
    """The rounds and the accuracy of stopping at the first draft of such a chance."""
    places = [
        next((place for place, chance in enumerate(each) if chance >= edge), len(each) - 1)
        for each in chances
    ]
    right = [each[place] for place, each in zip(places, scores, strict=True)]
    return float(np.mean(places)) + 1, float(np.mean(right))


if __name__ == "__main__":
    main()
