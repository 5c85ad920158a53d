"""The pages of the API reference, made of the packages themselves.

Each page shows what its packages export and what its modules define, and each name once: a package
that exports what another page shows links to it. `mkdocstrings` reads the docstrings; nothing is
imported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
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
    "skr_core.arbiters": ["skr_core.arbiters"],
    "skr_core.self_knowledge": ["skr_core.self_knowledge", "skr_core.self_knowledge.feedback"],
    "skr_core.calibration": ["skr_core.calibration"],
    "skr_core.evaluation": ["skr_core.evaluation", "skr_core.evaluation.running.measuring"],
    "skr_core.metrics": ["skr_core.metrics"],
    "skr_core.entailment": ["skr_core.entailment"],
    "skr_core.store": ["skr_core.store.chroma_store", "skr_core.ingest.ingestion"],
    "skr_core.models": [
        "skr_core.models.embedders",
        "skr_core.models.limited",
        "skr_core.models.clients",
        "skr_core.models.completions",
        "skr_core.models.cross_encoder",
        "skr_core.models.t5_entailment",
    ],
    "skr_core.prompts": ["skr_core.prompts.templates", "skr_core.prompts.papers"],
    "skr_core.caching": ["skr_core.caching"],
    "skr_core.engines": ["skr_core.engines"],
    "skr_core.extractive": ["skr_core.extractive", "skr_core.sample"],
    "skr_core.testing": ["skr_core.testing"],
    "skr_core.flow": ["skr_core.flow"],
    "skr_core.files": ["skr_core.files"],
    "skr_core.learning": ["skr_core.learning"],
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
        place = placed(source)
        if place.name != "__init__.py":
            parts.append(f"::: {source}\n    options: {UNDER_TITLE if source == name else IN_FULL}")
            shown.update(f"{source}.{each}" for each in defined(place))
            continue
        parts.append(f"::: {source}\n    options: {DESCRIBED}")
        found = sorted(exports(source))
        parts += [f"::: {target}" for _, target in found if target not in shown]
        elsewhere = [f"| {link(*each)} |" for each in found if each[1] in shown]
        if elsewhere:
            parts.append("\n".join(["| exported here too | |", "|---|---|", *elsewhere]))
        shown.update(target for _, target in found)
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


def exports(package: str) -> Iterator[tuple[str, str]]:
    """Each name that a package exports, and where it is defined.

    What is imported lazily stands in the stub beside the package.
    """
    place = placed(package)
    stub = place.with_suffix(".pyi")
    there = tree(stub if stub.exists() else place)
    public = None if stub.exists() else listed(there)
    for node in there.body:
        if isinstance(node, ast.ImportFrom):
            module = f"{package}.{node.module}" if node.level else node.module
            for each in node.names:
                if public is None or each.name in public:
                    yield each.name, f"{module}.{each.name}"


def defined(place: Path) -> Iterator[str]:
    """The public names that a module defines."""
    for node in tree(place).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names = [node.name]
        else:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", 0)]
            names = [each.id for each in targets if isinstance(each, ast.Name)]
        yield from (name for name in names if not name.startswith("_"))


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
