"""``skr questions``: questions made of one's own documents, reviewed, and accepted."""

from __future__ import annotations

import asyncio
import shlex
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from skr_app.choosing import check_model
from skr_app.extractive import is_extractive
from skr_app.helping import App
from skr_app.models import Models
from skr_app.opening import check_writable, open_store, store_embedder
from skr_app.options import DEFAULT_STORE, Embedder, Json, ModelOptions, Store
from skr_app.output import console, counted, escape, messages, print_json, progress, spent
from skr_app.spreading import spread
from skr_core.errors import InputError
from skr_learn import accept_questions, amake_questions
from skr_learn.questions import MakingProgress

app = App(
    help="Make questions about your documents with your model, review them, and accept them.",
)

DROPPED = {
    "none": "no question could be made",
    "obvious": "the question tells its answer",
    "repeated": "another question asks the same",
    "unchecked": "the model answered differently when it was asked again",
    "failed": "the model failed",
}
"""Why questions were not kept, in words."""


@app.command("make")
@spread
def make(
    options: ModelOptions,
    store: Store = DEFAULT_STORE,
    n: Annotated[int, typer.Option("--n", min=1, help="How many questions to make.")] = 200,
    out: Annotated[
        Path, typer.Option("--out", help="File for your review. What it holds already is kept.")
    ] = Path("review.md"),
    scope: Annotated[
        str | None, typer.Option("--scope", help="Only this scope of the store.")
    ] = None,
    embedder: Embedder = None,
    concurrency: Annotated[
        int,
        typer.Option("--concurrency", min=1, help="Questions that are made at the same time."),
    ] = 8,
    json: Json = False,
) -> None:
    """Let a model write questions about your documents, and check each by answering it.

    Half of them are about one passage. The others need two passages, compare
    things, or have no answer in the documents. Run the command again to go on
    where it ended.
    """
    check_model(options)
    if is_extractive(options.model):
        raise InputError(
            "the extractive model only quotes and cannot write questions: give --model"
        )
    check_writable(out)
    last = MakingProgress(n)
    models = Models.of(options)
    with (
        open_store(store, store_embedder(embedder)) as opened,
        progress("Making questions") as advance,
    ):

        def show(progress: MakingProgress) -> None:
            nonlocal last
            last = progress
            advance(progress.made, progress.total)

        asking = amake_questions(
            opened if scope is None else opened.in_scope(scope),
            models.model(options.model),
            n,
            out=out,
            concurrency=concurrency,
            on_progress=show,
        )
        made = asyncio.run(asking)
    types = Counter(each.question.types[0] for each in made if each.question.types)
    known = sum(each.known is True for each in made)
    if json:
        print_json(
            {
                "out": str(out),
                "n": len(made),
                "reused": last.reused,
                "types": types,
                "known": known,
                "dropped": last.dropped,
                "usage": last.usage,
            }
        )
        return
    kinds = ", ".join(f"{number} {type}" for type, number in types.items())
    console.print(f"{counted(len(made), 'question')} in {escape(str(out))}: {escape(kinds)}")
    console.print(f"The model answers {known} of them from memory ({spent(last.usage)})")
    for reason, number in last.dropped.items():
        messages.print(f"Not kept: {number}, because {DROPPED[reason]}")
    if last.last_failure:
        messages.print(f"The last failure: {escape(last.last_failure)}", soft_wrap=True)
    if len(made) < n:
        messages.print(f"[yellow]{n - len(made)} fewer than you asked for[/yellow]")
    file = shlex.quote(str(out))
    console.print(
        f"Read them, change or delete what is wrong, then:  skr questions accept {escape(file)}",
        soft_wrap=True,
    )


@app.command("accept")
def accept(
    review: Annotated[
        Path, typer.Argument(help="The review file, with your changes.", show_default=False)
    ],
    out: Annotated[
        Path, typer.Option("--out", help="File of questions for `skr collect` and `skr evaluate`.")
    ] = Path("questions.jsonl"),
    json: Json = False,
) -> None:
    """Write the questions of a review file. All that has to be put right in it is said at once."""
    check_writable(out)
    accepted = accept_questions(review, out)
    if json:
        print_json({"out": str(out), "questions": len(accepted)})
        return
    file = shlex.quote(str(out))
    console.print(f"{counted(len(accepted), 'question')} in {escape(str(out))}")
    console.print(f"Next:  skr collect {escape(file)} --store STORE --model MODEL", soft_wrap=True)
