"""Records of what the model knows, collected here or made of votes, and a router chosen on them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skr_app.web.runs import ServedSystem
from skr_core.errors import InputError
from skr_core.ports import OnProgress
from skr_core.questions import Question
from skr_core.settings import Settings
from skr_core.types import Action, Stamp
from skr_graphs import GraphAnswerer
from skr_learn import Calibration, Record, calibrate, collect, monitor, record_of_feedback
from skr_learn.collecting import Progress
from skr_learn.curve import COST_LABELS
from skr_learn.records import check_same_stamp

UNKNOWN = 0.5
"""The expected score of an answer that nobody gave, where no records say more."""


@dataclass
class Calibrating:
    """Records, votes, and the router that follows from them.

    Attributes:
        system: The system; its votes are read, and it is given the router.
        folder: The folder of the records (``self-knowledge.jsonl``) and of the router
            (``router.skr``).
        records: The records that were collected before.
        questions: Questions with right answers, on which records can be collected here.
        found: What the latest calibration found, which is served; None before there is one.

    Raises:
        StampMismatch: The records are of another model or retriever.
    """

    system: ServedSystem
    folder: Path
    records: Sequence[Record] = ()
    questions: Sequence[Question] = ()
    found: Calibration | None = None
    _busy: threading.Lock = field(default_factory=threading.Lock)

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

    def collect(self, on_progress: OnProgress) -> dict[str, Any]:
        """Ask the questions by every action, and keep what came out as records.

        What is on record is not asked again.

        Raises:
            InputError: There are no questions, or something of the kind is under way.
            StampMismatch: The records in the folder were made with something else.
            ModelError: Every question failed.
        """
        if not self.questions:
            raise InputError("there are no questions with right answers: give --questions")
        last = Progress(0)

        def advance(progress: Progress) -> None:
            nonlocal last
            last = progress
            on_progress(progress.done, progress.total)

        with self._alone():
            records = collect(
                self.questions,
                GraphAnswerer(self.system.settings),
                out=self.folder / "self-knowledge.jsonl",
                on_progress=advance,
            )
            self.records = records
        return {
            "records": len(records),
            "failed": last.failed,
            "right": {
                action: sum(each.outcomes[action].score for each in records) / len(records)
                for action in (records[0].outcomes if records else ())
            },
        }

    def calibrate(self, on_progress: OnProgress) -> dict[str, Any]:
        """Choose a router on records and votes, keep it in the folder, and serve it.

        Raises:
            InputError: There are too few of them, or something of the kind is under way.
            StampMismatch: The records were made with something else.
        """
        with self._alone():
            used, left_out = self.comparable()
            found = calibrate(used, on_progress=on_progress)
            router = self.folder / "router.skr"
            found.save(router)
            given = {**vars(self.system.settings), "router": router, "arbiter": None}
            self.system.serve(Settings.of(**given))
            self.found = found
        return {
            "records": len(used),
            "left_out": left_out,
            "sentences": found.summary.sentences,
        }

    def facts(self) -> dict[str, Any]:
        """The router that is served, and the findings and the curve of its calibration."""
        router = self.system.settings.router
        about: dict[str, Any] = {
            "name": getattr(router, "kind", type(router).__name__),
            "votes": len(self.system.runs.judged()),
            "records": len(self.records),
            "questions": len(self.questions),
            "sentences": [],
            "curve": None,
            "monitor": None,
        }
        if getattr(router, "expected", None) is not None:
            served = self.system.runs.served(self.system.since)
            about["monitor"] = str(monitor(served[0], router, served[1]))
        if (found := self.found) is not None:
            curve = found.curve
            about["sentences"] = found.summary.sentences
            about["curve"] = {
                "verdict": found.summary.verdict,
                "router": curve.router,
                "label": COST_LABELS.get(curve.unit, curve.unit),
                "costs": curve.costs,
                "accuracy": curve.accuracy,
                "low": curve.low,
                "high": curve.high,
                "chosen": {"cost": curve.chosen_cost, "accuracy": curve.chosen.mean},
                "constants": [
                    {"action": action, "cost": curve.constant_costs[action], "accuracy": each.mean}
                    for action, each in curve.constants.items()
                ],
            }
        return about

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._busy.acquire(blocking=False):
            raise InputError("this is under way already: wait for it")
        try:
            yield
        finally:
            self._busy.release()

    def _stamp(self) -> Stamp:
        return self.system.settings.stamp(metric="feedback")

    def _expected(self, answer: Any) -> float:
        other: Action = "loop" if answer.decision.action == "direct" else "direct"
        scores = [each.outcomes[other].score for each in self.records if other in each.outcomes]
        return sum(scores) / len(scores) if scores else UNKNOWN
