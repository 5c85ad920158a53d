"""``skr doctor``: whether all is there that the other commands need, and what to do where not."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from time import perf_counter
from typing import Annotated, Literal

import typer

from skr_app.choosing import check_model
from skr_app.extractive import is_extractive
from skr_app.importing import import_retriever
from skr_app.main import in_flags
from skr_app.models import Models
from skr_app.opening import open_embedder, open_router, open_store
from skr_app.options import AskOptions, Json
from skr_app.output import console, counted, escape, print_json
from skr_app.spreading import spread
from skr_core.answering import answer_directly
from skr_core.bounds import Bounds, bounded
from skr_core.errors import SKRError, install_line
from skr_core.flow import run

SECONDS = 30.0
"""The seconds that the model has for its one reply, where --deadline gives no others."""
SHOWN = ("langgraph", "langchain-core", "langchain", "llama-index-core")
"""The packages whose versions people are asked for; the JSON holds those of all."""
_REQUIRED = re.compile(r"([\w.-]+)(?:\[([^]]*)\])?[^;]*(?:;.*extra == ['\"]([\w-]+)['\"])?")

State = Literal["ok", "problem", "missing"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: The thing: model, embedder, store, retriever, router, or an extra.
        state: `problem` makes the exit code 1; what is `missing` is needed by some uses alone.
        says: What was found, or what to do.
    """

    name: str
    state: State
    says: str


@spread
def doctor(
    options: AskOptions,
    call: Annotated[
        bool,
        typer.Option("--call", help="Ask the model one short question, too. It is one paid call."),
    ] = False,
    json: Json = False,
) -> None:
    """Check the model, the store and what is installed, and say what to do about problems.

    The exit code is 1 where something does not work.
    """
    checks = [*_checks(options, call=call), *extras()]
    broken = any(each.state == "problem" for each in checks)
    versions = {"python": sys.version.split()[0], **_versions()}
    if json:
        print_json({"ok": not broken, "checks": checks, "versions": versions})
    else:
        named = ", ".join(f"{name} {versions[name]}" for name in SHOWN if name in versions)
        about = (
            f"skr-rag {versions.get('skr-rag', '')} on Python {versions['python']}, with {named}"
        )
        console.print(f"{'versions':<8} {escape(about)}")
        colours = {"ok": "green", "problem": "bold red", "missing": "dim"}
        for each in checks:
            state = f"[{colours[each.state]}]{each.state:<8}[/{colours[each.state]}]"
            console.print(f"{state} {each.name}: {escape(each.says)}", soft_wrap=True)
    if broken:
        raise typer.Exit(1)


def _checks(options: AskOptions, *, call: bool) -> Iterator[Check]:
    """Look at what `skr ask` would open with these options."""
    models = Models.of(options)

    def model() -> str:
        check_model(options)
        made = models.model(options.model)
        at = f" at {without_secrets(options.base_url)}" if options.base_url else ""
        if is_extractive(options.model):
            return f"{options.model} only quotes sentences: give --model for one that answers"
        if not call:
            return f"{options.model}{at} can be made; --call asks whether it answers"
        began = perf_counter()
        bounds = Bounds.within(options.deadline or SECONDS)
        run(bounded(answer_directly(made, "Is water wet? Answer yes or no."), bounds))
        return f"{options.model}{at} answers, in {perf_counter() - began:.1f} seconds"

    def embedder() -> str:
        assert options.embedder is not None
        opened = open_embedder(options.embedder)
        return f"{opened.name}, of {len(opened.embed(['wet water'])[0])} numbers"

    def store() -> str:
        with open_store(options.store, None, options.search) as opened:
            found = opened.stats()
        place = f"{counted(found.sources, 'document')} at {without_secrets(options.store)}"
        if not found.passages:
            return f"{place}: add some with  skr ingest FILES --store {options.store}"
        return f"{counted(found.passages, 'passage')} of {place}, embedder: {found.embedder}"

    def retriever() -> str:
        return f"{import_retriever(options.retriever or '').name} can be imported"

    def router() -> str:
        assert options.router is not None
        made = models.model(options.model)
        open_router(options.router, made, force=options.force)
        return f"{options.router} fits the model"

    yield _check("model", model)
    if options.embedder is not None:
        yield _check("embedder", embedder)
    if options.retriever is not None:
        yield _check("retriever", retriever)
    else:
        yield _check("store", store)
    if options.router is not None:
        yield _check("router", router)


def _check(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name, "ok", look())
    except (SKRError, OSError) as error:
        return Check(name, "problem", " ".join(without_secrets(in_flags(str(error))).split()))


def without_secrets(text: str) -> str:
    """A text whose addresses hold no password and no query.

    Example:
        >>> without_secrets("http://me:hidden@host:8000/v1?key=hidden is not there")
        'http://host:8000/v1 is not there'
    """
    return re.sub(r"(https?://)(?:[^/\s@]*@)?([^\s?]*)(?:\?\S*)?", r"\1\2", text)


def extras() -> Iterator[Check]:
    """Whether what each extra brings is installed, or the line that installs it."""
    wanted: dict[str, list[str]] = {}
    for name, inner, extra in _requirements():
        if extra and extra != "dev" and not inner:
            wanted.setdefault(extra, []).append(name)
    installed = []
    lacking = []
    for extra, names in wanted.items():
        if all(map(_version, names)):
            installed.append(extra)
        else:
            lacking.append(Check(extra, "missing", install_line(extra)))
    yield Check("extras", "ok", ", ".join(installed))
    yield from lacking


def _versions() -> dict[str, str]:
    """The versions of this package and of all that it can use."""
    names = ["skr-rag", *(name for name, _, extra in _requirements() if extra != "dev")]
    return {name: found for name in dict.fromkeys(names) if (found := _version(name))}


def _requirements() -> Iterator[tuple[str, str, str]]:
    """What is required: the package, its own extras, and the extra of ours that requires it."""
    try:
        lines = requires("skr-rag") or []
    except PackageNotFoundError:  # run from its folder
        return
    for line in lines:
        if match := _REQUIRED.match(line):
            yield match[1], match[2] or "", match[3] or ""


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
