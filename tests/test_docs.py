"""The documentation: its ```python blocks run, its commands are parsed, its links and paths lead.

Python blocks of a page run one after another. The shell itself reads the ```sh blocks, with a `skr`
and a `skr-lab` that only record their arguments, and no other command to find. Links are followed
as GitHub follows them, to files of the repository and to headings.
"""

from __future__ import annotations

import ast
import asyncio
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from skr_app.main import app
from skr_app.opening import load_questions
from skr_core import Settings, load_router, registered
from skr_core.registry import _announced
from skr_core.testing import ScriptedModel
from skr_lab.command import app as lab
from skr_lab.experiment import read_values
from skr_lab.experiments import EXPERIMENTS

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RECORDING = """
record() { printf '%s\\0' "$@" >&3; printf '\\n\\0' >&3; }
skr() { record skr "$@"; }
skr_lab() { record skr-lab "$@"; }
"""
COMMAND = re.compile(r"^ *(skr|skr-lab) ", re.MULTILINE)
# Blocks that name what only the reader has, each with its reason in words.
LEFT_OUT: dict[str, str] = dict.fromkeys(
    ("from langgraph_sdk", "output = client.", "thread = client."),
    "serving.md's client asks the server of tests/integration/test_langgraph_dev.py",
)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LAB = ROOT / "lab"
OF_THE_LAB = [
    LAB / "README.md",
    LAB / "benchmarks" / "README.md",
    *sorted((LAB / "docs").glob("*.md")),
]
LINKING = [*PAGES, *OF_THE_LAB, ROOT / "CHANGELOG.md", ROOT / "examples" / "README.md"]
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def of_the_project(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=of_the_project)
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # what a page writes stays out of the project
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    asyncio.set_event_loop(None)  # else LlamaIndex's memory makes one, and leaves it open
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": page.stem}
    for block in BLOCK.finditer(text):
        if any(block[1].startswith(beginning) for beginning in LEFT_OUT):
            continue
        line = text.count("\n", 0, block.start(1))
        # Blank lines before it, so that a traceback names the page's own line.
        exec(compile("\n" * line + block[1], str(page), "exec"), names)


def commands(block: str, folder: Path) -> Iterator[list[str]]:
    """The words of each `skr` and `skr-lab` that a block calls, as the shell expands them."""
    recorded = folder / "recorded"
    called = re.sub(r"^( *)skr-lab ", r"\1skr_lab ", block, flags=re.MULTILINE)  # a function's name
    shell = ["/bin/sh", "-c", f"exec 3>recorded\n{RECORDING}{called}"]
    alone = {"PATH": "", "SKR_DATA": "recorded"}
    subprocess.run(shell, cwd=folder, env=alone, capture_output=True, timeout=150)
    for words in recorded.read_text(encoding="utf-8").split("\0\n\0")[:-1]:
        yield words.split("\0")


@pytest.mark.parametrize("page", [*PAGES, *OF_THE_LAB], ids=of_the_project)
def test_commands_of_a_page(page: Path, tmp_path: Path) -> None:
    for number, block in enumerate(SHELL.finditer(page.read_text(encoding="utf-8"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        called = list(commands(block[1], folder))
        assert len(called) >= len(COMMAND.findall(block[1]))
        for words in called:
            parse(words)


def parse(words: list[str]) -> None:
    """Parse a command as `skr` or `skr-lab` does, without running it; what it refuses raises."""
    name, *rest = words
    command = typer.main.get_command(app if name == "skr" else lab)
    while isinstance(command, typer.core.TyperGroup):
        command = command.commands[rest.pop(0)]
    with command.make_context(" ".join(words), rest) as context:
        if words[:2] == ["skr-lab", "run"] and not context.params["experiment"].endswith(".toml"):
            found, values = read_values(context.params["experiment"], context.params["settings"])
            assert {*values} <= {*EXPERIMENTS[found].model_fields}


def test_a_command_with_an_unknown_option_is_refused(tmp_path: Path) -> None:
    block = 'more="--seed 1"\nskr replay --train "my records.jsonl" $more > there.json  # wrong\n'
    (words,) = commands(block, tmp_path)
    assert words == ["skr", "replay", "--train", "my records.jsonl", "--seed", "1"]
    with pytest.raises(Exception, match="--seed"):
        parse(words)


def test_an_experiment_with_an_unknown_field_is_refused(tmp_path: Path) -> None:
    (words,) = commands("skr-lab run certainty --set seed=1\n", tmp_path)
    with pytest.raises(AssertionError):
        parse(words)


def test_what_the_architecture_names_is_there() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| .+ \| `([\w/]+\.py)` \| `([\w.]+)` \|$", page, re.MULTILINE)
    assert len(rows) == 18
    for file, name in rows:
        body: list[ast.stmt] = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
        for part in name.split("."):
            (found,) = (each for each in body if getattr(each, "name", "") == part)
            body = getattr(found, "body", [])


def test_what_extending_announces_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    (announced,) = re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    groups = tomllib.loads(announced)["project"]["entry-points"]
    about = tmp_path / "my_package-1.0.dist-info"
    for folder in (about, tmp_path / "my_package"):
        folder.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my_package\nVersion: 1.0\n")
    entries = [
        f"[{group}]\n" + "".join(f"{name} = {there}\n" for name, there in names.items())
        for group, names in groups.items()
    ]
    (about / "entry_points.txt").write_text("\n".join(entries))
    for there in (there for names in groups.values() for there in names.values()):
        module, name = there.split(":")
        blocks = [each for each in BLOCK.findall(page) if "from langchain_skr" not in each]
        made = re.compile(rf"^(class|def) {name}\b", re.MULTILINE)
        until = next(place for place, each in enumerate(blocks) if made.search(each))
        file = tmp_path / f"{module.replace('.', '/')}.py"
        file.write_text("\n".join(blocks[: until + 1]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)  # what the blocks write stays here
    monkeypatch.syspath_prepend(tmp_path)
    _announced.cache_clear()
    try:
        quiz = tmp_path / "mine.txt"
        quiz.write_text("Who? = Ada\n", encoding="utf-8")
        (question,) = load_questions(quiz, "quiz")
        assert load_router("changing").decide("Who is the mayor?").retrieve
        reflector = registered("reflectors", "short")()
        assert Settings.of(ScriptedModel(), reflector=reflector).reflector.reflect("?", [], "No.")
    finally:
        _announced.cache_clear()
        for module in [each for each in sys.modules if each.startswith("my_package")]:
            del sys.modules[module]
    assert question.gold == ("Ada",)


def headings(page: Path) -> set[str]:
    """The addresses of a page's headings, as GitHub makes them."""
    found = HEADING.findall(FENCED.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", each.lower()).strip().replace(" ", "-") for each in found}


@pytest.mark.parametrize("page", LINKING, ids=of_the_project)
def test_links_of_a_page(page: Path) -> None:
    for path, heading in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), path
        if heading:
            assert heading in headings(target), f"{path}#{heading}"
