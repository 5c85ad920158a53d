"""Asking the systems of one of SKR's tables, in the order in which they need one another."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from skr_app.output import progress
from skr_app.report import Judging, Result, RunFolder, ask_and_judge
from skr_core.errors import InputError
from skr_core.flow import arun
from skr_core.types import Stamp
from skr_lab.baselines import BASELINES, BaselineInputs, make_baseline
from skr_lab.baselines.rethinking import PATHS
from skr_lab.experiments.self_knowledge import (
    DIRECT,
    RETRIEVED,
    SystemsTable,
    guided,
    make_routers,
    records_of,
    table_result,
    with_guidance,
    with_passages,
)
from skr_learn.evaluation.asking import System
from skr_learn.evaluation.measuring import Judged

if TYPE_CHECKING:
    from skr_core.ports import Retriever, Router
    from skr_core.questions import Question
    from skr_lab.experiments.self_knowledge import Metric
    from skr_learn.self_knowledge.records import SelfKnowledge


class SystemsRun:
    """One of SKR's tables: the baselines first, then the routers that choose between two of them.

    Args:
        table: Which.
        inputs: What the baselines work with, a retriever and an embedder among it.
        metric: What the two answers to a question compare by.
        folder: Of the run.
        judging: What answers are judged with.
        concurrency: Questions under way at a time.
    """

    def __init__(
        self,
        table: SystemsTable,
        inputs: BaselineInputs,
        metric: Metric,
        folder: RunFolder,
        judging: Judging,
        concurrency: int,
    ) -> None:
        self.table, self.inputs, self.metric = table, inputs, metric
        self.folder, self.judging, self.concurrency = folder, judging, concurrency

    async def result(
        self,
        asked: Sequence[Question],
        training: Sequence[Question],
        encoder: str | None,
        settings: dict[str, str],
    ) -> tuple[Result, dict[str, list[Judged]]]:
        """Ask everything, and make the table.

        Args:
            asked: The questions.
            training: What routers learn from; without any, those that learn are left out.
            encoder: Fine-tuned for the classifier, where one is named.
            settings: Shown above the table.

        Returns:
            The table, and the judged answers by system.
        """
        retriever, embedder = self.inputs.retriever, self.inputs.embedder
        assert retriever is not None
        assert embedder is not None
        notes: list[str] = []
        systems = await self._baselines(retriever, notes)
        pair = [systems[DIRECT], systems[RETRIEVED]]
        records = []
        if not training:
            notes.append("Rows that learn need training questions: give --training, or --type.")
        else:
            learning = [System(f"{each.name}, training", each.ask, key=each.name) for each in pair]
            _, learnt = await ask_and_judge(
                learning, training, self.folder, self.judging, self.concurrency
            )
            direct, retrieved = (learnt[each.name] for each in learning)
            stamp = Stamp(self.inputs.model.name, retriever.name, metric=self.metric)
            records = records_of(direct, retrieved, self.metric, stamp)
            notes.append(_learnt(len(training), records))
        with progress("Fitting the routers"):
            routers, problems = await asyncio.to_thread(
                make_routers, self.table.routed, self.inputs.model, records, embedder, encoder
            )
        answers, judged = await ask_and_judge(
            list(systems.values()), asked, self.folder, self.judging, self.concurrency
        )
        steered = [
            guided(name, router, answers[DIRECT], answers[RETRIEVED], learnt_from=records)
            for name, router in routers.items()
        ]
        _, routed = await ask_and_judge(steered, asked, self.folder, self.judging, self.concurrency)
        judged |= {
            name: with_guidance(each, judged[DIRECT], judged[RETRIEVED], self.metric)
            for name, each in routed.items()
        }
        notes += [*problems, *self._remarks(routers, encoder)]
        return table_result(self.table, judged, self.metric, settings, notes), judged

    async def _baselines(self, retriever: Retriever, notes: list[str]) -> dict[str, System]:
        shown = await arun(with_passages(retriever, self.inputs.demonstrations))
        inputs = replace(self.inputs, demonstrations=shown)
        made = {}
        for name in self.table.rows:
            if name in self.table.routed:
                continue
            if "pool" in BASELINES[name].needs and not inputs.pool:
                notes.append(f"{name} is left out: it takes its examples from training questions.")
                continue
            try:
                # DSP finds the passages of its examples by its own searches.
                given = self.inputs if name == "dsp" else inputs
                made[name] = System.of(name, make_baseline(name, given))
            except InputError as error:
                notes.append(f"{name} is left out: {error}.")
        return made

    def _remarks(self, routers: Mapping[str, Router], encoder: str | None) -> list[str]:
        remarks = []
        if "skr_cls" in routers and encoder is None:
            remarks.append(
                "skr_cls is a logistic head on the embedder's vectors; --encoder "
                "bert-base-uncased fine-tunes as the paper does."
            )
        if "cot_rr" in self.table.rows:
            judge = getattr(self.inputs.entailment, "name", "the given model")
            remarks.append(
                f"cot_rr draws {PATHS} reasonings, which differ only where the model's "
                f"temperature lets them; {judge} judges what passages bear out."
            )
        if "dsp" in self.table.rows:
            remarks.append(
                "self_ask shows an example of its own; dsp searches twice and predicts once, where "
                "the original votes over several predictions."
            )
        return remarks


def _learnt(asked: int, records: Sequence[SelfKnowledge]) -> str:
    judged = [each for each in records if not each.all_wrong]
    known = sum(each.known for each in judged)
    return (
        f"{asked} training questions: {known} known, {len(judged) - known} unknown, "
        f"{len(records) - len(judged)} dropped because both answers are wrong, "
        f"{asked - len(records)} failed."
    )
