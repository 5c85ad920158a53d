"""``skr route``: what a router decides on a question, and on what evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from skr_app.configured import open_router
from skr_app.limits import DeadlineOption
from skr_app.opening import make_model
from skr_app.options import (
    BaseUrlOption,
    JsonOption,
    ModelOption,
)
from skr_app.output import console, escape, messages, print_json
from skr_app.render import DECIDED, spent
from skr_core.bounds import Bounds, bounded
from skr_core.flow import call, run
from skr_core.plain import to_plain
from skr_core.prompts.asking import checked_question

QuestionArgument = Annotated[str, typer.Argument(help="What you want to know.", show_default=False)]
RouterFolder = Annotated[
    Path, typer.Option("--router", help="Folder of a router, made by `skr calibrate`.")
]
Force = Annotated[
    bool, typer.Option("--force", help="Use it although it was made with another model.")
]


def route(
    question: QuestionArgument,
    router: RouterFolder = Path("router"),
    model: ModelOption = "extractive",
    base_url: BaseUrlOption = None,
    deadline: DeadlineOption = None,
    force: Force = False,
    json: JsonOption = False,
) -> None:
    """Show whether a router would retrieve for a question, and why."""
    question = checked_question(question)
    with messages.status("Deciding"):
        opened = open_router(router, make_model(model, base_url), force=force)
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
