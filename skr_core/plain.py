"""Dataclasses to plain values, as checkpointers, JSON files and servers need them, and back.

pydantic does the work, some ten times faster than Python code that walks the fields. It is imported
with the first conversion.

Example:
    >>> from skr_core.types import Usage
    >>> to_plain(Usage(calls=1))["calls"]
    1
    >>> from_plain(Usage, {"calls": 1}) == Usage(calls=1)
    True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints

from skr_core.errors import InputError

if TYPE_CHECKING:
    from pydantic_core import SchemaSerializer, SchemaValidator, ValidationError

T = TypeVar("T")

Plain = dict[str, Any]
"""A dataclass as `to_plain` makes it."""


def to_plain(value: Any) -> Any:
    """Dataclasses and mappings become dicts, tuples become lists; the rest stays.

    Fields that are marked as `skr_core.types.PLAIN` stay as they are, dates and all.
    """
    kind: type = type(value)
    if is_dataclass(kind):
        serializer, plain = _written(kind)
        if serializer is not None:
            try:
                made: dict[str, Any] = serializer.to_python(
                    value, mode="json", warnings=False, exclude=plain
                )
            except ValueError:  # a value that JSON has no form for, which stays as it is
                pass
            else:
                for name in plain or ():
                    made[name] = _listed(getattr(value, name))
                return made
        return {each.name: to_plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(each) for each in value]
    return value


def from_plain(cls: type[T], data: Mapping[str, Any], *, strict: bool = False) -> T:
    """Build a dataclass from what `to_plain` made of it; missing fields take their defaults.

    A field of a `Literal` type takes any value, because another version may know more of them.

    Args:
        cls: The dataclass.
        data: The values of its fields.
        strict: Whether unknown fields are refused, as a caller may have misspelt one. Data that
            another version stored may have some, and they are passed over.

    Raises:
        InputError: A field without a default is missing, a value cannot be converted to the type
            of its field, or `data` is no mapping.
    """
    if type(data) is not dict and not isinstance(data, Mapping):
        raise InputError(
            f"{cls.__name__} is made from a mapping of its fields, not from {type(data).__name__}"
        )
    plain_class: type = cls
    given = data if type(data) is dict else dict(data)
    try:
        made: T = _validator(plain_class, strict).validate_python(given)
    except _validation_error() as error:
        raise InputError(_explained(plain_class, error)) from error
    return made


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


@cache
def _written(cls: type) -> tuple[SchemaSerializer | None, dict[str, bool] | None]:
    """The serializer of a dataclass, and the names of its fields that are plain already."""
    from pydantic import PydanticSchemaGenerationError, TypeAdapter

    plain = {each.name: True for each in fields(cls) if each.metadata.get("plain")}
    try:
        return TypeAdapter(cls).serializer, plain or None
    except PydanticSchemaGenerationError:  # a field whose type pydantic does not know
        return None, None


@cache
def _validation_error() -> type[ValidationError]:
    from pydantic_core import ValidationError

    return ValidationError


@cache
def _validator(cls: type, strict: bool) -> SchemaValidator:
    from pydantic import TypeAdapter
    from pydantic_core import SchemaValidator

    return SchemaValidator(_adapted(TypeAdapter(cls).core_schema, strict))


def _adapted(schema: Any, strict: bool) -> Any:
    """The schema with every `Literal` open, and with unknown fields refused where `strict`."""
    if isinstance(schema, list):
        return [_adapted(each, strict) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "literal":
        return {"type": "any"}
    adapted = {name: _adapted(each, strict) for name, each in schema.items()}
    if schema.get("type") == "dataclass-args":
        adapted["extra_behavior"] = "forbid" if strict else "ignore"
    return adapted


def _explained(cls: type, error: ValidationError) -> str:
    """The first fault in words, with the innermost dataclass that it stands in.

    An unknown field comes before a missing one: it is usually the missing one misspelt.
    """
    faults = error.errors(include_url=False, include_input=False)
    fault = min(faults, key=lambda each: each["type"] != "unexpected_keyword_argument")
    *outer, name = fault["loc"] or ("",)
    for step in outer:
        cls = _dataclass_in(get_type_hints(cls).get(str(step))) or cls
    if fault["type"] == "unexpected_keyword_argument":
        known = ", ".join(each.name for each in fields(cls))
        return f"{cls.__name__} has no {name}: it has {known}"
    said = fault["msg"].removeprefix("Value error, ")
    return f"{cls.__name__}: {name}: {said}" if name else f"{cls.__name__}: {said}"


def _dataclass_in(hint: Any) -> type | None:
    """The dataclass in a type such as ``tuple[Round, ...]``; None where there is none."""
    if isinstance(hint, type) and is_dataclass(hint):
        return hint
    return next(filter(None, map(_dataclass_in, get_args(hint))), None)
