"""The pages of the API reference: one for each package, each of its rooms, and some modules.

A page shows what its package exports or its module defines, those names first that most programs
begin with. Each name is shown once: where a room exports what the page of its package shows, it
links there. griffe reads the sources; nothing is imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import griffe
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    "langchain_skr",
    "llamaindex_skr",
    "skr_graphs",
    "skr_learn",
    "skr_store",
    "skr_core",
)
MODULES = (
    "skr_graphs.events",
    "skr_core.budget",
    "skr_core.cleaning",
    "skr_core.errors",
    "skr_core.flow",
    "skr_core.models.clients",
    "skr_core.models.cross_encoder",
    "skr_core.models.embedders",
    "skr_core.models.limited",
    "skr_core.models.openai_server",
    "skr_core.ports",
    "skr_core.prompts.papers",
    "skr_core.prompts.templates",
    "skr_core.questions",
    "skr_core.reflectors",
    "skr_core.registry",
    "skr_core.routers.loading",
    "skr_core.routers.saving",
    "skr_core.settings",
    "skr_core.testing",
    "skr_learn.evaluate",
    "skr_learn.langsmith",
    "skr_learn.reply_cache",
)
"""Modules that are imported by themselves, beside the packages and their rooms."""
FIRST = (
    "langchain_skr.create_skr_chain",
    "langchain_skr.create_skr_graph",
    "langchain_skr.SKRRetriever",
    "langchain_skr.SKRMiddleware",
    "langchain_skr.create_skr_tool",
    "llamaindex_skr.SKRQueryEngine",
    "llamaindex_skr.SKRChatEngine",
    "llamaindex_skr.SKRRetriever",
    "llamaindex_skr.SKRSelector",
    "llamaindex_skr.create_skr_tool",
    "skr_graphs.create_self_completion_graph",
    "skr_graphs.create_route_node",
    "skr_graphs.answer_of",
    "skr_learn.collect",
    "skr_learn.calibrate",
    "skr_learn.replay",
    "skr_learn.rescore",
    "skr_learn.monitor",
    "skr_learn.Records",
    "skr_store.Store",
    "skr_store.ingest",
    "skr_core.Question",
    "skr_core.Reference",
    "skr_core.Answer",
    "skr_core.Decision",
    "skr_core.Budget",
    "skr_core.Settings",
    "skr_core.PromptTemplates",
    "skr_core.load_router",
)
"""The names that most programs begin with: they lead the reference, and each its page."""
UNDER_TITLE = "{show_root_heading: false, show_root_toc_entry: false}"
DESCRIBED = "{members: [], show_root_heading: false, show_root_toc_entry: false}"


def on_config(config: Any) -> Any:
    """Called by MkDocs: puts the pages into the navigation."""
    found = [f"reference/{name}.md" for name in pages()]
    config.nav.append({"Reference": ["reference/README.md", *found]})
    return config


def on_files(files: Files, *, config: Any) -> Files:
    """Called by MkDocs: adds the pages to those of the folder."""
    for name, (source, shown) in pages().items():
        file = File.generated(config, f"reference/{name}.md", content=page(source, shown))
        file.in_words = in_words(source, shown)
        files.append(file)
    files.append(File.generated(config, "reference/README.md", content=front()))
    return files


@cache
def packages() -> Mapping[str, griffe.Module]:
    """The packages, by their names."""
    loader = griffe.GriffeLoader(search_paths=[ROOT, ROOT / "graphs"], allow_inspection=False)
    return {name: loader.load(name) for name in PACKAGES}


@cache
def pages() -> Mapping[str, tuple[griffe.Module, Mapping[str, griffe.Object]]]:
    """What each page is of, and the names that it is the first to show, by its name."""
    found = {}
    shown: set[str] = set()
    for package in packages().values():
        for source in [package, *sources(package)]:
            there = names_of(source)
            found[source.path] = (
                source,
                {name: each for name, each in there.items() if each.path not in shown},
            )
            shown.update(each.path for each in there.values())
    return found


def front() -> str:
    """The first page: the names that most programs begin with, and the packages."""
    parts = ["# Reference", "What most programs begin with:", "| name | |\n|---|---|"]
    for path in FIRST:
        package, _, name = path.rpartition(".")
        parts[-1] += f"\n{link(path, names_of(packages()[package])[name])}"
    parts.append(
        "Every public name stands on the page of its package or of the module that has it:"
    )
    parts.append("| page | |\n|---|---|")
    for name, (source, _) in pages().items():
        parts[-1] += f"\n| [`{name}`]({name}.md) | {first_line(source)} |"
    return "\n\n".join(parts) + "\n"


def sources(package: griffe.Module) -> Iterator[griffe.Module]:
    """The rooms of a package that export anything, and its modules with a page of their own."""
    for room in package.modules.values():
        if room.is_init_module and exports(room):
            yield room
    for name in MODULES:
        if name.startswith(f"{package.path}."):
            yield package[name.removeprefix(f"{package.path}.")]


def names_of(source: griffe.Module) -> dict[str, griffe.Object]:
    """The names that are a package's or a module's to show, in order."""
    found = exports(source) if source.is_init_module else defined(source)
    led = [name for name in FIRST if name.removeprefix(f"{source.path}.") in found]
    order = [*(name.removeprefix(f"{source.path}.") for name in led), *found]
    return {name: found[name] for name in dict.fromkeys(order)}


def page(source: griffe.Module, new: Mapping[str, griffe.Object]) -> str:
    """One page, in Markdown, of a source and what it is the first to show."""
    found = names_of(source)
    parts = [f"# {source.path}"]
    if not source.is_init_module and len(new) == len(found):
        parts.append(f"::: {source.path}\n    options: {UNDER_TITLE}")
    else:
        parts.append(f"::: {source.path}\n    options: {DESCRIBED}")
        parts += [f"::: {each.path}" for each in new.values()]
        if there := [link(name, each) for name, each in found.items() if name not in new]:
            parts.append("\n".join(["| exported here too | |", "|---|---|", *there]))
    return "\n\n".join(parts) + "\n"


def in_words(source: griffe.Module, new: Mapping[str, griffe.Object]) -> str:
    """The same page without directives: each name with its signature and its docstring."""
    parts = [f"# {source.path}", source.docstring.value if source.docstring else ""]
    for each in new.values():
        several = each.members.values() if each.is_class else ()
        methods = [one for one in several if one.is_function and one.is_public and one.docstring]
        for one in [each, *methods]:
            parts.append(f"## {one.path}")
            if one.is_class or one.is_function:
                parts.append(f"```python\n{one.signature()}\n```")
            parts.append(one.docstring.value if one.docstring else "")
    return "\n\n".join(filter(None, parts)) + "\n"


def link(name: str, target: griffe.Object) -> str:
    """A row of a table: a name that another page shows, and the first line of its docstring."""
    return f"| [`{name}`][{target.path}] | {first_line(target)} |"


def first_line(target: griffe.Object) -> str:
    """The first line of a docstring."""
    return target.docstring.value.split("\n", 1)[0] if target.docstring else ""


def exports(package: griffe.Module) -> dict[str, griffe.Object]:
    """Each name that a package exports, in order, and what it stands for."""
    names = sorted(map(str, package.exports or ()))
    found = {name: package[name] for name in names}
    return {
        # Where a function has the name of its module, griffe finds the module.
        name: each[name] if each.is_module else each.final_target if each.is_alias else each
        for name, each in found.items()
        if not each.is_module or name in each.members
    }


def defined(module: griffe.Module) -> dict[str, griffe.Object]:
    """The public names that a module defines and describes."""
    return {
        name: each
        for name, each in module.members.items()
        if not each.is_alias and each.has_docstring and not name.startswith("_")
    }
