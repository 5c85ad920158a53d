"""Every error the project raises on purpose, in one tree.

```text
SKRError
├── InputError            what the caller gave cannot be used (also a ValueError)
│   └── DataError         a line or a file of data is broken; names the place
├── StoreError            the reference store cannot be opened, read or written
│   ├── EmbedderMismatch  the store was made by another embedder
│   └── StoreLocked       another process has the store open
├── ModelError            the language model did not give a usable reply
│   ├── DeadlineError     it was not there in time (also a TimeoutError)
│   └── SchemaError       it is no object of the response_format
├── BudgetError           what a run of many questions may cost is spent
├── RetrieverError        the retriever failed
│   └── NoReferencesError what it returned is no references, or cannot be shown
├── EngineError           what a batch runs on failed
├── StampMismatch         records or a router belong to another model, retriever or embedder
└── MissingDependency     an extra is not installed; the message is the pip line
```

Each message is one line that says what to do. The command turns any of them into that line and an
exit code. Keys are taken out of them (`skr_core.cleaning`).

A `ModelError` or `RetrieverError` that stands for an exception of another library is of that
library's class too, so that ``except openai.RateLimitError`` and ``with_fallbacks`` go on working
where one of its own objects stood before; see `failure`.

Example:
    >>> raise DataError("questions.jsonl", 3, "this line is not JSON")
    Traceback (most recent call last):
    ...
    skr_core.errors.DataError: questions.jsonl, line 3: this line is not JSON
"""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from json import JSONDecodeError
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from skr_core.cleaning import redact, redact_exception

if TYPE_CHECKING:
    from skr_core.types import Answer, Reference

E = TypeVar("E", bound="SKRError")

MAX_LINE = 400
"""Of what another library said: enough to know what it was, little enough for a terminal."""


class SKRError(Exception):
    """Root of all errors of this project; their messages hold no keys."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(redact(each) if isinstance(each, str) else each for each in args))


class InputError(SKRError, ValueError):
    """What the caller gave cannot be used; nothing was done."""


class DataError(InputError):
    """A data file is broken at a known place.

    Args:
        source: The file.
        line: Line number, counted from 1; None where the whole file is meant.
        problem: The mistake, and what would be right.
    """

    def __init__(self, source: str | Path, line: int | None, problem: str) -> None:
        self.source, self.line, self.problem = str(source), line, problem
        place = str(source) if line is None else f"{source}, line {line}"
        super().__init__(f"{place}: {' '.join(problem.split())}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.source, self.line, self.problem)


class StoreError(SKRError):
    """The reference store cannot be opened, read or written."""


class EmbedderMismatch(StoreError):
    """The store holds vectors of another embedder, so distances would mean nothing."""


class StoreLocked(StoreError):
    """The store's folder is open elsewhere, in another process or in this one: one at a time."""


class ModelError(SKRError):
    """The language model failed, or its reply cannot be used."""


class DeadlineError(ModelError, TimeoutError):
    """The deadline of the question passed while the model, or whatever else, was at work."""


class SchemaError(ModelError):
    """The reply is no object of the ``response_format``, although it was asked for twice."""


class BudgetError(SKRError):
    """What a run of many questions may cost is spent; what was answered so far is kept."""


class EngineError(SKRError):
    """What a batch runs on failed, such as Ray; what was done so far is kept."""


class RetrieverError(SKRError):
    """The retriever failed."""


class NoReferencesError(RetrieverError):
    """What was found cannot be shown to a model: a mistake in the code, which no search mends."""


class StampMismatch(SKRError):
    """Records or a fitted router belong to another model, retriever, embedder or metric."""


class StampWarning(UserWarning):
    """A saved router belongs to a system that differs a little; it is used, and this is told."""


@lru_cache(1000)  # each request may have limits of its own
def tell_once(message: str) -> None:
    """Warn of a difference that is passed over, once in a process.

    Example:
        >>> with warnings.catch_warnings(record=True) as told:
        ...     warnings.simplefilter("always")
        ...     tell_once("k differs")
        ...     tell_once("k differs")
        >>> [str(each.message) for each in told]
        ['k differs']
    """
    warnings.warn(message, StampWarning, stacklevel=3)


_ROOT = Path(__file__).resolve().parents[1]
"""The folder that the packages lie in: that of a clone, where they run from one."""


def install_line(extra: str) -> str:
    """The line that installs an extra: from PyPI, or from the clone that this runs from.

    Args:
        extra: The name of the extra.

    Example:
        >>> install_line("local").startswith("pip install ")
        True
    """
    if not (_ROOT / "pyproject.toml").is_file():
        return f'pip install "skr-rag[{extra}]"'
    return f'pip install -e "{"." if Path.cwd() == _ROOT else _ROOT}[{extra}]"'


