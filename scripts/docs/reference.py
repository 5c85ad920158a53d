"""The pages of the API reference, made of the packages themselves.

Each page shows what its packages export and what its modules define, and each name once: a package
that exports what another page shows links to it. `mkdocstrings` reads the docstrings; nothing is
imported.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
PAGES: dict[str, Sequence[str]] = {
    "langchain_skr": ["langchain_skr"],
    "llamaindex_skr": ["llamaindex_skr", "llamaindex_skr.retriever"],
    "skr_graphs": ["skr_graphs", "skr_graphs.events"],
    "skr_core.types": [
        "skr_core.types",
        "skr_core.questions",
        "skr_core.settings",
        "skr_core.parts",
        "skr_core.budget",
    ],
    "skr_core.ports": ["skr_core.ports"],
    "skr_core.errors": ["skr_core.errors"],
    "skr_core.routers": ["skr_core.routers"],
    "skr_core.reflectors": ["skr_core.reflectors"],
    "skr_learn.arbiters": ["skr_learn.arbiters"],
    "skr_learn.self_knowledge": ["skr_learn.self_knowledge", "skr_learn.self_knowledge.feedback"],
    "skr_learn.calibration": ["skr_learn.calibration"],
    "skr_core.evaluation": ["skr_core.evaluation", "skr_learn.evaluation.measuring"],
    "skr_core.metrics": ["skr_core.metrics"],
    "skr_core.entailment": ["skr_core.entailment"],
    "skr_store": ["skr_store.chroma_store", "skr_store.ingestion"],
    "skr_core.models": [
        "skr_core.models.embedders",
        "skr_core.models.limited",
        "skr_core.models.clients",
        "skr_core.models.completions",
        "skr_core.models.cross_encoder",
        "skr_lab.models.t5_entailment",
    ],
    "skr_core.prompts": ["skr_core.prompts.templates", "skr_core.prompts.papers"],
    "skr_core.caching": ["skr_core.caching"],
    "skr_core.engines": ["skr_core.engines"],
    "skr_app.extractive": ["skr_app.extractive", "skr_app.sample"],
    "skr_core.testing": ["skr_core.testing"],
    "skr_core.flow": ["skr_core.flow"],
    "skr_core.files": ["skr_core.files"],
    "skr_learn.learning": ["skr_learn.learning"],
    "skr_core.replies": ["skr_core.replies"],
    "skr_core": ["skr_core"],
}
"""What each page shows: the exports of packages, and modules as a whole."""
UNDER_TITLE = "{show_root_heading: false, show_root_toc_entry: false}"
IN_FULL = "{show_root_full_path: true}"
DESCRIBED = "{members: [], show_root_heading: false, show_root_toc_entry: false}"


def on_files(files: Files, *, config: Any) -> Files:
    """Called by MkDocs: adds the pages to those of the folder."""
    shown: set[str] = set()
    for name, sources in PAGES.items():
        path = f"reference/{name}.md"
        files.append(File.generated(config, path, content=page(name, sources, shown)))
    return files


def page(name: str, sources: Sequence[str], shown: set[str]) -> str:
    """One page, in Markdown; what it shows is added to what is shown already."""
    parts = [f"# {name}"]
    for source in sources:
        package = placed(source).name == "__init__.py"
        found = dict(exports(source)) if package else defined(source)
        new = [target for target in found.values() if target not in shown]
        if package:
            parts += [f"::: {source}\n    options: {DESCRIBED}", *(f"::: {each}" for each in new)]
            there = [f"| {link(*each)} |" for each in found.items() if each[1] in shown]
            if there:
                parts.append("\n".join(["| exported here too | |", "|---|---|", *there]))
        elif len(new) == len(found):
            parts.append(f"::: {source}\n    options: {UNDER_TITLE if source == name else IN_FULL}")
        else:
            parts += [f"::: {each}" for each in new]
        shown.update(new)
    return "\n\n".join(parts) + "\n"


def link(export: str, target: str) -> str:
    """Two cells: a name that another page shows, and the first line of what is said of it."""
    module, _, name = target.rpartition(".")
    said = ""
    for node in tree(placed(module)).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            said = (ast.get_docstring(node) or "").split("\n", 1)[0]
    return f"[`{export}`][{target}] | {said}"


def placed(name: str) -> Path:
    """The file of a module or a package.

    Raises:
        FileNotFoundError: There is neither.
    """
    base = ROOT.joinpath("graphs" if name.startswith("skr_graphs") else "", *name.split("."))
    for place in (base / "__init__.py", base.with_suffix(".py")):
        if place.exists():
            return place
    raise FileNotFoundError(f"there is no module {name}")


def exports(package: str) -> Sequence[tuple[str, str]]:
    """Each name that a package exports, in order, and where it is defined.

    What is imported lazily stands in the stub beside the package.
    """
    place = placed(package)
    stub = place.with_suffix(".pyi")
    there = tree(stub if stub.exists() else place)
    public = None if stub.exists() else listed(there)
    found = []
    for node in there.body:
        if isinstance(node, ast.ImportFrom):
            module = f"{package}.{node.module}" if node.level else node.module
            found += [
                (each.name, home(f"{module}.{each.name}"))
                for each in node.names
                if public is None or each.name in public
            ]
    return sorted(found)


def home(target: str) -> str:
    """Where a name is defined that a package may only pass on."""
    module, _, name = target.rpartition(".")
    if placed(module).name == "__init__.py":
        return dict(exports(module)).get(name, target)
    return target


def defined(module: str) -> dict[str, str]:
    """The public names that a module defines and describes, and their full names."""
    found = {}
    nodes = tree(placed(module)).body
    for node, after in zip(nodes, [*nodes[1:], None], strict=True):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names = [node.name] if ast.get_docstring(node) else []
        else:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", 0)]
            said = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            names = [each.id for each in targets if said and isinstance(each, ast.Name)]
        found |= {each: f"{module}.{each}" for each in names if not each.startswith("_")}
    return found


def listed(there: ast.Module) -> Sequence[str]:
    """The names of ``__all__``."""
    for node in there.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names: Sequence[str] = ast.literal_eval(node.value)
            return names
    return ()


def tree(place: Path) -> ast.Module:
    """A file of Python, parsed."""
    return ast.parse(place.read_text(encoding="utf-8"))
