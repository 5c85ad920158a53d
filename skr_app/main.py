"""The ``skr`` command: its commands, and how errors end it."""

from __future__ import annotations

import sys

import typer

from skr_app.commands import (
    ask,
    calibrate,
    collect,
    demo,
    evaluate,
    experiments,
    ingest,
    key_facts,
    replay,
    report,
    route,
    serve,
    store,
)
from skr_app.flags import name_flags
from skr_app.output import escape, messages
from skr_core.errors import BudgetError, EngineError, ModelError, RetrieverError, SKRError

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
app.command("serve")(serve.serve)
app.command("collect")(collect.collect)
app.command("calibrate")(calibrate.calibrate)
app.command("route")(route.route)
app.command("replay")(replay.replay)
app.command("evaluate")(evaluate.evaluate)
app.command("report")(report.report)
app.add_typer(experiments.app, name="experiment")
app.add_typer(key_facts.app, name="key-facts")
app.add_typer(store.app, name="store")
name_flags(app)

INTERRUPTED = 130
"""The shell's exit code for a command that Ctrl-C ended."""


FAILURES = (ModelError, RetrieverError, BudgetError, EngineError)
"""Of what was asked, and not of what was given."""


def main() -> None:
    """Run the command; an error of ours is one line and an exit code, never a traceback.

    Exit codes: 2 for input, files and stores that cannot be used, 1 when a model, a retriever or
    an engine failed, or what may be spent is.
    """
    try:
        app(prog_name="skr")
    except SKRError as error:
        _show(error)
        sys.exit(1 if isinstance(error, FAILURES) else 2)
    except OSError as error:  # a file of the user's that nobody looked after
        _show(error)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _show(error: Exception) -> None:
    line = " ".join(str(error).split()) or type(error).__name__
    messages.print(f"[bold red]error:[/bold red] {escape(line)}", soft_wrap=True)


if __name__ == "__main__":
    main()
