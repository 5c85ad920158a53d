"""What an extra brings is imported in one guard, whose error is the line that installs it."""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from skr_core.errors import MissingDependency, extra, install_line

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the folder of a clone the line that installs is shorter."""
    monkeypatch.chdir(tmp_path)


FOLDERS = [
    *("skr_core", "graphs/skr_graphs", "langchain_skr", "llamaindex_skr"),
    *("skr_learn", "skr_store", "skr_app"),
]
# Which extra brings what is imported; typer and rich are guarded as a whole, in the command's main.
BROUGHT_BY = {
    "chromadb": "chroma",
    "tantivy": "store",
    "scipy": "learning",
    "sklearn": "learning",
    "threadpoolctl": "learning",
    "matplotlib": "plots",
    "jinja2": "plots",
    "jsonschema": "schemas",
    "referencing": "schemas",
    "fastapi": "cli",
    "starlette": "cli",
    "uvicorn": "cli",
    "mcp": "mcp",
    "bs4": "documents",
    "mammoth": "documents",
    "markdownify": "documents",
    "openpyxl": "documents",
    "pptx": "documents",
    "pypdfium2": "documents",
    "langchain_text_splitters": "store",
    "sentence_transformers": "local",
    "transformers": "local",
    "langchain": "langchain",
    "openai": "llamaindex-openai",
    "llama_index.llms": "llamaindex-openai",
    "ray": "ray",
    "pandas": "formats",
    "pyarrow": "formats",
}
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]

FIRST_USES = {
    "tantivy": (
        "store",
        "from skr_store import Store; Store.open(folder + '/new')",
    ),
    "filelock": (
        "learning",
        "from skr_core.files import KeyedLog; KeyedLog(folder + '/rows.jsonl')",
    ),
    "sklearn": ("learning", "from skr_core import HashingEmbedder; HashingEmbedder().embed(['a'])"),
    "langchain_text_splitters": (
        "store",
        "from skr_store.splitter import TokenSplitter\n"
        "TokenSplitter(limit=1, overlap=0).split('one two three')",
    ),
    "matplotlib": (
        "plots",
        "from skr_app.report import Result, plot; plot(Result('a', 'b', {}, ()))",
    ),
    "jsonschema": (
        "schemas",
        "from skr_core.schemas import ResponseFormat; ResponseFormat.of({'type': 'object'})",
    ),
    "jinja2": (
        "plots",
        "from skr_app.report import report_page; report_page([])",
    ),
    "sentence_transformers": (
        "local",
        "from skr_core import SentenceTransformerEmbedder\n"
        "SentenceTransformerEmbedder('a').embed(['b'])",
    ),
    "ray": ("ray", "from skr_learn import RayWorkers; RayWorkers()"),
    "pandas": ("formats", "from skr_learn import Records; Records().to_frame()"),
    "pyarrow": (
        "formats",
        "from skr_core import read_questions; open(folder + '/a.parquet', 'w'); "
        "read_questions(folder + '/a.parquet')",
    ),
    "fastapi": ("cli", "import skr_app.web.app"),
    "uvicorn": ("cli", "import skr_app.web.streaming"),
    "mcp": (
        "mcp",
        "from skr_app.commands.mcp import create_server; create_server(None, None)",
    ),
    "langchain": ("langchain", "from langchain_skr import load_model; load_model('anthropic:a')"),
    "langchain_openai": (
        "openai",
        "from langchain_skr import load_model; load_model('openai:a', api_key='b')",
    ),
    "llama_index.core": ("llamaindex", "import llamaindex_skr"),
    "llama_index": ("llamaindex", "from llamaindex_skr.query_engine import SKRQueryEngine"),
    "llama_index.llms.openai_like": (
        "llamaindex-openai",
        "from llamaindex_skr import load_model; load_model('openai:a', api_key='b')",
    ),
}


def without(missing: str, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own, in which a module cannot be imported."""
    blocked = f"import sys; sys.modules[{missing!r}] = None\n{code}"
    return subprocess.run(
        [sys.executable, "-c", blocked, *arguments],
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
        cwd=tempfile.gettempdir(),  # of somebody who has no clone
    )


@pytest.mark.parametrize("missing", FIRST_USES)
def test_the_first_use_says_what_to_install(missing: str, tmp_path: Path) -> None:
    name, use = FIRST_USES[missing]
    result = without(missing, f"folder = sys.argv[1]\n{use}", str(tmp_path))
    assert result.returncode == 1
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("skr_core.errors.MissingDependency: ")
    assert last.endswith(f"is not installed: run  {install_line(name)}")


READ_WITH = {
    "bs4": "html",
    "mammoth": "docx",
    "markdownify": "html",
    "openpyxl": "xlsx",
    "pptx": "pptx",
    "pypdfium2": "pdf",
}


