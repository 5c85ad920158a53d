"""The arrows between the packages, held over the imports of every module.

```text
skr_app ─► langchain_skr ──┐        ┌── llamaindex_skr
                           ▼        ▼
                     skr_graphs (langgraph)
                           ▼
                     skr_core
```
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {
    "skr_core": ROOT / "skr_core",
    "skr_graphs": ROOT / "graphs" / "skr_graphs",
    "langchain_skr": ROOT / "langchain_skr",
    "llamaindex_skr": ROOT / "llamaindex_skr",
    "skr_app": ROOT / "skr_app",
}
OURS = set(FOLDERS)
FRAMEWORKS = {
    "langchain",
    "langchain_core",
    "langchain_openai",
    "langchain_chroma",
    "langgraph",
} | {
    "langchain_text_splitters",
    "llama_index",
}
HEAVY = {"torch", "transformers", "sentence_transformers", "chromadb", "bm25s", "ray"}

# What each package may import of ours and of the frameworks.
ALLOWED = {
    "skr_core": set(),
    "skr_graphs": {"skr_core", "langgraph", "langchain_core"},
    "langchain_skr": {"skr_core", "skr_graphs"} | (FRAMEWORKS - {"llama_index"}),
    "llamaindex_skr": {"skr_core", "skr_graphs", "llama_index"},
    "skr_app": {"skr_core", "skr_graphs", "langchain_skr"},
}
# The rooms whose modules touch heavy libraries, each inside the function that needs it.
HEAVY_ROOMS = ("skr_core/store/", "skr_core/models/", "skr_core/ingest/", "skr_core/engines/")
ALLOWED_IN_HEAVY_ROOMS = {"langchain_text_splitters"}


def modules() -> list[tuple[str, Path]]:
    return [(package, path) for package, folder in FOLDERS.items() for path in folder.rglob("*.py")]


def imported(tree: ast.AST) -> Iterator[str]:
    """The first name of every import, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the arrows"
            yield (node.module or "").partition(".")[0]


def at_import_time(node: ast.AST) -> Iterator[ast.AST]:
    """The statements that run when a module is imported."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from at_import_time(child)


def names_of(path: Path) -> tuple[set[str], set[str]]:
    """What a module imports at all, and what it imports when it is imported."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    eager = {
        name
        for node in at_import_time(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in imported(ast.Module([node], []))
    }
    return set(imported(tree)), eager


EVERY = [
    pytest.param(package, path, id=path.relative_to(ROOT).as_posix()) for package, path in modules()
]


@pytest.mark.parametrize(("package", "path"), EVERY)
def test_arrows(package: str, path: Path):
    every, eager = names_of(path)
    allowed = ALLOWED[package] | {package}
    if path.relative_to(ROOT).as_posix().startswith(HEAVY_ROOMS):
        assert not eager & ALLOWED_IN_HEAVY_ROOMS, "imported only when used"
        allowed |= ALLOWED_IN_HEAVY_ROOMS
    assert (every & (OURS | FRAMEWORKS)) <= allowed


@pytest.mark.parametrize(("package", "path"), EVERY)
def test_heavy_libraries_stand_in_their_rooms(package: str, path: Path):
    every, eager = names_of(path)
    if path.relative_to(ROOT).as_posix().startswith(HEAVY_ROOMS):
        assert not eager & HEAVY, "imported only when used"
    else:
        assert not every & HEAVY


def test_the_check_sees_every_import():
    tree = ast.parse(
        "import a.b\nfrom c.d import e\ndef f():\n    import g\nif TYPE_CHECKING:\n    import h"
    )
    assert set(imported(tree)) == {"a", "c", "g", "h"}
    eager = [ast.unparse(node) for node in at_import_time(tree)]
    assert "import a.b" in eager
    assert not {"import g", "import h"} & set(eager)


def rooms_that_import() -> dict[str, set[str]]:
    """For each room of the core (a package or a single module), the rooms that it imports."""
    core = FOLDERS["skr_core"]
    arrows: dict[str, set[str]] = {}
    for path in core.rglob("*.py"):
        room = path.relative_to(core).with_suffix("").parts[0]
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in outside_type_checking(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("skr_core."):
                arrows.setdefault(room, set()).add(node.module.split(".")[1])
    return {room: targets - {room} for room, targets in arrows.items()}


def outside_type_checking(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)):
            yield child
            yield from outside_type_checking(child)


def test_no_circle_between_the_rooms_of_the_core():
    arrows = rooms_that_import()

    def reached(room: str) -> set[str]:
        seen, waiting = set(), [room]
        while waiting:
            for target in arrows.get(waiting.pop(), set()) - seen:
                seen.add(target)
                waiting.append(target)
        return seen

    assert [room for room in arrows if room in reached(room)] == []


def test_every_package_is_looked_at():
    assert {package for package, _ in modules()} == OURS
