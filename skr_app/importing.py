"""A retriever or a model of one's own program, which an option names as ``module:name``."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar

from skr_core.errors import InputError, SKRError
from skr_core.models.adapting import as_language_model, as_retriever, framework_of
from skr_core.ports import LanguageModel, Retriever

Made = TypeVar("Made")

_NAMED = re.compile(r"(?P<module>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):(?P<name>[A-Za-z_]\w*)")


def import_retriever(spec: str) -> Retriever:
    """Import the retriever that --retriever names.

    Args:
        spec: ``module:name``. The folder of the command can be imported from. The name is that of a
            retriever, vector store or index of LangChain or LlamaIndex, of a `Retriever`, or of a
            function without arguments that makes one of them.

    Raises:
        InputError: There is none.

    Example:
        >>> import_retriever("store")
        Traceback (most recent call last):
        ...
        skr_core.errors.InputError: --retriever store: give module:name, such as app:retriever
    """
    if _NAMED.fullmatch(spec) is None:
        raise InputError(f"--retriever {spec}: give module:name, such as app:retriever")
    made = _imported(spec, as_retriever, Retriever)
    if made is None:
        raise InputError(f"--retriever {spec}: there is no such module, or nothing of that name")
    return made


def import_model(spec: str) -> LanguageModel | None:
    """Import the model that --model names.

    Args:
        spec: ``module:name``, as for `import_retriever`, of a chat model of LangChain, an LLM of
            LlamaIndex or a `LanguageModel`.

    Returns:
        None where it names none: it is ``provider:model`` then.

    Raises:
        InputError: The module fails, or a module in this folder does not have the name.

    Example:
        >>> import_model("openai:gpt-4.1-mini") is None
        True
    """
    return _imported(spec, as_language_model, LanguageModel)


def _imported(spec: str, adapt: Callable[[Any], Made], port: Any) -> Made | None:
    named = _NAMED.fullmatch(spec)
    if named is None:
        return None
    module, name = named["module"], named["name"]
    first, folder = module.partition(".")[0], Path.cwd()
    here = (folder / f"{first}.py").is_file() or (folder / first).is_dir()
    if here and os.fspath(folder) not in sys.path:
        sys.path.insert(0, os.fspath(folder))
    try:
        if find_spec(first) is None:
            return None
        found = getattr(import_module(module), name, None)
        if found is None:
            if here:
                raise InputError(f"{spec}: the module {module} has no {name!r}")
            return None
        known = framework_of(found) or (isinstance(found, port) and not isinstance(found, type))
        return adapt(found() if not known and _takes_nothing(found) else found)
    except SKRError as error:
        raise InputError(f"{spec}: {str(error).removeprefix(f'{spec}: ')}") from error
    except Exception as error:  # somebody's own program
        raise InputError(f"{spec} fails: {type(error).__name__}: {error}") from error


def _takes_nothing(found: Any) -> bool:
    """Whether it is a function or a class that can be called without arguments."""
    try:
        signature(found).bind()
    except (TypeError, ValueError):
        return False
    return True
