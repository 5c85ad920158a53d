"""The pages of the API reference: one for each package, each of its rooms, and some modules.

A page shows what its package exports or its module defines, and each name is shown once: where a
package exports what another page shows, it links there. griffe reads the sources; nothing is
imported.
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
UNDER_TITLE = "{show_root_heading: false, show_root_toc_entry: false}"
DESCRIBED = "{members: [], show_root_heading: false, show_root_toc_entry: false}"


def on_config(config: Any) -> Any:
    """Called by MkDocs: puts the pages into the navigation."""
    config.nav.append({"Reference": [f"reference/{name}.md" for name in sorted(pages())]})
    return config


def on_files(files: Files, *, config: Any) -> Files:
    """Called by MkDocs: adds the pages to those of the folder."""
    for name, text in pages().items():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


@cache
def pages() -> Mapping[str, str]:
    """Each page in Markdown, by its name."""
    loader = griffe.GriffeLoader(search_paths=[ROOT, ROOT / "graphs"], allow_inspection=False)
    packages = [loader.load(name) for name in PACKAGES]
    shown: set[str] = set()
    return {
        source.path: page(source, shown)
        for package in packages
        for source in [*sources(package), package]
    }


def sources(package: griffe.Module) -> Iterator[griffe.Module]:
    """The rooms of a package that export anything, and its modules with a page of their own."""
    for room in package.modules.values():
        if room.is_init_module and exports(room):
            yield room
    for name in MODULES:
        if name.startswith(f"{package.path}."):
            yield package[name.removeprefix(f"{package.path}.")]


def page(source: griffe.Module, shown: set[str]) -> str:
    """One page, in Markdown; what it shows is added to what is shown already."""
    found = exports(source) if source.is_init_module else defined(source)
    new = {name: each.path for name, each in found.items() if each.path not in shown}
    parts = [f"# {source.path}"]
    if not source.is_init_module and len(new) == len(found):
        parts.append(f"::: {source.path}\n    options: {UNDER_TITLE}")
    else:
        parts.append(f"::: {source.path}\n    options: {DESCRIBED}")
        parts += [f"::: {path}" for path in new.values()]
        if there := [link(name, each) for name, each in found.items() if name not in new]:
            parts.append("\n".join(["| exported here too | |", "|---|---|", *there]))
    shown.update(new.values())
    return "\n\n".join(parts) + "\n"


def link(name: str, target: griffe.Object) -> str:
    """A row of a table: a name that another page shows, and the first line of its docstring."""
    first = target.docstring.value.split("\n", 1)[0] if target.docstring else ""
    return f"| [`{name}`][{target.path}] | {first} |"


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