@pytest.mark.parametrize("missing", READ_WITH)
def test_the_first_file_of_a_kind_says_what_to_install(missing: str, tmp_path: Path) -> None:
    # It is read in another process, which looks for modules where this one does.
    (tmp_path / f"{missing}.py").write_text(f"raise ModuleNotFoundError(name={missing!r})")
    path = tmp_path / f"a.{READ_WITH[missing]}"
    path.touch()
    use = (
        "sys.path.insert(0, sys.argv[1])\n"
        "from skr_store.loaders import load_file; from pathlib import Path\n"
        "list(load_file(Path(sys.argv[2]), print))"
    )
    last = without("nothing", use, str(tmp_path), str(path)).stderr.strip().splitlines()[-1]
    assert last.endswith(f"{missing} is not installed: run  {install_line('documents')}")


def test_a_store_that_cannot_be_opened_leaves_nothing_behind(tmp_path: Path) -> None:
    name, use = FIRST_USES["tantivy"]
    assert name in without("tantivy", f"folder = sys.argv[1]\n{use}", str(tmp_path)).stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("missing", ["typer", "rich", "platformdirs"])
def test_the_command_without_its_extra_is_one_line(missing: str) -> None:
    result = without(missing, "from skr_app.__main__ import main; main()")
    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"error: {missing}")
    said = " ".join(line.split())
    assert said.endswith(f" is not installed: run {install_line('cli')}")


def test_the_command_tells_another_missing_extra_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Paris is in France.")
    code = (
        f"sys.argv = ['skr', 'ingest', {str(tmp_path)!r}, '--store', {str(tmp_path / 's')!r}]\n"
        "from skr_app.__main__ import main; main()"
    )
    result = without("tantivy", code)
    assert result.returncode == 2
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    assert lines[-1] == f"error: tantivy is not installed: run {install_line('store')}"
    assert "Traceback" not in result.stderr


def test_a_run_is_kept_without_its_plot(tmp_path: Path) -> None:
    code = (
        "from skr_app.report import Result, RunFolder\n"
        "with RunFolder(sys.argv[1], {}) as folder: folder.write(Result('a', 'b', {}, ()), {})"
    )
    result = without("matplotlib", code, str(tmp_path))
    assert result.returncode == 0, result.stderr
    names = {path.name for path in tmp_path.iterdir()}
    assert {"result.json", "result.md"} <= names
    assert "result.png" not in names


def test_the_extras_that_errors_name_are_declared() -> None:
    assert set(BROUGHT_BY.values()) | {"cli", "openai"} <= set(DECLARED)


def test_a_failing_import_becomes_the_pip_line() -> None:
    with pytest.raises(MissingDependency) as caught, extra("plots"):
        raise ImportError("a library of the system is missing")
    assert str(caught.value).endswith(f"run  {install_line('plots')}")
    assert isinstance(caught.value.__cause__, ImportError)


def test_a_clone_is_installed_from_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert install_line("mcp") == 'pip install -e ".[mcp]"'
    monkeypatch.chdir(tmp_path)
    assert install_line("mcp") == f'pip install -e "{ROOT}[mcp]"'
    monkeypatch.setattr("skr_core.errors._ROOT", tmp_path)
    assert install_line("mcp") == 'pip install "skr-rag[mcp]"'


def guarded(node: ast.AST, name: str | None = None) -> Iterator[tuple[str, str | None]]:
    """Each module that is imported at run time, and the extra whose guard it stands in."""
    for child in ast.iter_child_nodes(node):
        inside = name
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.With):
            called = child.items[0].context_expr
            if isinstance(called, ast.Call) and ast.unparse(called.func) == "extra":
                inside = ast.literal_eval(called.args[0])
        if isinstance(child, ast.Import):
            yield from ((alias.name, inside) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield child.module or "", inside
        yield from guarded(child, inside)


def brought_by(module: str) -> str | None:
    for optional, name in BROUGHT_BY.items():
        if module == optional or module.startswith(f"{optional}."):
            return name
    return None


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_optional_import_is_guarded_by_its_extra(folder: str) -> None:
    # The one is a program of its own, the other is imported within a guard: their callers raise.
    called = [ROOT / "skr_store" / "convert.py", ROOT / "skr_core" / "models" / "wire.py"]
    for path in (ROOT / folder).rglob("*.py"):
        if path in called:
            continue
        for module, inside in guarded(ast.parse(path.read_text(encoding="utf-8"))):
            wanted = {brought_by(module)}
            if module == "openai":  # both frameworks' models bring it
                wanted.add("openai")
            assert wanted == {None} or inside in wanted, f"{path}: {module}"


def test_the_check_sees_guards() -> None:
    tree = ast.parse(
        "with extra('plots'):\n    import a.b\nfrom c import d\nif TYPE_CHECKING:\n    import e"
    )
    assert list(guarded(tree)) == [("a.b", "plots"), ("c", None)]
