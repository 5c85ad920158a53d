"""Records of what the model knows, collected here or made of votes, and a router chosen on them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skr_app.web.runs import ServedSystem
from skr_core.errors import InputError, ModelError
from skr_core.ports import Embedder, OnProgress
from skr_core.questions import Question
from skr_core.settings import Settings
from skr_core.types import Action, Stamp
from skr_graphs import GraphAnswerer
from skr_learn import RoutingCurve, SelfKnowledge, calibrate, collect, record_of_feedback
from skr_learn.arbiters.ladder import LADDER
from skr_learn.routers.fitted import FittedRouter
from skr_learn.self_knowledge import Progress
from skr_learn.self_knowledge.records import check_same_stamp

UNKNOWN = 0.5
"""The expected score of an answer that nobody gave, where no records say more."""


@dataclass
class Calibrating:
    """Records, votes, and the router that follows from them.

    Attributes:
        system: The system; its votes are read, and it is given the router.
        folder: The folder of the records (``self-knowledge.jsonl``) and of the ``router``.
        embedder: The embedder by which questions are compared.
        records: The records that were collected before.
        questions: Questions with right answers, on which records can be collected here.
        curve: The curve of the router that is served; None where nobody knows it.
        sentences: The findings of the latest calibration; by default that of the curve.

    Raises:
        StampMismatch: The records are of another model or retriever.
    """

    system: ServedSystem
    folder: Path
    embedder: Embedder
    records: Sequence[SelfKnowledge] = ()
    questions: Sequence[Question] = ()
    curve: RoutingCurve | None = None
    sentences: Sequence[str] = ()
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

    @property
    def price(self) -> float | None:
        """The price by which the served router decides; None where it has none."""
        router = self.system.settings.router
        return router.price if isinstance(router, FittedRouter) else None

    @property
    def unpriced(self) -> str:
        """Why the served router cannot decide at another price; empty where it can."""
        router = self.system.settings.router
        if isinstance(router, FittedRouter):
            return ""
        if getattr(router, "kind", "") == LADDER:
            return (
                "a ladder decides at the price that it was calibrated for, and this curve is that "
                "of the router beside it: for another price run skr calibrate --price or --budget"
            )
        return "the router that is served has no price: calibrate one that learns"

    def votes(self) -> list[SelfKnowledge]:
        """The votes as records that join those collected.

        An answer that nobody gave has the score that such answers have on average.
        """
        stamp = self.records[0].stamp if self.records else self._stamp()
        return [
            record_of_feedback(answer, right, expected_other=self._expected(answer), stamp=stamp)
            for answer, right in self.system.runs.judged()
        ]

    def comparable(self) -> tuple[list[SelfKnowledge], int]:
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
            if last.failed and not records:
                raise ModelError(f"every question failed; the last: {last.last_failure}")
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
            found = calibrate(used, embedder=self.embedder, on_progress=on_progress)
            router = self.folder / "router"
            found.save(router)
            given = {**vars(self.system.settings), "router": router, "arbiter": None}
            self.system.serve(Settings.of(**given))
            self.curve = found.curve
            looked_at = (found.curve, found.arbitration, found.climbing)
            self.sentences = [each.sentence for each in looked_at if each is not None]
        return {"records": len(used), "left_out": left_out, "sentences": self.sentences}

    def decide_at(self, price: float) -> None:
        """Let the served router decide at another price, until this process ends.

        Raises:
            InputError: It has none, or none that can be changed.
        """
        router = self.system.settings.router
        if not isinstance(router, FittedRouter):
            raise InputError(self.unpriced)
        router.price = price

    def facts(self) -> dict[str, Any]:
        """The router that is served, its curve, and what it does at each price."""
        router = self.system.settings.router
        about: dict[str, Any] = {
            "name": getattr(router, "kind", type(router).__name__),
            "votes": len(self.system.runs.judged()),
            "records": len(self.records),
            "questions": len(self.questions),
            "price": self.price,
            "unpriced": self.unpriced,
            "sentences": self.sentences or ([self.curve.sentence] if self.curve else []),
            "curve": None,
        }
        if (curve := self.curve) is not None:
            about["curve"] = {
                "sentence": curve.sentence,
                "router": curve.router,
                "unit": curve.unit,
                "costs": curve.costs,
                "accuracy": curve.accuracy,
                "low": curve.low,
                "high": curve.high,
                "random_line": curve.random_line,
                "oracle": curve.oracle,
                "chosen": [curve.chosen_cost, curve.chosen.mean],
                "constants": [
                    {"action": action, "cost": curve.constant_costs[action], "accuracy": each.mean}
                    for action, each in curve.constants.items()
                ],
                "prices": [
                    {"price": each.price, "cost": each.cost, "sentence": curve.sentence_at(place)}
                    for place, each in enumerate(curve.at_prices)
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
