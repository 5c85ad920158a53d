"""The experiments that give a question its references by design: one command each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from skr_app.measuring import (
    EntailmentOption,
    KeyFactsOption,
    OutOption,
    make_judging,
)

from skr_app.models import MaxSpendOption, PricesOption, make_model
from skr_app.opening import load_questions, read_templates
from skr_app.options import (
    BaseUrl as BaseUrlOption,
)
from skr_app.options import (
    ConcurrencyOption,
    DatasetOption,
    LimitOption,
    TemplatesOption,
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
from skr_app.report import (
    RunFolder,
    ask_and_judge,
    show_result,
)
from skr_core.errors import InputError
from skr_core.questions import corpus_of
from skr_lab.experiments import Experiment


def command_of(experiment: Experiment) -> Callable[..., None]:
    """The command that asks an experiment's conditions."""

    def command(
        questions: QuestionsArgument,
        dataset: DatasetOption = None,
        model: ModelOption = "extractive",
        base_url: BaseUrlOption = None,
        templates: TemplatesOption = None,
        deadline: DeadlineOption = None,
        max_spend: MaxSpendOption = None,
        key_facts: KeyFactsOption = None,
        entailment: EntailmentOption = None,
        prices: PricesOption = None,
        out: OutOption = None,
        limit: LimitOption = None,
        concurrency: ConcurrencyOption = 8,
        skip_bad: SkipBadOption = False,
        json: JsonOption = False,
    ) -> None:
        read = load_questions(questions, dataset, key_facts, limit=limit, skip_bad=skip_bad)
        usable = [each for each in read if experiment.usable(each)]
        if not usable:
            raise InputError(f"{questions}: no question has {experiment.needs}")
        language_model = make_model(model, base_url)
        judging = make_judging(entailment, prices, language_model, base_url)
        words = experiment.templates if templates is None else read_templates(templates)
        systems = experiment.systems(language_model, corpus_of(read), words)
        stamp = {
            "command": experiment.name,
            "model": language_model.name,
            "prompts": words.version,
        }
        with RunFolder(out, stamp) as folder:
            _, judged = asyncio.run(ask_and_judge(systems, usable, folder, judging, concurrency))
            left_out = len(read) - len(usable)
            settings = {
                "questions": f"{questions.name} ({len(usable)} of {len(read)})",
                "model": language_model.name,
            }
            notes = (f"{left_out} questions lack {experiment.needs}",) if left_out else ()
            result = experiment.result(judged, settings, notes)
            folder.write(result, judged)
        show_result(result, out, json=json, more={"n": len(usable), "left_out": left_out})

    command.__doc__ = f"{experiment.title[0].upper()}{experiment.title[1:]}"
    return command
