"""The documentation: its ```python blocks run, its `skr` commands are parsed, its links lead.

Python blocks of a page run one after another. The shell itself reads the ```sh blocks, with a `skr`
that only records its arguments, and no other command to find. Links are followed as GitHub follows
them, to files of the repository and to headings.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from skr_app.main import app

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RECORDING = "skr() { printf '%s\\0' \"$@\" >&3; printf '\\n\\0' >&3; }\n"
# Blocks that name what only the reader has, each with its reason in words.
LEFT_OUT: dict[str, str] = dict.fromkeys(
    ("from langgraph_sdk", "output = client.", "thread = client."),
    "serving.md's client asks the server of tests/integration/test_langgraph_dev.py",
)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINKING = [
    *PAGES,
    *sorted((ROOT / "lab" / "docs").glob("*.md")),
    *(ROOT / name for name in ("CHANGELOG.md", "benchmarks/README.md", "examples/README.md")),
]
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
    """The arguments of each `skr` that a block calls, as the shell expands them."""
    recorded = folder / "recorded"
    shell = ["/bin/sh", "-c", f"exec 3>recorded\n{RECORDING}{block}"]
    alone = {"PATH": "", "SKR_DATA": "recorded"}
    subprocess.run(shell, cwd=folder, env=alone, capture_output=True, timeout=150)
    for called in recorded.read_text(encoding="utf-8").split("\0\n\0")[:-1]:
        yield called.split("\0")


@pytest.mark.parametrize("page", PAGES, ids=of_the_project)
def test_commands_of_a_page(page: Path, tmp_path: Path) -> None:
    for number, block in enumerate(SHELL.finditer(page.read_text(encoding="utf-8"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        called = list(commands(block[1], folder))
        assert len(called) >= len(re.findall(r"^ *skr ", block[1], re.MULTILINE))
        for words in called:
            parse(words)


def parse(words: list[str]) -> None:
    """Parse a command as `skr` does, without running it; what it refuses raises."""
    command, rest = typer.main.get_command(app), list(words)
    while isinstance(command, typer.core.TyperGroup):
        command = command.commands[rest.pop(0)]
    command.make_context(" ".join(words), rest).close()


def test_a_command_with_an_unknown_option_is_refused(tmp_path: Path) -> None:
    block = 'more="--seed 1"\nskr replay --train "my records.jsonl" $more > there.json  # wrong\n'
    (words,) = commands(block, tmp_path)
    assert words == ["replay", "--train", "my records.jsonl", "--seed", "1"]
    with pytest.raises(Exception, match="--seed"):
        parse(words)


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
