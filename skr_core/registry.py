"""What packages announce by name: routers, reflectors, models, sources of questions.

A package announces an object in its ``pyproject.toml``, under the group of its kind::

    [project.entry-points."skr_rag.routers"]
    mine = "my_package.routers:MyRouter"

Ours are announced in the same way, so that nothing here names what stands on it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from inspect import signature
from typing import Any

from skr_core.errors import InputError, SKRError


@cache
def _announced(kind: str) -> dict[str, EntryPoint]:
    return {each.name: each for each in entry_points(group=f"skr_rag.{kind}")}


def names_of(kind: str) -> list[str]:
    """The names that installed packages announce of a kind, sorted.

    Example:
        >>> "extractive" in names_of("models")
        True
    """
    return sorted(_announced(kind))


def registered(kind: str, name: str) -> Any:
    """Import the object that a package announces by a name.

    Args:
        kind: The kind of object: ``routers``, ``reflectors``, ``models``, ``questions``, …
        name: The name it is announced by.

    Returns:
        The object; what it is, its kind says.

    Raises:
        InputError: No installed package announces that name, or what it announces is not there.

    Example:
        >>> registered("models", "eliza")
        Traceback (most recent call last):
        ...
        skr_core.errors.InputError: no models are registered as 'eliza': known are extractive
    """
    found = _announced(kind).get(name)
    if found is None:
        known = ", ".join(names_of(kind)) or "none"
        raise InputError(f"no {kind} are registered as {name!r}: known are {known}")
    try:
        return found.load()
    except SKRError:
        raise
    except (ImportError, AttributeError) as error:
        raise InputError(f"{name!r} of {kind} is {found.value}, which fails: {error}") from error


def required(made: Callable[..., object]) -> list[str]:
    """The parameters that a class or a function cannot do without.

    Example:
        >>> from skr_core.routers import AlwaysRetrieve, PromptRouter
        >>> required(AlwaysRetrieve), required(PromptRouter)
        ([], ['model'])
    """
    return [
        each.name
        for each in signature(made).parameters.values()
        if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    ]
