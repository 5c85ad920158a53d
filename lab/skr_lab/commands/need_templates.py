"""``skr experiment need-templates``: the ways to ask what a model needs (SKR Table 2)."""

from __future__ import annotations

import asyncio

from skr_app.measuring import (
    OutOption,
    make_judging,
)

from skr_app.models import MaxSpendOption, PricesOption, make_model
from skr_app.opening import read_demonstrations
from skr_app.options import (
    BaseUrl as BaseUrlOption,
)
from skr_app.options import (
    ConcurrencyOption,
    DatasetOption,
    DemonstrationsOption,
    LimitOption,
)
from skr_app.options import Deadline as DeadlineOption
from skr_app.options import (
    Json as JsonOption,
)
from skr_app.options import (
    Model as ModelOption,
)
from skr_app.options import (
    Questions as QuestionsArgument,
)
from skr_app.options import (
    SkipBad as SkipBadOption,
)
from skr_app.report import Result, RunFolder, ask_and_judge, show_result
from skr_core.prompts.routing import ROUTING_VERSION
from skr_core.types import Reference
from skr_lab.baselines import BaselineInputs, make_baseline
from skr_lab.commands.certainty import questions_with_answers
from skr_lab.experiments.need_templates import template_systems, templates_result
from skr_lab.prompts.baselines import BASELINES_VERSION
from skr_learn.evaluation.asking import System
from skr_learn.evaluation.measuring import Judged


def need_templates(
    questions: QuestionsArgument,
    demonstrations: DemonstrationsOption = None,
    dataset: DatasetOption = None,
    model: ModelOption = "extractive",
    base_url: BaseUrlOption = None,
    deadline: DeadlineOption = None,
    max_spend: MaxSpendOption = None,
    prices: PricesOption = None,
    out: OutOption = None,
    limit: LimitOption = None,
    concurrency: ConcurrencyOption = 8,
    skip_bad: SkipBadOption = False,
    json: JsonOption = False,
) -> None:
    """Is it right when it says that it needs nothing? Five ways to ask (SKR Table 2)."""
    from skr_app.opening import digest_of

    asked = questions_with_answers(questions, dataset, limit=limit, skip_bad=skip_bad)
    language_model = make_model(model, base_url)
    judging = make_judging(None, prices, language_model, base_url)
    shown = read_demonstrations(demonstrations)
    inputs = BaselineInputs(language_model, demonstrations=shown)
    name = "manual_cot" if shown else "zero_shot"
    answering = System.of(name, make_baseline(name, inputs))
    settings = {
        "questions": f"{questions.name} ({len(asked)})",
        "model": language_model.name,
        "answers": name,
    }
    stamp = {
        "command": "need-templates",
        **{key: each for key, each in settings.items() if key != "questions"},
        "demonstrations": digest_of([Reference.of(repr(each)) for each in shown]),
        "prompts": f"{BASELINES_VERSION} {ROUTING_VERSION}",
    }

    async def measured() -> tuple[Result, dict[str, list[Judged]]]:
        answers, direct = await ask_and_judge([answering], asked, folder, judging, concurrency)
        templates = template_systems(language_model, answers[name])
        _, judged = await ask_and_judge(templates, asked, folder, judging, concurrency)
        return templates_result(judged, direct[name], settings)

    with RunFolder(out, stamp) as folder:
        result, values = asyncio.run(measured())
        folder.write(result, values)
    show_result(result, out, json=json, more={"n": len(asked)})
