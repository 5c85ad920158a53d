"""How soon `monitor` tells that what is served is not as it was when a router was calibrated.

A ladder learns from recorded answers of Llama-3.1-8B. Then it serves others, 300 a draw, and
`monitor` looks after every tenth: at others of the same questions, at other questions, and at
answers that got worse.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

import numpy as np

from benchmarks.rows import DATA
from skr_core import Answer, Decision
from skr_core.types import Action
from skr_learn import Policy, Record, Records, calibrate, monitor
from skr_learn.expected import novelty
from skr_learn.monitoring import FEWEST

DRAWS, SERVED, EVERY = 20, 300, 10
TWO: tuple[Action, ...] = ("direct", "single")
"""What is on record of RealTime QA too."""
SETS = ("squad", "nq", "2wikimultihopqa", "trivia", "musique")
REFUSAL = "I'm sorry, I cannot answer the question."


def main() -> None:
    """Print a table in Markdown."""
    print("| learnt from | then served | alarms | median answers before one | by | novel |")
    print("|---|---|---:|---:|---|---:|")
    six = Records.read(DATA / "adarague_llama31_8b_dev.jsonl.gz")
    news = [*Records.read(DATA / "realtimeqa_gpt3_2022_2023.jsonl.gz")]
    some = [six[place] for place in np.random.default_rng(0).permutation(len(six))]
    learnt, others = some[:1500], some[1500:]
    policy, name = ladder(learnt), "1,500 of the six sets"
    tell(name, "others of them", policy, others)
    tell(name, "RealTime QA", ladder(learnt, *TWO), news)
    tell(name, "a quarter refused", policy, worse(others, [*map(refused, others)], 0.25))
    mixed = worse(others, exchanged(others), 0.5)
    tell(name, "half of the answers those of other questions", policy, mixed)
    tell(name, "the same, with feedback", policy, mixed, feedback=True)
    hotpot = [each for each in some if each.extra["dataset"] == "hotpotqa"]
    policy, name = ladder(hotpot[:350]), "350 of HotpotQA"
    tell(name, "others of it", policy, hotpot[350:])
    tell(name, "RealTime QA", ladder(hotpot[:350], *TWO), news)
    for each in SETS:
        tell(name, each, policy, [row for row in some if row.extra["dataset"] == each])


def ladder(records: Sequence[Record], *actions: Action) -> Policy:
    """A ladder among actions."""
    found = calibrate(records, routers=["ladder"], actions=actions or None, anyway=True).router
    assert isinstance(found, Policy)
    return found


def refused(record: Record) -> Record:
    """The same question, where every answer is a refusal."""
    said = {
        action: replace(each, answer=REFUSAL, score=0.0) for action, each in record.outcomes.items()
    }
    return replace(record, outcomes=said)


def exchanged(records: Sequence[Record]) -> list[Record]:
    """The questions, each with the answers to the one after it."""
    after = [*records[1:], records[0]]
    return [
        replace(each, outcomes={a: replace(o, score=0.0) for a, o in other.outcomes.items()})
        for each, other in zip(records, after, strict=True)
    ]


def worse(records: Sequence[Record], instead: Sequence[Record], share: float) -> list[Record]:
    """The records, a share of which is replaced."""
    drawn = np.random.default_rng(1).random(len(records)) < share
    return [
        other if is_worse else each
        for each, other, is_worse in zip(records, instead, drawn, strict=True)
    ]


def tell(
    name: str, served: str, policy: Policy, records: Sequence[Record], *, feedback: bool = False
) -> None:
    """Print how many draws raise an alarm, after how many answers, and what raises it."""
    answers, right = served_of(policy, records)
    first, by = [], Counter[str]()
    for draw in range(DRAWS):
        order = np.random.default_rng(draw).permutation(len(answers))[:SERVED]
        some = [answers[place] for place in order]
        said = [right[place] for place in order] if feedback else []
        for n in range(FEWEST, len(some) + 1, EVERY):
            changes = monitor(some[:n], policy, said[:n]).changes
            if alarms := [each.name for each in changes if each.alarm]:
                first.append(n)
                by.update(alarms)
                break
    novel = np.mean([answer.decision.novel for answer in answers])
    told = (
        f"{median(first):g} | {', '.join(f'`{each}`' for each, _ in by.most_common())}"
        if first
        else "|"
    )
    print(f"| {name} | {served} | {len(first)} of {DRAWS} | {told} | {novel:.1%} |", flush=True)


def served_of(policy: Policy, records: Sequence[Record]) -> tuple[list[Answer], list[bool]]:
    """What the ladder serves of records, and whether it is right."""
    outlook = policy.outlook(records)
    ends, places = policy.taken(records, outlook)
    chances = outlook.served_chances(ends, places)
    assert policy.expected is not None
    served, right = [], []
    for record, end, place, chance in zip(records, ends, places, chances, strict=True):
        unlike = novelty(record.question, policy.words)
        decision = Decision(
            bool(end),
            1 if policy.actions[end] == "single" else None,
            novelty=unlike,
            novel=unlike > policy.expected.threshold,
        )
        made = record.outcomes[policy.actions[place]]
        answer = Answer(
            record.question, made.answer, (), (), decision, (), stop_reason="known", usage={}
        )
        served.append(replace(answer, chance=float(chance)))
        right.append(made.score > 0.5)
    return served, right


if __name__ == "__main__":
    main()
