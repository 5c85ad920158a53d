"""The needs of a router: words to ask in (SKR Table 2), records to learn from (Figure 5)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from skr_core.errors import InputError
from skr_core.flow import Flow, arun, call, gather
from skr_core.ports import LanguageModel, Router
from skr_core.prompts.routing import NEED_TEMPLATES, ROUTING_VERSION
from skr_core.questions import Question
from skr_core.routers.model_routers import PromptRouter
from skr_lab.baselines import BASELINES_VERSION, BaselineInputs, make_baseline
from skr_lab.experiment import Bench, Demonstrated, Found, Recorded, digest
from skr_lab.experiments.self_knowledge import DIRECT, WHEN_KNOWN, guided
from skr_lab.opening import Result, compare, open_embedder, row_of
from skr_learn import Records
from skr_learn.evaluate import Answers, Judged, System
from skr_learn.records import Record
from skr_learn.routers import ClassifierRouter, KNNRouter

CLAIMED, EVERY_QUESTION = "claimed_known", "every question"
CLAIMED_MEASURES = (CLAIMED, WHEN_KNOWN, "calls", "prompt_tokens", "completion_tokens")
PUBLISHED = (73.17, 72.32, 72.32, 72.07, 71.58)
"""Table 2: InstructGPT on TruthfulQA, in the order of the templates."""

FRACTIONS = (0.1, 0.25, 0.5, 1.0)
"""Shares of the training records, as in Figure 5."""

FEWEST = 20
"""The fewest records; with fewer, a tenth of the training half would be none."""

Fit = Callable[[Sequence[Record]], Router]
"""Makes a router of records."""


class NeedTemplates(Demonstrated):
    """Is it right when it says that it needs nothing? Five ways to ask."""

    name: ClassVar[str] = "need-templates"
    reproduces: ClassVar[str] = "SKR Table 2"

    async def run(self, bench: Bench) -> Found:
        """Answer every question, and ask in each way whether more is needed."""
        asked, model, shown = self.read_answered(), self.language_model, self.shown
        # Without examples Manual-CoT is zero-shot.
        name = DIRECT if shown else "zero_shot"
        inputs = BaselineInputs(model, demonstrations=shown)
        answering = System.of(name, make_baseline(name, inputs))
        settings = {"model": model.name, "answers": name}
        bench.open_folder(
            command=self.name,
            **settings,
            demonstrations=digest(shown),
            prompts=f"{BASELINES_VERSION} {ROUTING_VERSION}",
        )
        answers, direct = await self.ask(bench, [answering], asked)
        _, judged = await self.ask(bench, template_systems(model, answers[name]), asked)
        settings = {"questions": f"{self.questions.name} ({len(asked)})", **settings}
        result, values = templates_result(judged, direct[name], settings)
        return Found(result, values, {"n": len(asked)})


class TrainingSize(Recorded):
    """How many records does a router need? 10 to 100 % of one half, replayed on the other."""

    name: ClassVar[str] = "training-size"
    reproduces: ClassVar[str] = "SKR §5.3, Figure 5"

    kind: Literal["knn", "benefit", "classifier"] = "knn"
    """The kind of router."""
    embedder: str | None = None
    """The embedder of questions; the router's own by default."""
    mixed_stamps: bool = False
    """Allow records of several models or metrics."""
    concurrency: int = Field(default=8, ge=1)
    """Decisions side by side."""

    async def run(self, bench: Bench) -> Found:
        """Fit on growing parts, and replay."""
        read = Records.read(self.recorded, skip_bad=self.skip_bad, mixed_stamps=self.mixed_stamps)[
            : self.limit
        ]
        settings = {"records": self.told(each.question for each in read), "router": self.kind}
        bench.open_folder(command=self.name, **settings)
        result, judged = await arun(
            training_size(read, self._fit, settings, concurrency=self.concurrency)
        )
        return Found(result, judged, {"n": len(read)})

    def _fit(self, part: Sequence[Record]) -> Router:
        embedder = None if self.embedder is None else open_embedder(self.embedder)
        if self.kind == "classifier":
            return ClassifierRouter.fit(part, embedder=embedder)
        if self.kind == "benefit":
            return KNNRouter.fit(part, embedder=embedder, rule="benefit")
        return KNNRouter.fit(part, embedder=embedder)


def template_systems(model: LanguageModel, direct: Answers) -> list[System]:
    """One for each template: it is asked about every question, whose direct answer is there.

    Args:
        model: The model that is asked.
        direct: Its answers without passages.
    """
    return [
        guided(f"prompt:{each.name}", PromptRouter(model, template=each.name), direct, direct)
        for each in NEED_TEMPLATES
    ]


