"""``skr experiment certainty``: does the model know what it knows (W2R Tables 2, 3, 6 and 7)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from skr_app.measuring import (
    OutOption,
    make_judging,
)

from skr_app.models import MaxSpendOption, PricesOption, make_model
from skr_app.opening import load_questions
from skr_app.options import (
    BaseUrl as BaseUrlOption,
)
from skr_app.options import (
    ConcurrencyOption,
    Dataset,
    DatasetOption,
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
    SkipBad as SkipBadOption,
)
from skr_app.report import (
    Result,
    Row,
    RunFolder,
    ask_and_judge,
    show_result,
)
from skr_core.errors import InputError
from skr_core.prompts.routing import ROUTING_VERSION, STRATEGIES
from skr_core.questions import Question
from skr_lab.experiments.certainty import (
    certainty_result,
    read_strategies,
    strategy_system,
    with_certainty,
)
from skr_lab.experiments.recorded_certainty import (
    ALL,
    CERTAIN_FROM,
    RETRIEVAL,
    read_certainty,
)
from skr_lab.metrics.certainty import CERTAINTY_MEASURES

OptionalQuestionsArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="QUESTIONS", help="JSONL with question and answer; for --dataset, its own file."
    ),
]
RecordedOption = Annotated[
    Path | None,
    typer.Option(
        "--recorded", help="Recorded answers in place of a model: nothing is asked (also .gz)."
    ),
]
StrategiesOption = Annotated[
    str,
    typer.Option(
        "--strategies", help=f"Ways of asking, with commas between: {', '.join(STRATEGIES)}."
    ),
]


def certainty(
    questions: OptionalQuestionsArgument = None,
    recorded: RecordedOption = None,
    strategies: StrategiesOption = "all",
    certain_from: Annotated[
        int,
        typer.Option("--certain-from", min=1, max=5, help="Of recorded confidences of 1 to 5."),
    ] = CERTAIN_FROM,
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
    """Does the model know what it knows? Asked in seven ways (W2R Tables 2, 3, 6 and 7)."""
    if recorded is not None:
        if questions is not None:
            raise InputError(NEITHER_NOR_BOTH)
        read = read_certainty(recorded, certain_from=certain_from, limit=limit, skip_bad=skip_bad)
        settings = {"recorded": recorded.name}
        with RunFolder(out, {"command": "certainty", **settings}) as folder:
            result = read.result(settings)
            folder.write(result, read.groups)
        show_result(result, out, json=json, more=figures(result))
        return
    asked = questions_with_answers(questions, dataset, limit=limit, skip_bad=skip_bad)
    chosen = read_strategies(strategies)
    language_model = make_model(model, base_url)
    judging = make_judging(None, prices, language_model, base_url)
    systems = [strategy_system(language_model, strategy) for strategy in chosen]
    stamp = {"command": "certainty", "model": language_model.name, "prompts": ROUTING_VERSION}
    with RunFolder(out, stamp) as folder:
        _, judged = asyncio.run(
            ask_and_judge(systems, asked, folder, judging, concurrency, may_fail=True)
        )
        settings = {
            "questions": f"{Path(str(questions)).name} ({len(asked)})",
            "model": language_model.name,
        }
        measured = {name: with_certainty(each) for name, each in judged.items()}
        result = certainty_result(measured, settings)
        folder.write(result, measured)
    show_result(result, out, json=json, more=figures(result))


NEITHER_NOR_BOTH = "give QUESTIONS to ask a model, or --recorded with a file of its answers"


def questions_with_answers(
    path: Path | None, dataset: Dataset | None, *, limit: int | None, skip_bad: bool
) -> list[Question]:
    """The questions to ask, each with a right answer.

    Raises:
        InputError: There is no file, or it has no right answers.
    """
    if path is None:
        raise InputError(NEITHER_NOR_BOTH)
    read = load_questions(path, dataset, None, limit=limit, skip_bad=skip_bad)
    usable = [each for each in read if any(answer.strip() for answer in each.gold)]
    if not usable:
        raise InputError(f"{path}: no question has a right answer")
    return usable


def figures(result: Result) -> dict[str, Any]:
    """The means by their names, for each group; of all, where that is one row."""
    groups = {row.name: _means(row) for row in result.rows}
    overall = groups.get(ALL) or (groups[result.rows[0].name] if len(groups) == 1 else {})
    return {**overall, "groups": groups}


def _means(row: Row) -> Mapping[str, Any]:
    cells = {name: cell.mean for name, cell in row.cells.items() if cell.n}
    judged = row.cells[CERTAINTY_MEASURES[0]]
    known = dict.fromkeys((*CERTAINTY_MEASURES, *RETRIEVAL)) | cells
    return {"n": judged.n, "n_failed": judged.n_failed, **known}
