"""The examples in docstrings run, and what is public is described."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import pytest

PACKAGES = ["skr_core", "skr_graphs", "langchain_skr", "llamaindex_skr", "skr_app"]
# Modules whose examples cannot run here, each with its reason in words.
LEFT_OUT: dict[str, str] = {}


def modules() -> Iterator[str]:
    for package in PACKAGES:
        yield package
        found = importlib.import_module(package)
        for module in pkgutil.walk_packages(found.__path__, f"{package}."):
            yield module.name


@pytest.mark.parametrize("name", sorted(modules()))
def test_examples_run(name: str):
    if name in LEFT_OUT:
        pytest.skip(LEFT_OUT[name])
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def public() -> Iterator[tuple[str, object]]:
    for name in sorted(modules()):
        module = importlib.import_module(name)
        for each in getattr(module, "__all__", ()):
            yield f"{name}.{each}", getattr(module, each)


@pytest.mark.parametrize(
    "thing", [pytest.param(thing, id=name) for name, thing in public() if callable(thing)]
)
def test_what_is_public_is_described(thing: object):
    if not (inspect.isclass(thing) or inspect.isfunction(thing)):
        return  # an alias of a type has its words beside it
    described = inspect.getdoc(thing) or ""
    assert described
    # A dataclass without words of its own gets its signature as a docstring.
    assert not described.startswith(f"{thing.__name__}(")
