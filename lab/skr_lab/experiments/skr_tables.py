"""SKR's tables, asked anew: its systems beside every baseline, on the same questions.

Table 1 and Table 5 are one run with other rows: the baselines first, then the routers that choose
between two of them. `Baselines` asks baselines alone, and the loop beside them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal

from skr_core.budget import Budget
from skr_core.errors import InputError
from skr_core.flow import arun
from skr_core.ports import Retriever, Router
from skr_core.prompts.routing import ROUTING_VERSION
from skr_core.prompts.templates import PROMPT_VERSION
from skr_core.questions import Question
from skr_core.settings import Settings
from skr_core.types import Action, Stamp
from skr_graphs import GraphAnswerer
from skr_lab.baselines import BASELINES, BASELINES_VERSION, PATHS, BaselineInputs, make_baseline
from skr_lab.experiment import (
    Bench,
    Claiming,
    Demonstrated,
    Found,
    Names,
    Searching,
    digest,
    means_of,
)
from skr_lab.experiments.self_knowledge import (
    DIRECT,
    GUIDANCE,
    RETRIEVED,
    WHEN_KNOWN,
    Metric,
    guided,
    make_routers,
    records_of,
    training_apart,
    with_guidance,
    with_passages,
)
from skr_lab.opening import (
    LexicalEntailment,
    Result,
    compare,
    load_questions,
    open_embedder,
    progress,
    read_templates,
    row_of,
)
from skr_learn.evaluate import Answers, Judged, System
from skr_learn.records import Record

Ask = Callable[
    [Sequence[System], Sequence[Question]],
    Awaitable[tuple[dict[str, Answers], dict[str, list[Judged]]]],
]
ACTIONS: dict[str, Action] = {"single_shot": "single", "loop": "loop"}
"""The systems of the product that stand beside baselines, and the action each always takes."""
METRICS: dict[str, Metric] = {
    "accuracy": "answer_accuracy",
    "exact_match": "exact_match",
    "f1": "token_f1",
}

MEASURES = (
    *("answer_accuracy", "exact_match", "token_f1", "retrieved", GUIDANCE, WHEN_KNOWN),
    *("calls", "prompt_tokens", "completion_tokens", "usd"),
)


@dataclass(frozen=True)
class SystemsTable:
    """A table of the paper.

    Attributes:
        name: The name of its experiment.
        title: The question that it asks, in words.
        rows: Baselines, and routers by the names of `make_routers`, in the order of the paper.
    """

    name: str
    title: str
    rows: tuple[str, ...]

    @property
    def routed(self) -> tuple[str, ...]:
        """The rows that a router guides."""
        return tuple(name for name in self.rows if name.startswith("skr_"))


TABLES = {
    each.name: each
    for each in (
        SystemsTable(
            "self-knowledge",
            "does it pay to know what one knows? (SKR Table 1)",
            (
                *("zero_shot", "zero_shot_cot", "few_shot", DIRECT),
                *("auto_cot_similarity", "auto_cot_diversity", RETRIEVED, "ircot"),
                *("skr_prompt", "skr_icl", "skr_cls", "skr_knn", "cot_rr"),
            ),
        ),
        SystemsTable(
            "retrieval-methods",
            "self-knowledge beside other ways to retrieve (SKR Table 5)",
            (DIRECT, RETRIEVED, "self_ask", "recite_and_answer", "dsp", "skr_knn"),
        ),
    )
}
"""The tables by the name of their experiment."""


class SKRTable(Claiming, Searching, Demonstrated):
    """Systems of one of SKR's tables, on questions, after records of training questions."""

    table: ClassVar[SystemsTable]

    training: Path | None = None
    """Questions that routers learn from and Auto-CoT chooses its examples from."""
    kind: str | None = None
    """Ask the questions of this type and train on the others, such as Implicit of TempQuestions."""
    metric: Literal["accuracy", "exact_match", "f1"] = "accuracy"
    """The measure that compares the two answers to a question."""
    encoder: str | None = None
    """Fine-tuned for skr_cls, such as bert-base-uncased; else a head on the embedder's vectors."""

    async def run(self, bench: Bench) -> Found:
        """Ask the baselines, fit the routers, and ask them."""
        shown = self.shown
        if not shown:
            raise InputError(
                "the systems of this table share their worked examples: give demonstrations, "
                'with reasoning that ends in "So the answer is ..."'
            )
        asked, learnt, read = self._split()
        model = self.language_model
        opened, searched = self.open_store(bench, read)
        settings = {
            "questions": f"{self.questions.name} ({len(asked)})",
            "training": f"{len(learnt)} ({digest(learnt)})",
            "model": model.name,
            "retriever": opened.name,
            "corpus": searched,
            "demonstrations": f"{len(shown)} ({digest(shown)})",
            "metric": self.metric,
        }
        stamp = {name: each for name, each in settings.items() if name != "questions"}
        bench.open_folder(
            command=self.name,
            **stamp,
            embedder=self.embedder,
            encoder=self.encoder or "",
            entailment=self.entailment or "lexical",
            prompts=f"{BASELINES_VERSION} {ROUTING_VERSION}",
        )
        inputs = BaselineInputs(
            model,
            opened,
            open_embedder(self.embedder),
            shown,
            [each.asked for each in learnt],
            entailment=self.judge or LexicalEntailment(),
        )
        run = SystemsRun(
            self.table,
            inputs,
            METRICS[self.metric],
            lambda systems, questions: self.ask(bench, systems, questions),
        )
        result, judged = await run.result(asked, learnt, self.encoder, settings)
        return Found(result, judged, {"n": len(asked), "training": len(learnt)})

    def _split(self) -> tuple[list[Question], list[Question], list[Question]]:
        """The questions that are asked, those that are learnt from, and all that were read."""
        read = self.read_answered(limited=False)
        asked, others = read, list[Question]()
        if self.kind is not None:
            asked = [each for each in read if self.kind in each.types]
            others = [each for each in read if self.kind not in each.types]
            if not asked:
                types = ", ".join(sorted({name for each in read for name in each.types}))
                raise InputError(f"kind {self.kind}: the questions are of {types or 'no type'}")
        if self.training is not None:
            others = self.read_answered(self.training, limited=False)
        asked = asked[: self.limit]
        more = others if self.training is not None else []
        return asked, training_apart(others, asked), [*read, *more]


