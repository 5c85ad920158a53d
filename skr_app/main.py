"""The ``skr`` command: its commands, and how errors end it."""

from __future__ import annotations

import sys

import typer
from rich.console import Console

from skr_app.commands import (
    ask,
    calibrate,
    collect,
    demo,
    evaluate,
    experiment,
    ingest,
    key_facts,
    replay,
    report,
    route,
)
from skr_core.errors import ModelError, RetrieverError, SKRError

app = typer.Typer(
    name="skr",
    help="Know when to retrieve, and keep retrieving until the references suffice.",
    epilog="Begin with [bold]skr demo[/bold], then [bold]skr ingest[/bold] your documents "
    "and [bold]skr ask[/bold].",
    no_args_is_help=True,
    rich_markup_mode="rich",
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.demo)
app.command("ingest")(ingest.ingest)
app.command("ask")(ask.ask)
app.command("collect")(collect.collect)
app.command("calibrate")(calibrate.calibrate)
app.command("route")(route.route)
app.command("replay")(replay.replay)
app.command("evaluate")(evaluate.evaluate)
app.command("report")(report.report)
app.add_typer(experiment.app, name="experiment")
app.add_typer(key_facts.app, name="key-facts")

INTERRUPTED = 130
"""The shell's exit code for a command that Ctrl-C ended."""


def main() -> None:
    """Run the command; an error of ours is one line and an exit code, never a traceback.

    Exit codes: 2 for input that cannot be used, 1 when a model or a retriever failed.
    """
    try:
        app(prog_name="skr")
    except SKRError as error:
        line = " ".join(str(error).split())
        Console(stderr=True, soft_wrap=True, highlight=False).print(
            "[bold red]error:[/bold red] ", end=""
        )
        print(line, file=sys.stderr)  # noqa: T201 - verbatim: a message may hold brackets
        sys.exit(1 if isinstance(error, ModelError | RetrieverError) else 2)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