class MissingDependency(SKRError, ImportError):
    """An optional dependency is not installed.

    The message is the line that installs it, which within a clone of the project is the clone's.

    Args:
        package: The package that could not be imported.
        extra: The extra of ``skr-rag`` that brings it.
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed: run  {install_line(extra)}")
        self.package, self.extra = package, extra

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.package, self.extra)


@contextmanager
def extra(name: str) -> Iterator[None]:
    """What an optional dependency is imported in: where it is missing, the error is the pip line.

    Args:
        name: The extra of ``skr-rag`` that brings it.

    Raises:
        MissingDependency: Something inside could not be imported.

    Example:
        >>> try:
        ...     with extra("local"):
        ...         import gone
        ... except MissingDependency as error:
        ...     print(str(error).partition(":")[0], error.extra)
        gone is not installed local
    """
    try:
        yield
    except MissingDependency:  # of another extra, which it names
        raise
    except ImportError as error:
        raise MissingDependency(error.name or "something", name) from error


@contextmanager
def translated(kind: type[SKRError], name: str, *passing: type[BaseException]) -> Iterator[None]:
    """Turn whatever another library raises into one error of ours, the cause chained.

    Args:
        kind: The error that it becomes.
        name: The name of the model or retriever; begins the message.
        *passing: The errors that go through as they are, beside ours: a framework's control flow.

    Example:
        >>> with translated(RetrieverError, "wiki"):
        ...     raise OSError("the index is gone")
        Traceback (most recent call last):
        ...
        skr_core.errors.RetrieverError: wiki: OSError: the index is gone
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, (SKRError, *passing)):
            raise
        redact_exception(error)
        line = f"{type(error).__name__}: {error}"
        root: BaseException = error
        while root.__cause__ is not None:
            root = root.__cause__
        if str(root) not in line:  # "Connection error." alone says little
            line += f" <- {type(root).__name__}: {root}"
        message = f"{name}: {' '.join(line.split())[:MAX_LINE]}{remedy(error, root)}"
        raise failure(kind, message, error) from error


def remedy(error: BaseException, root: BaseException) -> str:
    """What to do about a service that failed, to stand behind what it said; often nothing.

    Args:
        error: The exception that its client raised.
        root: The first of its causes.

    Example:
        >>> class Busy(Exception):
        ...     status_code = 429
        >>> remedy(Busy(), Busy())
        '; it takes no more for now: ask again later, or less at a time'
    """
    status = getattr(error, "status_code", None)
    if not isinstance(status, int):
        if type(root).__name__ == "ConnectError" or isinstance(root, ConnectionRefusedError):
            url: Any = getattr(vars(error).get("request"), "url", None)
            at = f" at {url.scheme}://{url.netloc.decode()}" if hasattr(url, "netloc") else ""
            return f"; is its server running{at}?"
        if isinstance(root, JSONDecodeError):
            return "; this is no reply of such a service: check its address"
        return ""
    if status >= _SERVER_FAILED:
        return "; its server failed: ask again later"
    return _REMEDIES.get(status, "")


_SERVER_FAILED = 500
_REMEDIES = {
    401: "; check its key",
    403: "; check its key, and what the key may be used for",
    404: "; check its name and its address",
    429: "; it takes no more for now: ask again later, or less at a time",
}


def failure(kind: type[E], message: str, cause: BaseException | None) -> E:
    """One of our errors that is caught by the class of its cause as well, and has its attributes.

    It travels to another process as ours alone. An exception of Python itself says too little to
    be caught by: it stays the ``__cause__``.

    Args:
        kind: The class of ours.
        message: The message, one line.
        cause: The exception of another library, or an error made here of it.

    Example:
        >>> class Busy(Exception):
        ...     pass
        >>> busy = Busy("slow down")
        >>> busy.status_code = 429
        >>> error = failure(ModelError, "my model: slow down", busy)
        >>> isinstance(error, Busy), isinstance(error, ModelError), error.status_code
        (True, True, 429)
    """
    if cause is None or type(cause).__module__ == builtins.__name__:
        return kind(message)
    if isinstance(cause, SKRError) and not isinstance(cause, kind):
        return kind(message)
    try:
        error: E = _class_of_both(kind, type(cause))(message)  # type: ignore[arg-type]
        vars(error).update({name: it for name, it in vars(cause).items() if name != "__notes__"})
    except TypeError:  # a class that lets no other be derived from it
        return kind(message)
    return error


@lru_cache(maxsize=128)
def _class_of_both(kind: type[SKRError], cause: type[BaseException]) -> Any:
    def start(self: Any, *args: str) -> None:
        Exception.__init__(self, *map(redact, args))

    body = {
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
        "__init__": start,
        "__str__": Exception.__str__,
        "__reduce__": lambda self: (kind, self.args),
    }
    return type(kind.__name__, (cause,) if issubclass(cause, kind) else (kind, cause), body)


def retrieved(answer: Answer) -> tuple[Reference, ...]:
    """What an answer was given, for callers to whom nothing found and nothing searched differ.

    Raises:
        RetrieverError: There is nothing because every search failed.

    Example:
        >>> from skr_core.types import Answer, Decision
        >>> retrieved(Answer("Where?", "", (), (), Decision(True), (), "no_new_references", {}))
        ()
    """
    if answer.stop_reason == "retriever_failed" and not answer.references:
        raise RetrieverError("; ".join(error for each in answer.rounds for error in each.errors))
    return answer.references
