"""``skr key-facts``: what an answer has to say, made by a model and reviewed by a person."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Annotated

import typer

from skr_app.extractive import ExtractiveModel
from skr_app.models import MaxSpendOption, PricesOption, make_model, seconds_a_question
from skr_app.opening import load_questions
from skr_app.options import (
    BaseUrl as BaseUrlOption,
)
from skr_app.options import (
    ConcurrencyOption,
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
    Questions as QuestionsArgument,
)
from skr_app.options import (
    SkipBad as SkipBadOption,
)
from skr_app.output import Advance, console, escape, messages, print_json, progress
from skr_core.bounds import Bounds, bounded
from skr_core.errors import InputError, ModelError
from skr_core.flow import arun
from skr_core.ports import LanguageModel
from skr_core.questions import Question
from skr_core.texts import encodable
from skr_lab.key_facts.making import make_key_facts, read_worked_steps
from skr_lab.key_facts.review import HEADER, accept, freeze, read_review, review_block
from skr_lab.prompts.key_facts import WorkedSteps

app = typer.Typer(
    help="Key-facts (RaLLM §3): make them with your model, review them, freeze them.",
    no_args_is_help=True,
)


@app.command("make")
def make(
    questions: QuestionsArgument,
    out: Annotated[
        Path, typer.Option("--out", help="The review file; what is in it already is kept.")
    ] = Path("key-facts.md"),
    dataset: DatasetOption = None,
    model: ModelOption = "extractive",
    base_url: BaseUrlOption = None,
    demonstrations: Annotated[
        Path | None,
        typer.Option(
            "--demonstrations",
            help="JSONL with question, answer, reasoning and perhaps contexts: shown before each.",
        ),
    ] = None,
    deadline: DeadlineOption = None,
    max_spend: MaxSpendOption = None,
    prices: PricesOption = None,
    limit: LimitOption = None,
    concurrency: ConcurrencyOption = 4,
    skip_bad: SkipBadOption = False,
    json: JsonOption = False,
) -> None:
    """Ask a model for the reasoning steps and the key-facts in them; write them for review.

    A model that refuses is a failure, which the same command asks again.
    """
    language_model = make_model(model, base_url)
    if isinstance(language_model, ExtractiveModel):
        raise InputError(
            "key-facts are written, and the extractive model only quotes: give --model"
        )
    asked = load_questions(questions, dataset, None, limit=limit, skip_bad=skip_bad)
    held = {each.id for each in read_review(out)} if out.exists() else set()
    wanted = [each for each in asked if " ".join(each.id.split()) not in held]
    worked = read_worked_steps(demonstrations) if demonstrations else []
    failures: list[str] = []
    if wanted:
        with progress("Making key-facts") as advance:
            failures = asyncio.run(_make(language_model, wanted, worked, out, concurrency, advance))
    if wanted and len(failures) == len(wanted):
        raise ModelError(f"every question failed; the last: {failures[-1]}")
    if failures:
        messages.print(
            f"[yellow]{len(failures)} questions failed[/yellow]; run it again to ask them again. "
            f"The last: {escape(failures[-1])}"
        )
    made = len(wanted) - len(failures)
    if json:
        print_json({"out": str(out), "made": made, "kept": len(held), "failed": len(failures)})
        return
    console.print(f"{made} questions added to {escape(str(out))}, {len(held)} were there already")
    console.print(
        f"Edit it, then:  [bold]skr key-facts accept {escape(str(out))} --out frozen.jsonl[/bold]"
    )


@app.command("accept")
def accept_review(
    review: Annotated[Path, typer.Argument(help="The review file, as you left it.")],
    out: Annotated[Path, typer.Option("--out", help="Written once.")] = Path("key-facts.jsonl"),
    json: JsonOption = False,
) -> None:
    """Check a review file (2 to 4 facts a question, none empty, none twice) and freeze it."""
    accepted = accept(review)
    freeze(out, accepted)
    facts = sum(len(each.facts) for each in accepted)
    if json:
        print_json({"out": str(out), "questions": len(accepted), "key_facts": facts})
        return
    console.print(f"{facts} key-facts of {len(accepted)} questions in {escape(str(out))}")


async def _make(
    model: LanguageModel,
    questions: Sequence[Question],
    worked: Sequence[WorkedSteps],
    out: Path,
    concurrency: int,
    advance: Advance,
) -> list[str]:
    """Make them side by side; each is in the file as soon as it is made. Returns the failures."""
    slots, done, failures = asyncio.Semaphore(concurrency), count(1), list[str]()

    async def one(question: Question) -> None:
        async with slots:
            try:
                making = make_key_facts(model, question, worked)
                made = await arun(bounded(making, Bounds.within(seconds_a_question())))
            except ModelError as error:
                failures.append(" ".join(str(error).split()))
            else:
                _append(out, review_block(made))
        advance(next(done), len(questions))

    await asyncio.gather(*(one(question) for question in questions))
    return failures


def _append(out: Path, block: str) -> None:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        begins = not out.exists() or out.stat().st_size == 0
        with out.open("a", encoding="utf-8") as file:
            file.write(encodable((HEADER if begins else "") + "\n" + block))
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error}") from error
