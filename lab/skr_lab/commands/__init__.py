"""``skr experiment``: the papers' experiments on one's own data and model, one module a command."""

from __future__ import annotations

import typer

from skr_app.flags import name_flags
from skr_lab.commands.adaptive import adaptive
from skr_lab.commands.certainty import certainty
from skr_lab.commands.conditions import command_of
from skr_lab.commands.corpora import corpora
from skr_lab.commands.key_facts import app as key_facts_app
from skr_lab.commands.need_templates import need_templates
from skr_lab.commands.reflection import reflection
from skr_lab.commands.reliance import reliance
from skr_lab.commands.report import report
from skr_lab.commands.retrieval_quality import retrieval_quality
from skr_lab.commands.self_knowledge import command_of as table_of
from skr_lab.commands.training_size import training
from skr_lab.experiments import EXPERIMENTS
from skr_lab.experiments.self_knowledge import TABLES

app = typer.Typer(
    help="The papers' experiments on your data and model; each writes a table and a plot.",
    no_args_is_help=True,
)
for _name, _experiment in EXPERIMENTS.items():
    app.command(_name)(reliance if _name == "reliance" else command_of(_experiment))
app.command("certainty")(certainty)
app.command("adaptive")(adaptive)
app.command("reflection")(reflection)
for _table in TABLES.values():
    app.command(_table.name)(table_of(_table))
app.command("need-templates")(need_templates)
app.command("corpora")(corpora)
app.command("retrieval-quality")(retrieval_quality)
app.command("training-size")(training)


def make_app() -> typer.Typer:
    """The command with all of its commands."""
    made = typer.Typer(name="skr-lab", no_args_is_help=True, pretty_exceptions_enable=False)
    made.add_typer(app, name="experiment")
    made.add_typer(key_facts_app, name="key-facts")
    made.command("report")(report)
    name_flags(made)
    return made


__all__ = ["app", "make_app"]
