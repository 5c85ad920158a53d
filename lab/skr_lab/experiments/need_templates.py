"""The five ways to ask what a model needs, each with how often it is right to decline (Table 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from skr_app.report import Result, row_of
from skr_core.ports import LanguageModel
from skr_core.prompts.routing import NEED_TEMPLATES
from skr_core.routers.asking import PromptRouter
from skr_lab.experiments.self_knowledge import WHEN_KNOWN, guided
from skr_learn.evaluation.asking import Answers, System
from skr_learn.evaluation.measuring import Judged

CLAIMED, ALL = "claimed_known", "every question"
MEASURES = (CLAIMED, WHEN_KNOWN, "calls", "prompt_tokens", "completion_tokens")
PUBLISHED = (73.17, 72.32, 72.32, 72.07, 71.58)
"""Table 2: InstructGPT on TruthfulQA, in the order of the templates."""


def template_systems(model: LanguageModel, direct: Answers) -> list[System]:
    """One for each template: it is asked about every question, whose direct answer is there.

    Args:
        model: Asked.
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
        judged: Of each template's system.
        direct: Of the direct answers.
        settings: Shown above the table.
    """
    measured = {
        ALL: [
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
        rows=tuple(row_of(name, each, MEASURES) for name, each in measured.items()),
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
    return {name: judged.values.get(name) for name in MEASURES[2:]}
