"""Records of what the model knows, collected here or made of votes, and a router chosen on them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractContextManager, aclosing
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from skr_app.web.measuring import Job, Tell, measured
from skr_app.web.runs import ServedSystem
from skr_app.web.streaming import Event
from skr_core.budget import price_of
from skr_core.errors import InputError
from skr_core.models.limited import LimitedModel
from skr_core.questions import Question
from skr_core.routers import AlwaysRetrieve
from skr_core.settings import Settings
from skr_core.types import Action, Stamp
from skr_graphs import GraphAnswerer
from skr_learn import (
    Calibration,
    Record,
    Records,
    calibrate,
    collect,
    monitor,
    record_of_feedback,
)
from skr_learn.collecting import Progress
from skr_learn.curve import COST_LABELS
from skr_learn.foreseeing import aforesee
from skr_learn.records import check_same_stamp
from skr_store import Store

Opened = Callable[[], AbstractContextManager[tuple[Settings, Store]]]
"""Opens the system that is measured, in another process; it can be pickled."""
UNKNOWN = 0.5
"""The expected score of an answer that nobody gave, where no records say more."""


@dataclass
class Calibrating:
    """Records, votes, and the router that follows from them.

    Attributes:
        system: The system; its votes are read, and it is given the router.
        opened: Opens the same system to be measured; its router does not matter.
        folder: The folder of the records (``self-knowledge.jsonl``) and of the router
            (``router.skr``).
        records: The records that were collected before.
        questions: Questions with right answers, on which records can be collected here.

    Raises:
        StampMismatch: The records are of another model or retriever.
    """

    system: ServedSystem
    opened: Opened
    folder: Path
    records: Sequence[Record] = ()
    questions: Sequence[Question] = ()
    _under_way: str = ""
    _serving: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        served = self._stamp()
        check_same_stamp(
            [
                Stamp(model=each.model, retriever=each.retriever)
                for each in (served, *(record.stamp for record in self.records))
            ],
            "--records beside what is served",
        )

    def votes(self) -> list[Record]:
        """The votes as records that join those collected.

        An answer that nobody gave has the score that such answers have on average.
        """
        stamp = self.records[0].stamp if self.records else self._stamp()
        return [
            record_of_feedback(answer, right, expected_other=self._expected(answer), stamp=stamp)
            for answer, right in self.system.runs.judged()
        ]

    def comparable(self) -> tuple[list[Record], int]:
        """Records and votes that share an action that retrieves, and how many others there are.

        That is one round or several, whichever more of them hold.
        """
        every = [*self.records, *self.votes()]
        single = [each for each in every if "single" in each.outcomes]
        loop = [each for each in every if "loop" in each.outcomes]
        used = loop if len(loop) >= len(single) else single
        return used, len(every) - len(used)

    async def collect(self) -> AsyncGenerator[Event]:
        """Ask the questions by every action, and keep what came out as records.

        What is on record is not asked again. The events are those of `measured`.

        Raises:
            InputError: There are no questions, or something of the kind is under way.
            BudgetError: What all that is asked may cost is spent.
            SKRError: Every question failed, the records in the folder were made with something
                else, or the process was killed.
        """
        if not self.questions:
            raise InputError("there are no questions with right answers: give --questions")
        job = partial(_collected, self.opened, self.questions, self.folder / "self-knowledge.jsonl")
        async with aclosing(self._measured("a collection", job)) as steps:
            async for name, said in steps:
                if name == "progress":
                    self._spend(said.pop("dollars"))
                    yield name, said
                    continue
                records, failed = said
                self.records = records
                right = {
                    action: sum(each.outcomes[action].score for each in records) / len(records)
                    for action in (records[0].outcomes if records else ())
                }
                yield name, {"records": len(records), "failed": failed, "right": right}

    async def foreseen(self) -> dict[str, Any]:
        """What asking the questions will cost: the calls, at least and at most, and a sentence."""
        actions: tuple[Action, ...] = ("direct", "loop")  # whose first round is the single one
        due = [(each, action) for action in actions for each in self.questions if each.is_scorable]
        settings, prices = self.system.settings, self.system.prices
        found = await aforesee(settings.but(router=AlwaysRetrieve(), arbiter=None), due)
        price = None if prices is None else price_of(prices, settings.model.name)
        return {
            "calls": [found.least.calls, found.most.calls],
            "sentence": found.sentence(price),
        }

    async def calibrate(self) -> AsyncGenerator[Event]:
        """Choose a router on records and votes, keep it in the folder, and serve it.

        The events are those of `measured`.

        Raises:
            InputError: Something of the kind is under way, or the router cannot be written.
            SKRError: There are too few records, or the process was killed.
        """
        used, left_out = await asyncio.to_thread(self.comparable)
        job = partial(_calibrated, used)
        async with aclosing(self._measured("a calibration", job)) as steps:
            async for name, said in steps:
                if name == "progress":
                    yield name, said
                    continue
                await asyncio.to_thread(self.serve, said)
                sentences = said.summary.sentences
                yield name, {"records": len(used), "left_out": left_out, "sentences": sentences}

    async def _measured(self, work: str, job: Job) -> AsyncGenerator[Event]:
        """Do a job; until its result is dealt with, no other is begun."""
        if self._under_way:
            raise InputError(f"{self._under_way}: wait for it, or stop it where it was begun")
        self._under_way = f"{work} is under way"
        try:
            async with aclosing(measured(job)) as steps:
                async for name, said in steps:
                    if name == "progress":
                        how_far = f"{said['done']} of {said['total']} done"
                        self._under_way = f"{work} is under way, {how_far}"
                    yield name, said
        finally:
            self._under_way = ""

    def serve(self, found: Calibration) -> None:
        """Keep what a calibration found in the folder, and serve it.

        Raises:
            InputError: It cannot be written.
        """
        with self._serving:  # whoever began it may be gone meanwhile, and another begin
            router = self.folder / "router.skr"
            found.save(router)
            given = {**vars(self.system.settings), "router": router, "arbiter": None}
            self.system.serve(Settings.of(**given), found)

    def _spend(self, dollars: float) -> None:
        """Count what the other process has spent, and end it where that is too much."""
        model = self.system.settings.model
        if dollars and isinstance(model, LimitedModel):
            model.spending.dollars += dollars
            model.spending.begin()

    def facts(self) -> dict[str, Any]:
        """The router that is served, and the findings and the curve of its calibration."""
        serving = self.system.serving
        router = serving.settings.router
        about: dict[str, Any] = {
            "name": getattr(router, "kind", type(router).__name__),
            "votes": len(self.system.runs.judged()),
            "records": len(self.records),
            "questions": len(self.questions),
            "sentences": [],
            "curve": None,
            "figures": [],
            "surest": [],
            "monitor": None,
        }
        if getattr(router, "expected", None) is not None:
            outputs, rights = self.system.runs.outcomes(list(serving.routed))
            seen = monitor(outputs, router, rights)
            about["monitor"] = str(seen) if seen.changes else seen.verdict
        if (found := serving.found) is not None:
            about |= _facts_of(found)
        return about

    def _stamp(self) -> Stamp:
        return self.system.settings.stamp(metric="feedback")

    def _expected(self, answer: Any) -> float:
        other: Action = "loop" if answer.decision.action == "direct" else "direct"
        scores = [each.outcomes[other].score for each in self.records if other in each.outcomes]
        return sum(scores) / len(scores) if scores else UNKNOWN


def _facts_of(found: Calibration) -> dict[str, Any]:
    """What a calibration found: its sentences, a row of figures for each policy, and drawings."""
    summary, curve = found.summary, found.curve
    named = {curve.router: summary.promised} | {
        f"always {action}": each
        for action, each in summary.constants.items()
        if action != summary.constant
    }
    surest = [] if summary.reliability is None else summary.reliability.surest
    return {
        "sentences": summary.sentences,
        "figures": [
            {
                "name": name,
                "right": asdict(each.accuracy),
                "cost": each.cost.mean,
                "calls": each.calls.mean,
                "searched": each.retrieved.mean,
            }
            for name, each in named.items()
        ],
        "curve": {
            "verdict": summary.verdict,
            "router": curve.router,
            "label": COST_LABELS.get(curve.unit, curve.unit),
            "costs": curve.costs,
            "accuracy": curve.accuracy,
            "low": curve.low,
            "high": curve.high,
            "oracle": {"costs": curve.oracle_costs, "accuracy": curve.oracle},
            "chosen": {"cost": curve.chosen_cost, "accuracy": curve.chosen.mean},
            "constants": [
                {"action": action, "cost": curve.constant_costs[action], "accuracy": each.mean}
                for action, each in curve.constants.items()
            ],
        },
        "surest": [asdict(each) for each in surest],
    }


def _collected(
    opened: Opened, questions: Sequence[Question], out: Path, tell: Tell
) -> tuple[Records, int]:
    """In the process that measures: the records of questions, and how many failed."""
    with opened() as (settings, _):
        spending = settings.model.spending if isinstance(settings.model, LimitedModel) else None
        spent, last = spending.dollars if spending else 0.0, Progress(0)

        def advance(progress: Progress) -> None:
            nonlocal spent, last
            now, last = spending.dollars if spending else 0.0, progress
            tell({"done": last.done, "total": last.total, "dollars": now - spent})
            spent = now

        try:
            records = collect(questions, GraphAnswerer(settings), out=out, on_progress=advance)
        finally:
            advance(last)  # what failed has cost something too
    return records, last.failed


def _calibrated(records: Sequence[Record], tell: Tell) -> Calibration:
    """In the process that measures: what is found on records."""
    return calibrate(records, on_progress=lambda done, total: tell({"done": done, "total": total}))