class SelfKnowledgeTable(SKRTable):
    """Does it pay to know what one knows? SKR beside the baselines."""

    name: ClassVar[str] = "self-knowledge"
    reproduces: ClassVar[str] = "SKR Table 1, Figure 4"
    table: ClassVar[SystemsTable] = TABLES["self-knowledge"]


class RetrievalMethods(SKRTable):
    """Self-knowledge beside other ways to retrieve."""

    name: ClassVar[str] = "retrieval-methods"
    reproduces: ClassVar[str] = "SKR Table 5"
    table: ClassVar[SystemsTable] = TABLES["retrieval-methods"]


class Baselines(Claiming, Searching, Demonstrated):
    """Which way of answering pays? Baselines beside one search and the loop."""

    name: ClassVar[str] = "baselines"
    reproduces: ClassVar[str] = "the baselines of SKR Tables 1 and 5; RaLLM Table 4 (loop)"

    systems: Names = ("zero_shot", "single_shot", "loop")
    """The systems: single_shot, loop, and baselines such as few_shot, cot_ir or dsp."""
    pool: Path | None = None
    """JSON Lines with questions that Auto-CoT chooses its examples from."""
    templates: str | None = None
    """The words to ask in: default, rallm, skr, w2r, or a JSON file."""
    max_rounds: int = 3
    """Rounds of retrieval of the loop."""

    async def run(self, bench: Bench) -> Found:
        """Ask every system, each beside the first."""
        known = (*ACTIONS, *BASELINES)
        if unknown := [name for name in self.systems if name not in known]:
            raise InputError(f"systems: no system {unknown[0]!r}, give some of {', '.join(known)}")
        model, read = self.language_model, self.read(limited=False)
        asked = read[: self.limit]
        opened, searched = self.open_store(bench, read)
        words = read_templates(self.templates)
        pool: list[str] = []
        if self.pool is not None:
            read_pool = load_questions(self.pool, None, limit=None, skip_bad=self.skip_bad)
            pool = [each.asked for each in read_pool]
        inputs = BaselineInputs(
            model,
            opened,
            open_embedder(self.embedder),
            self.shown,
            pool,
            templates=None if self.templates is None else words,
            entailment=self.judge or LexicalEntailment(),
        )
        answerer = GraphAnswerer(
            Settings.of(
                model,
                opened,
                budget=Budget(max_rounds=self.max_rounds),
                templates=words,
                demonstrations=self.shown,
            )
        )
        systems = [
            System.of(name, answerer, action=ACTIONS[name])
            if name in ACTIONS
            else System.of(name, make_baseline(name, inputs))
            for name in dict.fromkeys(self.systems)
        ]
        settings = {
            "model": model.name,
            "retriever": opened.name,
            "corpus": searched,
            "max_rounds": str(self.max_rounds),
        }
        bench.open_folder(
            command=self.name,
            **settings,
            demonstrations=digest(self.shown),
            pool=digest(pool),
            prompts=f"{BASELINES_VERSION} {PROMPT_VERSION} {words.version}",
        )
        _, judged = await self.ask(bench, systems, asked)
        first, *others = judged
        result = Result(
            self.name,
            "which way of answering pays?",
            {"questions": f"{self.questions.name} ({len(asked)})", **settings},
            rows=tuple(row_of(name, each) for name, each in judged.items()),
            comparisons=tuple(compare(name, judged[name], first, judged[first]) for name in others),
            plotted=("answer_accuracy", "title_recall", "prompt_tokens"),
        )
        return Found(result, judged, {"n": len(asked), "systems": means_of(result)})


