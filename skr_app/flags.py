"""Errors of the library name keywords of Python; those of a command name its flags.

Example:
    >>> said = "it was made with the model 'a': make it anew, or load it with force=True"
    >>> in_flags(said, {"force": "--force"})
    "it was made with the model 'a': make it anew, or load it with --force"
    >>> in_flags(said, {})
    "it was made with the model 'a': make it anew"
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import typer
from typer.core import TyperCommand

from skr_core.errors import SKRError

KEYWORDS = ("force", "mixed_stamps", "base_url", "out")
"""Which an error of the library offers as its last alternative."""

PHRASES = {
    "close that one; to share it, close it there too and run  skr store serve": "end that "
    "command; to share the store, run  skr store serve",
    "(another process, or another ChromaStore of this one)": "(another process)",
    "use  ChromaStore.connect(url)": "give the commands  --store URL",
    "  or  ChromaStore.rebuild(path, embedder=...)": "",
    "give likelihoods, such as skr_core.models.openai_server.CompletionScorer": (
        "give --likelihoods"
    ),
    "give embedder=": "it can be used from Python, with the embedder it was fitted with",
}
"""What the library says of Python alone, and what a command says there."""

_ALTERNATIVE = re.compile(rf", or ([^,:;]*)\b({'|'.join(KEYWORDS)})=(?:True\b)?([^,:;]*)")


def in_flags(said: str, flags: Mapping[str, str]) -> str:
    """The message with flags for keywords and commands for calls; an alternative that has none is
    left out.

    Args:
        said: The library's message.
        flags: Of the command, by the names of its parameters.
    """

    def alternative(found: re.Match[str]) -> str:
        before, keyword, behind = found.groups()
        return f", or {before}{flags[keyword]}{behind}" if keyword in flags else ""

    for of_python, of_a_command in PHRASES.items():
        said = said.replace(of_python, of_a_command)
    return _ALTERNATIVE.sub(alternative, said)


class Command(TyperCommand):
    """A command whose errors name its flags."""

    def invoke(self, ctx: Any) -> Any:
        """Run it."""
        try:
            return super().invoke(ctx)
        except SKRError as error:
            flags = {str(each.name): each.opts[0] for each in self.params}
            error.args = (in_flags(str(error), flags),)
            raise


def name_flags(app: typer.Typer) -> None:
    """Let the errors of an application's commands name their flags."""
    for command in app.registered_commands:
        command.cls = Command
    for group in app.registered_groups:
        if group.typer_instance is not None:
            name_flags(group.typer_instance)
