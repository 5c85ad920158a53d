"""The ``skr`` command: its commands, and how errors end it."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Callable, Iterable
from functools import cache, partial
from importlib import import_module
from typing import Annotated, Any

import typer

from skr_app.helping import COMMANDS, App
from skr_app.output import console, escape, messages
from skr_core.errors import (
    BudgetError,
    EngineError,
    ModelError,
    RetrieverError,
    SKRError,
    StampWarning,
    extra,
)


def make_app(names: Iterable[str] = tuple(COMMANDS)) -> typer.Typer:
    """Make the command line of some commands: importing all takes longer than most of them run.

    Args:
        names: The names of the commands.
    """
    made = App(
        name="skr",
        help="Answer from your documents, and find out which questions need them at all.",
        epilog="Begin with `skr demo`. Then `skr ingest` your documents, and `skr ask`.",
        # A mistake in the options is told in a box where somebody looks on, else in plain lines.
        rich_markup_mode="rich" if sys.stderr.isatty() else None,
        pretty_exceptions_enable=False,
    )
    made.callback()(_begin)
    for name in names:
        with extra("cli"):
            module = import_module(f"skr_app.commands.{name}")
        if hasattr(module, "app"):
            made.add_typer(module.app, name=name, rich_help_panel=COMMANDS[name])
        else:
            made.command(name, rich_help_panel=COMMANDS[name])(getattr(module, name))
    return made


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        console.print(f"skr {version('skr-rag')}")
        raise typer.Exit


def _begin(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    # With a callback one command alone is a command of `skr`, too.
    pass


@cache
def __getattr__(name: str) -> Any:
    if name == "app":  # with all of its commands
        return make_app()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


VARIABLES = (
    "SKR_BASE_URL",
    "SKR_CACHE",
    "SKR_EMBEDDER",
    "SKR_MODEL",
    "SKR_SEARCH",
    "SKR_STORE",
    "SKR_TEMPERATURE",
    "SKR_TOKEN",
)
"""The environment's variables that options are read from."""

IN_FLAGS = {
    "load it with force=True": "load it with --force",
    "as with where model=": "as with --where model=",
    "or cross-fit it on its records": "or give --cross-fit RECORDS in place of --router",
    "or cross-fit by giving the records to train on alone": "or cross-fit: give --train alone",
    "give routers=['ladder'] and anyway=True": "give --router ladder --anyway",
    "give another out=": "give another --out",
    "the base_url= of a server": "the --base-url of a server",
    "question_field=": "--question-field",
    "answer_field=": "--answer-field",
    "give embedder=": "it can be used from Python, with the embedder it was fitted with",
}
"""Words of the library's errors that are about Python, and what a command says in their place."""

LONGEST_LINE = 1_000
"""The characters of an error that are shown."""

INTERRUPTED = 130
"""The shell's exit code for a command that Ctrl-C ended."""


FAILURES = (ModelError, RetrieverError, BudgetError, EngineError)
"""Errors of the services that were asked, not of what the user gave."""


def main() -> None:
    """Run ``skr``."""
    # A shell that completes a line gives it so far in a variable.
    typed = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")
    words = typed.split() if "_SKR_COMPLETE" in os.environ else sys.argv
    first = words[1] if len(words) > 1 else ""
    run(lambda: make_app([first] if first in COMMANDS else COMMANDS))


def run(make: Callable[[], typer.Typer]) -> None:
    """Run a command; an error of ours is one line and an exit code, never a traceback.

    Exit codes: 2 for input, files and stores that cannot be used, 1 when a model, a retriever or
    an engine failed, or what may be spent is.

    Args:
        make: The function that makes the application.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # an encoding that lacks a letter stops no answer
            stream.reconfigure(errors="replace")
    _warn_of_misspelt_variables()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = partial(_show_warning, warnings.showwarning)
            made = make()
            made(prog_name=made.info.name)
    except SKRError as error:
        _show(error)
        sys.exit(1 if isinstance(error, FAILURES) else 2)
    except OSError as error:  # a file of the user's that nobody looked after
        _show(error)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _warn_of_misspelt_variables() -> None:
    """Name the variables that look like ours and are read by nobody."""
    unread = sorted(
        name for name in os.environ if name.startswith("SKR_") and name not in VARIABLES
    )
    if not unread:
        return
    from difflib import get_close_matches

    for name in unread:
        for meant in get_close_matches(name, VARIABLES, n=1, cutoff=0.85):
            messages.print(f"{escape(name)} is not read: did you mean {meant}?", soft_wrap=True)


def _show_warning(
    otherwise: Callable[..., None], message: Warning | str, category: type[Warning], *where: Any
) -> None:
    if not issubclass(category, StampWarning):
        otherwise(message, category, *where)
        return
    messages.print(f"[bold]note:[/bold] {escape(str(message))}", soft_wrap=True)


def _show(error: Exception) -> None:
    text = in_flags(str(error))
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{os.fsdecode(error.filename)}: {error.strerror}"
    line = " ".join(text.split()) or type(error).__name__
    if len(line) > LONGEST_LINE:  # what a file holds is quoted
        line = f"{line[:LONGEST_LINE]} …"
    messages.print(f"[bold red]error:[/bold red] {escape(line)}", soft_wrap=True)


def in_flags(text: str) -> str:
    """An error's text with flags and commands in place of Python's keywords and calls.

    Example:
        >>> in_flags("it was made with the model 'a': make it anew, or load it with force=True")
        "it was made with the model 'a': make it anew, or load it with --force"
    """
    for python, flag in IN_FLAGS.items():
        text = text.replace(python, flag)
    return text


if __name__ == "__main__":
    main()