class SystemsRun:
    """One of SKR's tables: the baselines first, then the routers that choose between two of them.

    Args:
        table: The table.
        inputs: The inputs of the baselines, a retriever and an embedder among them.
        metric: The measure that compares the two answers to a question.
        ask: Asks systems questions, and judges their answers.
    """

    def __init__(
        self,
        table: SystemsTable,
        inputs: BaselineInputs,
        metric: Metric,
        ask: Ask,
    ) -> None:
        self.table, self.inputs, self.metric, self.ask = table, inputs, metric, ask

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
            training: The questions that routers learn from; without any, those that learn are left
                out.
            encoder: An encoder that is fine-tuned for the classifier, where one is named.
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
            notes.append("Rows that learn need training questions: give training, or kind.")
        else:
            learning = [System(f"{each.name}, training", each.ask, key=each.name) for each in pair]
            _, learnt = await self.ask(learning, training)
            direct, retrieved = (learnt[each.name] for each in learning)
            stamp = Stamp(self.inputs.model.name, retriever.name, metric=self.metric)
            records = records_of(direct, retrieved, self.metric, stamp)
            notes.append(_learnt(len(training), records))
        with progress("Fitting the routers"):
            routers, problems = await asyncio.to_thread(
                make_routers, self.table.routed, self.inputs.model, records, embedder, encoder
            )
        answers, judged = await self.ask(list(systems.values()), asked)
        steered = [
            guided(name, router, answers[DIRECT], answers[RETRIEVED], learnt_from=records)
            for name, router in routers.items()
        ]
        _, routed = await self.ask(steered, asked)
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
                "skr_cls is a logistic head on the embedder's vectors; encoder=bert-base-uncased "
                "fine-tunes as the paper does."
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


def _learnt(asked: int, records: Sequence[Record]) -> str:
    judged = [each for each in records if not each.all_wrong]
    known = sum(each.known for each in judged)
    return (
        f"{asked} training questions: {known} known, {len(judged) - known} unknown, "
        f"{len(records) - len(judged)} dropped because both answers are wrong, "
        f"{asked - len(records)} failed."
    )


def table_result(
    table: SystemsTable,
    judged: Mapping[str, Sequence[Judged]],
    metric: Metric,
    settings: Mapping[str, str],
    notes: Sequence[str] = (),
) -> Result:
    """The table in the paper's order, with SKR's rows beside those they choose between.

    Where a table compares other ways to retrieve, SKR stands beside each of them.
    """
    present = [name for name in table.rows if name in judged]
    routed = [name for name in present if name in table.routed]
    others = (
        [DIRECT, RETRIEVED]
        if len(table.routed) > 1
        else [name for name in present if name not in table.routed]
    )
    return Result(
        table.name,
        table.title,
        settings,
        rows=tuple(row_of(name, judged[name], MEASURES) for name in present),
        comparisons=tuple(
            compare(name, judged[name], other, judged[other], MEASURES)
            for name in routed
            for other in others
            if other in judged
        ),
        plotted=(metric, "retrieved", "prompt_tokens"),
        notes=tuple(notes),
    )
