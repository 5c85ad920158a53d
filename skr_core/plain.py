"""Dataclasses to plain values and back: what checkpointers, JSON files and servers can hold.

Example:
    >>> from skr_core.types import Usage
    >>> to_plain(Usage(calls=1))
    {'prompt_tokens': 0, 'completion_tokens': 0, 'calls': 1, 'estimated': False}
    >>> from_plain(Usage, {"calls": 1})
    Usage(prompt_tokens=0, completion_tokens=0, calls=1, estimated=False)
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from skr_core.errors import InputError

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """Dataclasses and mappings become dicts, tuples become lists; the rest stays."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: to_plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(each) for each in value]
    return value


def from_plain(cls: type[T], data: Mapping[str, Any], *, strict: bool = False) -> T:
    """Build a dataclass from what `to_plain` made of it; missing fields take their defaults.

    Args:
        cls: The dataclass.
        data: Its fields.
        strict: Refuse unknown fields, as a caller may have misspelt one. What was stored by
            another version may hold some, and they are passed over.

    Raises:
        InputError: A field without a default is missing, or `data` is no mapping.
    """
    if not isinstance(data, Mapping):
        raise InputError(f"{cls.__name__} is made from an object, not from {type(data).__name__}")
    plain_class: type = cls
    hints = _hints(plain_class)
    if strict and (unknown := [str(key) for key in data if key not in hints]):
        raise InputError(f"{cls.__name__} has no {', '.join(unknown)}: it has {', '.join(hints)}")
    try:
        return cls(**{key: _restore(hints[key], data[key], strict) for key in hints if key in data})
    except TypeError as error:
        raise InputError(f"{cls.__name__}: {error}") from error


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _restore(hint: Any, value: Any, strict: bool) -> Any:
    if value is None:
        return None
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        chosen = [each for each in arguments if each is not type(None)]
        return _restore(chosen[0], value, strict) if len(chosen) == 1 else value
    if isinstance(hint, type) and is_dataclass(hint):
        return from_plain(hint, value, strict=strict)
    if origin is tuple:
        inner = arguments[0] if arguments else Any
        return tuple(_restore(inner, each, strict) for each in value)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {key: _restore(arguments[1], each, strict) for key, each in value.items()}
    return value
