"""Options that several commands share: spread into each, with the settings' own defaults."""

from __future__ import annotations

from dataclasses import dataclass, fields
from inspect import signature
from typing import Annotated, Literal

import pytest
import typer
from typer.testing import CliRunner

from skr_app.options import AskOptions, BatchOptions, SystemOptions
from skr_app.spreading import spread
from skr_core import Budget, Settings
from skr_core.testing import ScriptedModel


@dataclass(frozen=True, kw_only=True)
class Base:
    name: Annotated[str, typer.Option("--name", help="The name.")] = "Ada"


@dataclass(frozen=True, kw_only=True)
class Greeting(Base):
    kind: Annotated[Literal["short", "long"], typer.Option("--kind")] = "short"


@spread
def greet(word: str, options: Greeting, loud: bool = False) -> str:
    """Greet somebody."""
    line = f"{word} {options.name} ({options.kind})"
    typer.echo(line.upper() if loud else line)
    return line


def invoke(*arguments: str) -> tuple[int, str]:
    app = typer.Typer()
    app.command()(greet)
    result = CliRunner().invoke(app, [*arguments])
    return result.exit_code, result.output


def test_options_are_those_of_the_command_and_of_its_dataclasses():
    assert invoke("Hi") == (0, "Hi Ada (short)\n")
    assert invoke("Hi", "--name", "Ben", "--kind", "long", "--loud") == (0, "HI BEN (LONG)\n")
    code, output = invoke("Hi", "--kind", "odd")
    assert (code, "short" in output and "long" in output) == (2, True)
    assert all(each in invoke("--help")[1] for each in ("--name", "The name.", "Greet somebody."))


def test_it_is_a_function_all_the_same():
    assert list(signature(greet).parameters) == ["word", "name", "kind", "loud"]
    assert greet(word="Hi", name="Ben") == "Hi Ben (short)"
    with pytest.raises(TypeError):
        greet(word="Hi", nmae="Ben")


def test_a_default_stands_once():
    settings, budget = Settings.of(ScriptedModel()), Budget()
    options = AskOptions()
    assert (options.max_rounds, options.max_calls) == (budget.max_rounds, budget.max_calls)
    assert options.when_insufficient == settings.when_insufficient
    assert options.decompose == settings.decompose


def test_who_asks_one_and_who_asks_many_share_the_system():
    names = {each.name for each in fields(SystemOptions)}
    assert names <= {each.name for each in fields(AskOptions)}
    assert names <= {each.name for each in fields(BatchOptions)}
