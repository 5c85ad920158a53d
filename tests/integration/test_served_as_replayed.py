"""What is saved, loaded and asked through the graph serves what replay reads off the records."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from skr_core import Action, Answer, Budget, Generation, Prompt, Reference, Settings, load_router
from skr_core.references import without_markers
from skr_core.replies import find_gaps, without_notice
from skr_graphs import GraphAnswerer
from skr_learn import Policy, Record, Records, calibrate
from tests.skr_graphs.climbing import Knowing, library, recorded

pytestmark = pytest.mark.usefixtures("few_trees")

LEARNT, ASKED = 80, 24
"""Records that are learnt from at most, and questions that are asked."""

Calibrate = Callable[[Sequence[Record]], Policy]


Served = tuple[Action, str, float | None]
"""The dearest action that is taken for a question, the text that is served, and its chance."""


class RecordedModel:
    """Says what is on record of a question: without references, with some, and with more of them.

    Args:
        records: What is on record.
    """

    name = "recorded"

    def __init__(self, records: Sequence[Record]) -> None:
        self._records = {record.question: record for record in records}

    def generate(self, prompt: Prompt, *, on_token: object = None) -> Generation:
        record = self._records[prompt.question]
        if prompt.task == "answer_directly":
            logprob = record.direct.logprob
            known = None if logprob is None else (logprob,)
            return Generation(record.direct.answer, logprobs=known)
        is_first = not any(reference.text.startswith("More of") for reference in prompt.references)
        action: Action = "single" if is_first else "loop"
        said = " ".join(record.outcomes[action].answer.split())
        if is_first and "loop" in record.outcomes:
            return Generation(f"INSUFFICIENT\n{said} [1]\nSearch: more of {record.question}")
        return Generation(f"SUFFICIENT\n{said} [1]")

    async def agenerate(self, prompt: Prompt, *, on_token: object = None) -> Generation:
        return self.generate(prompt)


class RecordedPassages:
    """Finds the passages on record of a question, or else one that says nothing."""

    name = "passages"

    def __init__(self, records: Sequence[Record]) -> None:
        self._records = {record.question: record for record in records}

    def retrieve(self, query: str) -> Sequence[Reference]:
        record = self._records.get(query)
        if record is None:
            return [Reference.of(f"More of it: {query}")]
        rows = record.extra.get("passages") or [{"text": "Nothing of it."}]
        return [Reference.of(row["text"]) for row in rows]

    async def aretrieve(self, query: str) -> Sequence[Reference]:
        return self.retrieve(query)


def of_adarague(data: Path) -> Sequence[Record]:
    return Records.read(data / "adarague_llama31_8b_dev.jsonl.gz")


def of_two_actions(data: Path) -> Sequence[Record]:
    kept: tuple[Action, ...] = ("direct", "single")
    return [
        replace(each, outcomes={action: each.outcomes[action] for action in kept})
        for each in of_adarague(data)[: LEARNT + ASKED]
    ]


def file(name: str, **where: str) -> Callable[[Path], Sequence[Record]]:
    def read(data: Path) -> Sequence[Record]:
        return Records.read(data / f"{name}.jsonl.gz", mixed_stamps=True).where(**where)

    return read


RECORDED = {
    "three actions": of_adarague,
    "two actions": of_two_actions,
    "table": file("adarague_table_llama31_8b_train"),
    "news": file("realtimeqa_gpt3_2022_2023"),
    "news of 2026": file("realtimeqa_models_2026", model="meta-llama/llama-4-scout"),
    "nq": file("whentoretrieve_nq_chatgpt"),
    "temporal": file("skr_temporalqa_instructgpt"),
    "reflexion": file("reflexion_hotpotqa100"),
}


def budgeted(records: Sequence[Record]) -> Policy:
    most = 2.0 if "loop" in records[0].outcomes else 0.5
    return calibrate(
        records, routers=["ladder"], anyway=True, cost="retrievals", budget=most
    ).router


POLICIES: dict[str, Calibrate] = {
    "ladder": lambda records: calibrate(records, routers=["ladder"], anyway=True).router,
    "arbiter": lambda records: calibrate(records, routers=["arbiter"], anyway=True).router,
    "question": lambda records: calibrate(records, routers=["question"], anyway=True).router,
    "stream": lambda records: (
        calibrate(records, routers=["ladder"], stream=True, anyway=True).router
    ),
    "budget": budgeted,
}


def is_said_as_recorded(record: Record) -> bool:
    """Whether the graph says what is on record; a refusal it words itself, and asks no more."""
    answers = [outcome.answer for outcome in record.outcomes.values()]
    return all(each.strip() and not find_gaps(each).opens for each in answers)


def served(records: Sequence[Record], router: Path) -> list[Served]:
    """Return what the graph does with each question."""
    system = system_of(records, router)
    return [what(system.answer(record.question)) for record in records]


async def aserved(records: Sequence[Record], router: Path) -> list[Served]:
    system = system_of(records, router)
    asked = (system.aanswer(record.question) for record in records)
    return [what(answer) for answer in await asyncio.gather(*asked)]


def system_of(records: Sequence[Record], router: Path) -> GraphAnswerer:
    model, retriever = RecordedModel(records), RecordedPassages(records)
    loaded = load_router(router, model=model, retriever=retriever, force=True)
    return GraphAnswerer(Settings.of(model, retriever, router=loaded, budget=Budget(max_rounds=2)))


def what(answer: Answer) -> Served:
    chance = None if answer.chance is None else round(answer.chance, 9)
    return answer.decision.action, without_markers(without_notice(answer.text)), chance


def replayed(records: Sequence[Record], policy: Policy) -> list[Served]:
    outlook = policy.outlook(records)
    ends, texts = policy.taken(records, outlook)
    chances = outlook.served_chances(ends, texts)
    return [
        (
            policy.actions[end],
            record.outcomes[policy.actions[text]].candidate.text,
            None if np.isnan(chance) else round(float(chance), 9),
        )
        for record, end, text, chance in zip(records, ends, texts, chances, strict=True)
    ]


@pytest.mark.data
@pytest.mark.parametrize("kind", POLICIES)
@pytest.mark.parametrize("source", RECORDED)
def test_recorded_answers_are_served_as_replayed(
    data_dir: Path, tmp_path: Path, source: str, kind: str
):
    records = list({each.question: each for each in RECORDED[source](data_dir)}.values())
    asked = [each for each in records if is_said_as_recorded(each)][-ASKED:]
    policy = POLICIES[kind](records[: min(LEARNT, len(records) - ASKED // 2)])
    policy.save(tmp_path / "router")
    wanted = replayed(asked, policy)
    assert served(asked, tmp_path / "router") == wanted
    assert asyncio.run(aserved(asked, tmp_path / "router")) == wanted


def confirming(records: Sequence[Record]) -> Policy:
    return calibrate(records, routers=["confirm"], anyway=True, cost="calls").router


@pytest.mark.parametrize("kind", [*POLICIES, "confirm"])
def test_collected_answers_are_served_as_replayed(tmp_path: Path, kind: str):
    unseen = range(30, 38)
    records = recorded(unseen)
    policy = {**POLICIES, "confirm": confirming}[kind](recorded(range(30)))
    assert {*policy.stated[-1]} == ({"grounded", "standing"})
    policy.save(tmp_path / "router")
    settings = Settings.of(Knowing(), library(unseen), router=tmp_path / "router")
    system = GraphAnswerer(settings)
    wanted = replayed(records, policy)
    assert [what(system.answer(each.question)) for each in records] == wanted
    assert [what(asyncio.run(system.aanswer(each.question))) for each in records] == wanted
