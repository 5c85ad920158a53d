"""Docstrings as the reference shows them."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^( *)Example:$", re.MULTILINE)


class Docstrings(griffe.Extension):
    """Shows examples as code, and attributes with their types.

    The section `Example` is shown as griffe shows one that is called `Examples`. An attribute that
    is set to a parameter of the same name has its type; griffe itself finds only those that are
    set in a statement of their own, and shows others with the type of the attribute before.
    """

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for whatever is read."""
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(r"\1Examples:", obj.docstring.value)

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Called for each class once its members are read."""
        for parameter in cls.parameters:
            attribute = cls.members.get(parameter.name)
            if attribute is None:
                attribute = griffe.Attribute(parameter.name)
                cls.set_member(parameter.name, attribute)
            if isinstance(attribute, griffe.Attribute) and attribute.annotation is None:
                attribute.annotation = parameter.annotation
