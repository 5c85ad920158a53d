"""How many refusals are recognised, and how many answers are taken for refusals.

Replies to questions of SimpleQA, worded by four models of 2025 at five levels of certainty: those
that were asked to decline are refusals, unless they contain the gold answer all the same; the
others name an answer, the surest ones plainly and the rest with hedges. Replies to questions about
filings, labelled by people. And recorded answers that were judged right, which are no refusals.
Nothing is fitted. The patterns were written in view of two fifths of the questions of SimpleQA and
of all of their refusals but one model's; what this counts is no longer unseen.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.rows import DATA
from skr_core.replies import is_refusal, read_reply
from skr_core.texts import normalise
from skr_learn.metrics import bootstrap_ratio

WORDED = "wordings_of_certainty_2025.jsonl.gz"
FILINGS = "replies_financebench_gpt4.jsonl.gz"
RIGHT = (
    "adarague_llama31_8b_dev.jsonl.gz",
    "realtimeqa_gpt3_2022_2023.jsonl.gz",
    "realtimeqa_models_2026.jsonl.gz",
    "skr_temporalqa_instructgpt.jsonl.gz",
    "unknownbench_refunq_confidence.jsonl.gz",
    "whentoretrieve_nq_chatgpt.jsonl.gz",
    "multistep_traces.jsonl.gz",
)
KINDS = ("refusals", "hedged answers", "plain answers")
Counted = tuple[str, bool]
"""The question of a reply, and whether the reply is taken for a refusal."""


def main() -> None:
    """Print a table in Markdown."""
    print("| refusals said of | refusals | hedged answers | plain answers |\n|---|---|---|---|")
    for name, kinds in counted(DATA).items():
        cells = [share(kinds[kind]) if kind in kinds else "" for kind in KINDS]
        print(f"| {name} | {' | '.join(cells)} |")


def counted(data: Path) -> dict[str, dict[str, list[Counted]]]:
    """What is taken for a refusal, by source and model and by kind of reply.

    Args:
        data: The folder of recorded data.
    """
    found: dict[str, dict[str, list[Counted]]] = {}
    for source, kind, question, refused in (
        *worded(rows(data / WORDED)),
        *filings(rows(data / FILINGS)),
        *(each for name in RIGHT for each in right(name.partition("_")[0], rows(data / name))),
    ):
        found.setdefault(source, {}).setdefault(kind, []).append((question, refused))
    return found


def worded(told: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str, str, bool]]:
    """The worded replies, by model and all together."""
    for row in told:
        refused, kind = is_refusal(row["text"]), "hedged answers"
        if row["level"] == "completely uncertain":
            kind = "refusals"
            if any(normalise(gold) in normalise(row["text"]) for gold in row["gold"]):
                continue  # it may decline to confirm the answer, or name it
        elif row["level"] == "high":
            kind = "plain answers"
        for source in ("worded, all", f"worded, {row['model']}"):
            yield source, kind, row["question"], refused


def filings(told: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str, str, bool]]:
    """What is read as insufficient among refusals and among right answers about filings."""
    for row in told:
        given = 0 if row["setting"] == "closed_book" else 5
        kind = {"refusal": "refusals", "correct": "plain answers"}.get(row["label"])
        if kind is not None:
            refused = read_reply(row["reply"], given).sufficient is False
            source = f"filings, {'with' if given else 'without'} references"
            yield source, kind, row["question"], refused


def right(name: str, told: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str, str, bool]]:
    """Answers that were judged right, with references and without."""
    answers = (("answer_direct", "correct_direct"), ("answer_retrieved", "correct_retrieved"))
    for row in told:
        for answer, correct in (*answers, ("answer", "correct")):
            if row.get(correct) and row.get(answer):
                yield f"right, {name}", "plain answers", row["question"], is_refusal(row[answer])


def share(replies: Iterable[Counted]) -> str:
    """The share that is taken for refusals, with its interval over questions."""
    by_question: dict[str, list[bool]] = {}
    for question, refused in replies:
        by_question.setdefault(question, []).append(refused)
    some = [*by_question.values()]
    found = bootstrap_ratio(
        [float(sum(each)) for each in some], [float(len(each)) for each in some]
    )
    n = sum(map(len, some))
    return f"{found.mean:.3f} ({found.low:.3f} to {found.high:.3f}), n {n:,}"


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a recorded file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


if __name__ == "__main__":
    main()
