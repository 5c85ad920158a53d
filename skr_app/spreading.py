"""Options that belong together are the fields of a dataclass, which a command takes as one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, TypeVar, get_type_hints

T = TypeVar("T")


def spread(command: Callable[..., T]) -> Callable[..., T]:
    """Replace each parameter of a command that is a dataclass of options by the options.

    Args:
        command: The command. A parameter annotated with a dataclass stands for its fields, which
            are annotated as Typer's options are and have defaults.

    Returns:
        The command with the fields as keyword parameters; it makes the dataclasses of them.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Greeting:
        ...     word: str = "Hi"
        >>> @spread
        ... def greet(name: str, greeting: Greeting, loud: bool = False) -> str:
        ...     return f"{greeting.word}, {name}!"
        >>> list(signature(greet).parameters)
        ['name', 'word', 'loud']
        >>> greet(name="Ada", word="Good day")
        'Good day, Ada!'
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters = []
    for name, each in signature(command).parameters.items():
        if name in groups:
            parameters += _parameters_of(groups[name])
        else:
            parameters.append(each.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[name]))

    @wraps(command)
    def spread_out(**given: Any) -> T:
        for name, group in groups.items():
            chosen = {each.name for each in fields(group)} & given.keys()
            given[name] = group(**{each: given.pop(each) for each in chosen})
        return command(**given)

    spread_out.__annotations__ = {each.name: each.annotation for each in parameters}
    spread_out.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return spread_out


def _parameters_of(group: Any) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        Parameter(
            each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=hints[each.name]
        )
        for each in fields(group)
    ]
