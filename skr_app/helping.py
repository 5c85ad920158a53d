"""The help of the commands: options in groups, and plain lines where the output is piped."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import CommandFunctionType

COMMANDS = {
    "demo": "First steps",
    "doctor": "First steps",
    "ingest": "Documents",
    "store": "Documents",
    "ask": "Ask",
    "route": "Ask",
    "serve": "Serve",
    "mcp": "Serve",
    "questions": "Measure",
    "collect": "Measure",
    "calibrate": "Measure",
    "replay": "Measure",
    "evaluate": "Measure",
    "monitor": "Measure",
}
"""The commands and their groups, in the order of the help."""

PANELS = {
    "Input": "train test records questions n dataset question_field answer_field limit language "
    "prune demo skip_bad",
    "Model": "model base_url call",
    "Search": "store scope corpus retriever embedder search",
    "Routing": "router routers cross_fit saved ask force anyway abstain_below",
    "Loop": "systems max_rounds when_insufficient reflector decompose templates",
    "Scoring": "metric judge rubric marked",
    "Aim": "retrieval_rate budget cost_weight cost actions by where",
    "Limits": "deadline max_calls max_spend prices requests_per_second concurrency cache yes",
    "Workers": "engine address workers",
    "Address": "host port store_port token no_token",
    "Output": "folder out report export plot plot_chances stream json",
}
"""The groups of options in the order of the help, each with the parameters that stand in it."""

_PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names.split()}
_PLACES = {name: place for place, name in enumerate([*COMMANDS, *PANELS])}

Section = tuple[str, list[tuple[str, str]]]
"""A heading, and under it names with what each is."""


class Command(TyperCommand):
    """A command whose options stand in `PANELS`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for each in self.params:
            if each.param_type_name == "option" and getattr(each, "rich_help_panel", "") is None:
                each.rich_help_panel = _PANEL_OF.get(each.name or "")  # type: ignore[attr-defined]
            kind = getattr(each, "type_descriptor", None)
            if kind is not None and kind.is_ranged and each.metavar is None:
                each.metavar = "<number>"
        self.params.sort(key=lambda each: _PLACES.get(_panel_of(each), -1))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help; Typer's own, with its boxes, for a terminal alone."""
        if self.rich_markup_mode is None or not sys.stdout.isatty():
            formatter.write(plain_help(ctx))
        else:
            super().format_help(ctx, formatter)


class Group(TyperGroup):
    """A command that others belong to."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of its commands, in the order of `COMMANDS`."""
        return sorted(self.commands, key=lambda name: _PLACES.get(name, 0))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, as `Command` does."""
        if self.rich_markup_mode is None or not sys.stdout.isatty():
            formatter.write(plain_help(ctx))
        else:
            super().format_help(ctx, formatter)


class App(typer.Typer):
    """A command line of such commands."""

    def __init__(self, **options: Any) -> None:
        super().__init__(cls=Group, no_args_is_help=True, **options)

    def command(
        self, name: str | None = None, **options: Any
    ) -> Callable[[CommandFunctionType], CommandFunctionType]:
        """Register a command; see `typer.Typer.command`."""
        return super().command(name, cls=Command, **options)


def sections(context: Any) -> Iterator[Section]:
    """The groups of a command's help: its arguments and options, or its commands.

    Args:
        context: The context of the command, as Typer makes it.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for each in context.command.get_params(context):
        if (record := each.get_help_record(context)) is not None:
            found.setdefault(_panel_of(each), []).append(record)
    last = found.pop("Options", [])  # --help, and what stands in no group
    commands = getattr(context.command, "commands", {})
    for name in context.command.list_commands(context) if commands else ():
        each = commands[name]
        line = " ".join((each.help or "").partition("\n\n")[0].split())
        found.setdefault(each.rich_help_panel or "Commands", []).append((name, line))
    yield from found.items()
    if last:
        yield "Options", last


def plain_help(context: Any) -> str:
    """The help as lines: no boxes, and each option on a line of its own.

    Args:
        context: The context of the command, as Typer makes it.
    """
    command = context.command
    lines = [f"Usage: {context.command_path} {' '.join(command.collect_usage_pieces(context))}"]
    lines += ["", *paragraphs(command.help)]
    for heading, records in sections(context):
        width = max(len(name) for name, _ in records)
        lines += ["", f"{heading}:"]
        lines += [f"  {name:<{width}}  {what}".rstrip() for name, what in records]
    lines += ["", *paragraphs(command.epilog)] if command.epilog else []
    return "\n".join(lines) + "\n"


def paragraphs(text: str | None) -> list[str]:
    """The paragraphs of a docstring, each on a line.

    Example:
        >>> paragraphs("Ask a question;\\nwatch.\\n\\nAs it comes.")
        ['Ask a question; watch.', '', 'As it comes.']
    """
    joined = [" ".join(each.split()) for each in (text or "").split("\n\n")]
    return "\n\n".join(joined).split("\n")


def _panel_of(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return "Arguments"
    return getattr(parameter, "rich_help_panel", None) or "Options"
