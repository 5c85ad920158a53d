"""``skr route``: what a router decides on a question, and on what evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from skr_app.models import Models
from skr_app.opening import open_router
from skr_app.options import BaseUrl, Deadline, Json, Model, ModelOptions, Question
from skr_app.output import DECIDED, console, escape, messages, print_json, spent
from skr_core.bounds import Bounds, bounded
from skr_core.flow import call, run
from skr_core.plain import to_plain
from skr_core.prompts.asking import checked_question


def route(
    question: Question,
    router: Annotated[
        Path,
        typer.Option(
            "--router",
            help="File of a router that `skr calibrate` made, or the name of one that needs no "
            "records, such as `prompt:can_answer`.",
        ),
    ] = Path("router.skr"),
    model: Model = ModelOptions.model,
    base_url: BaseUrl = None,
    deadline: Deadline = None,
    force: Annotated[
        bool, typer.Option("--force", help="Use it although it was made with another model.")
    ] = False,
    json: Json = False,
) -> None:
    """Show whether a router would retrieve for a question, and why."""
    question = checked_question(question)
    asked = Models.of(ModelOptions(model=model, base_url=base_url, deadline=deadline)).model(model)
    with messages.status("Deciding"):
        opened = open_router(router, asked, force=force)
        deciding = call(opened.decide, opened.adecide, question)
        decision = run(bounded(deciding, Bounds.within(deadline)))
    if json:
        print_json({"question": question, **to_plain(decision)})
        return
    console.print(f"[bold]{DECIDED[decision.action]}[/bold]: {escape(decision.reason)}")
    if decision.neighbours:
        table = Table(box=None)
        table.add_column("similarity", justify="right")
        table.add_column("retrieval")
        table.add_column("recorded question")
        for each in decision.neighbours:
            table.add_row(f"{each.similarity:.2f}", each.effect, escape(each.question))
        console.print(table)
    if decision.usage.calls:
        console.print(f"[dim]{spent(decision.usage)}[/dim]")
