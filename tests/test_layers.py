"""The arrows between the packages and between the rooms of the core, held over every import.

```text
skr_lab ─► skr_app ─► langchain_skr, llamaindex_skr ─► skr_graphs ─► skr_core
                  └─► skr_store ─► skr_core       └──► skr_learn ─► skr_core
```

An arrow may be left out on the way. Imports of types count, and so do those inside functions.
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
    "skr_learn": ROOT / "skr_learn",
    "skr_store": ROOT / "skr_store",
    "skr_app": ROOT / "skr_app",
    "skr_lab": ROOT / "lab" / "skr_lab",
}
OF_LANGCHAIN = {
    *("langchain", "langchain_core", "langchain_openai", "langchain_chroma", "langgraph"),
    "langchain_text_splitters",
}
FRAMEWORKS = {*OF_LANGCHAIN, "llama_index"}
HEAVY = {"torch", "transformers", "sentence_transformers", "chromadb", "bm25s", "ray"}

# What each package may import of ours and of the frameworks.
PLUG_INS = {"skr_core", "skr_graphs", "skr_learn"}
ALLOWED = {
    "skr_core": set(),
    "skr_graphs": {"skr_core", "langgraph", "langchain_core"},
    "langchain_skr": PLUG_INS | OF_LANGCHAIN,
    "llamaindex_skr": PLUG_INS | {"llama_index"},
    "skr_learn": {"skr_core"},
    "skr_store": {"skr_core", "langchain_text_splitters"},
    "skr_app": PLUG_INS | {"skr_store", "langchain_skr", "llamaindex_skr"},
    "skr_lab": {*FOLDERS},
}
# The rooms whose modules touch heavy libraries, each inside the function that needs it.
HEAVY_ROOMS = (
    *("skr_core/models/", "skr_store/", "skr_learn/routers/"),
    *("skr_learn/ray_workers.py", "lab/skr_lab/entailment.py"),
    "lab/skr_lab/encoders.py",
)


def modules() -> list[tuple[str, Path]]:
    return [(package, path) for package, folder in FOLDERS.items() for path in folder.rglob("*.py")]


def imported(tree: ast.AST) -> Iterator[str]:
    """The dotted name of every import, wherever it stands; of ours down to the name itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the arrows"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def packages_in(tree: ast.AST) -> set[str]:
    return {name.partition(".")[0] for name in imported(tree)}


def at_import_time(node: ast.AST) -> Iterator[ast.AST]:
    """The statements that run when a module is imported."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from at_import_time(child)


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def eager_packages_of(path: Path) -> set[str]:
    nodes = at_import_time(parsed(path))
    eager = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    return packages_in(ast.Module(eager, []))


EVERY = [
    pytest.param(package, path, id=path.relative_to(ROOT).as_posix()) for package, path in modules()
]


@pytest.mark.parametrize(("package", "path"), EVERY)
def test_arrows(package: str, path: Path):
    every = packages_in(parsed(path))
    assert (every & (FOLDERS.keys() | FRAMEWORKS)) <= ALLOWED[package] | {package}
    if package == "skr_store":
        assert not eager_packages_of(path) & FRAMEWORKS, "imported only when used"


@pytest.mark.parametrize(("package", "path"), EVERY)
def test_heavy_libraries_stand_in_their_rooms(package: str, path: Path):
    if path.relative_to(ROOT).as_posix().startswith(HEAVY_ROOMS):
        assert not eager_packages_of(path) & HEAVY, "imported only when used"
    else:
        assert not packages_in(parsed(path)) & HEAVY


def test_the_check_sees_every_import():
    tree = ast.parse(
        "import a.b\nfrom c.d import e\ndef f():\n    import g\nif TYPE_CHECKING:\n    import h"
    )
    assert set(imported(tree)) == {"a.b", "c.d.e", "g", "h"}
    eager = [ast.unparse(node) for node in at_import_time(tree)]
    assert "import a.b" in eager
    assert not {"import g", "import h"} & set(eager)


def between_rooms() -> dict[str, set[str]]:
    """For each room of the core (a package or a single module), the rooms that it imports."""
    core = FOLDERS["skr_core"]
    rooms = {path.stem for path in core.iterdir()}
    arrows: dict[str, set[str]] = {}
    for path in core.rglob("*.py"):
        room = path.relative_to(core).with_suffix("").parts[0]
        names = [name.split(".") for name in imported(parsed(path))]
        targets = {name[1] for name in names if name[0] == "skr_core" and name[1] in rooms}
        arrows[room] = arrows.get(room, set()) | (targets - {room})
    # The door imports what it offers, and no room imports the door.
    return {room: targets for room, targets in arrows.items() if room != "__init__"}


def between_packages() -> dict[str, set[str]]:
    arrows: dict[str, set[str]] = {}
    for package, path in modules():
        targets = packages_in(parsed(path)) & FOLDERS.keys() - {package}
        arrows[package] = arrows.get(package, set()) | targets
    return arrows


@pytest.mark.parametrize("find", [between_packages, between_rooms])
def test_no_circle(find):
    arrows = find()

    def reached(start: str) -> set[str]:
        found, waiting = set(), [start]
        while waiting:
            for target in arrows.get(waiting.pop(), set()) - found:
                found.add(target)
                waiting.append(target)
        return found

    assert [each for each in arrows if each in reached(each)] == []


def test_no_room_of_the_core_imports_the_door():
    offered = ast.literal_eval(
        next(
            ast.unparse(node.value)
            for node in parsed(FOLDERS["skr_core"] / "__init__.py").body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        )
    )
    taken = {f"skr_core.{name}" for name in offered}
    for path in FOLDERS["skr_core"].rglob("*.py"):
        assert not taken & set(imported(parsed(path))), path


def test_every_package_is_looked_at():
    assert {package for package, _ in modules()} == FOLDERS.keys()
