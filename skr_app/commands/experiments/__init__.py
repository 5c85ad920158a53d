"""``skr experiment``: the papers' experiments on one's own data and model, one module a command."""

from __future__ import annotations

import typer

from skr_app.commands.experiments.adaptive import adaptive
from skr_app.commands.experiments.certainty import certainty
from skr_app.commands.experiments.conditions import command_of
from skr_app.commands.experiments.corpora import corpora
from skr_app.commands.experiments.need_templates import need_templates
from skr_app.commands.experiments.reflection import reflection
from skr_app.commands.experiments.reliance import reliance
from skr_app.commands.experiments.retrieval_quality import retrieval_quality
from skr_app.commands.experiments.self_knowledge import command_of as table_of
from skr_app.commands.experiments.training_size import training
from skr_core.evaluation.experiments import EXPERIMENTS
from skr_core.evaluation.experiments.self_knowledge import TABLES

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

__all__ = ["app"]
