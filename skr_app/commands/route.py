"""``skr route``: what a router decides on a question, and on what evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skr_app.choosing import check_model
from skr_app.completing import routers
from skr_app.models import Models
from skr_app.opening import open_router
from skr_app.options import Force, Json, ModelOptions, Question
from skr_app.output import DECIDED, console, escape, messages, print_json, print_table, spent
from skr_app.spreading import spread
from skr_core.bounds import Bounds, bounded
from skr_core.flow import call, run
from skr_core.plain import to_plain
from skr_core.prompts.asking import checked_question


@spread
def route(
    question: Question,
    options: ModelOptions,
    router: Annotated[
        Path,
        typer.Option(
            "--router",
            help="The file that `skr calibrate` made, or the name of a router that needs no "
            "records, such as prompt:can_answer.",
            autocompletion=routers,
        ),
    ] = Path("router.skr"),
    force: Force = False,
    json: Json = False,
) -> None:
    """Say whether a router would search for a question, and why."""
    question = checked_question(question)
    check_model(options)
    asked = Models.of(options).model(options.model)
    with messages.status("Deciding"):
        opened = open_router(router, asked, force=force)
        deciding = call(opened.decide, opened.adecide, question)
        decision = run(bounded(deciding, Bounds.within(options.deadline)))
    if json:
        print_json({"question": question, **to_plain(decision)})
        return
    console.print(f"[bold]{DECIDED[decision.action]}[/bold]: {escape(decision.reason)}")
    if decision.neighbours:
        rows = [
            [each.question, f"{each.similarity:.2f}", each.effect] for each in decision.neighbours
        ]
        print_table(["recorded question", "similarity", "searching"], rows)
    if decision.usage.calls:
        console.print(f"[dim]{spent(decision.usage)}[/dim]")