def templates_result(
    judged: Mapping[str, Sequence[Judged]], direct: Sequence[Judged], settings: Mapping[str, str]
) -> tuple[Result, dict[str, list[Judged]]]:
    """The table, and the values that it is made of.

    Args:
        judged: The judged answers of each template's system.
        direct: The judged direct answers.
        settings: Shown above the table.
    """
    measured = {
        EVERY_QUESTION: [
            replace(
                each,
                values={CLAIMED: 1.0, WHEN_KNOWN: each.values["answer_accuracy"], **_cost(each)},
            )
            for each in direct
        ]
    }
    measured |= {name: [_claimed(each) for each in answers] for name, answers in judged.items()}
    paper = ", ".join(
        f"{each.name} {figure:.2f}" for each, figure in zip(NEED_TEMPLATES, PUBLISHED, strict=True)
    )
    result = Result(
        "need-templates",
        "is it right when it says that it needs nothing? (SKR Table 2)",
        settings,
        rows=tuple(row_of(name, each, CLAIMED_MEASURES) for name, each in measured.items()),
        plotted=(WHEN_KNOWN, CLAIMED),
        notes=(
            f"The paper's figures, on TruthfulQA with InstructGPT: {paper}.",
            "A reply that says neither yes nor no counts as a need.",
        ),
    )
    return result, measured


def _claimed(judged: Judged) -> Judged:
    values: dict[str, float | None] = {CLAIMED: None, **_cost(judged)}
    if judged.answer is not None:
        known = not judged.answer.decision.retrieve
        values[CLAIMED] = float(known)
        if known:
            values[WHEN_KNOWN] = judged.values["answer_accuracy"]
    return replace(judged, values=values)


def _cost(judged: Judged) -> dict[str, float | None]:
    return {name: judged.values.get(name) for name in CLAIMED_MEASURES[2:]}


def training_size(
    records: Sequence[Record],
    fit: Fit,
    settings: Mapping[str, str],
    *,
    fractions: Sequence[float] = FRACTIONS,
    concurrency: int = 8,
) -> Flow[tuple[Result, dict[str, list[Judged]]]]:
    """Fit a router on growing parts of one half of the records, and replay the other half.

    No model is asked: the answer that a decision leads to is on record. Smaller parts are parts of
    greater ones, and the halves are drawn by the questions, so that every run draws the same.

    Args:
        records: All records.
        fit: Makes a router of a part of them.
        settings: Shown above the table.
        fractions: Shares of the training half.
        concurrency: Decisions side by side.

    Raises:
        InputError: There are too few records.
    """
    if (different := len({each.question for each in records})) < FEWEST:
        raise InputError(f"{different} questions are too few: {FEWEST} are needed at least")
    drawn = sorted(records, key=lambda each: _draw(each.question))
    middle = _draw(drawn[len(drawn) // 2].question)
    # All answers to a question stand in the same half.
    half = sum(_draw(each.question) < middle for each in drawn)
    training, held_out = drawn[:half], drawn[half:]
    judged = {
        "never": [_replayed(each, False) for each in held_out],
        "always": [_replayed(each, True) for each in held_out],
    }
    sizes: dict[str, float] = {}
    for fraction in fractions:
        part = training[: max(1, round(fraction * half))]
        router = fit(part)
        decisions = yield from gather(
            [call(router.decide, router.adecide, each.question) for each in held_out],
            limit=concurrency,
        )
        name = f"{fraction:.0%} ({len(part)} records)"
        sizes[name] = len(part)
        judged[name] = [
            _replayed(each, decision.retrieve)
            for each, decision in zip(held_out, decisions, strict=True)
        ]
    result = Result(
        "training-size",
        "how many records does the router need? (SKR §5.3, Figure 5)",
        settings,
        rows=tuple(
            replace(row_of(name, each), at=sizes.get(name)) for name, each in judged.items()
        ),
        comparisons=tuple(
            compare(name, each, "always", judged["always"])
            for name, each in judged.items()
            if name not in {"never", "always"}
        ),
        plotted=("answer_accuracy", "retrieved", "beneficial_guidance"),
        over="records",
    )
    return result, judged


def _replayed(record: Record, retrieve: bool) -> Judged:
    score = record.retrieved.score if retrieve else record.direct.score
    values: dict[str, float | None] = {"answer_accuracy": score, "retrieved": float(retrieve)}
    if record.effect != "same":
        values["beneficial_guidance"] = float((record.effect == "helps") == retrieve)
    return Judged(Question(_draw(record.question), record.question, record.gold), None, values)


def _draw(question: str) -> str:
    return hashlib.blake2b(question.encode(errors="surrogatepass"), digest_size=8).hexdigest()
