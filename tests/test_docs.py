"""The documentation: its ```python and ```sh blocks run, its links and paths lead.

Python blocks of a page run one after another. The shell itself reads the ```sh blocks: once with a
`skr` and a `skr-lab` that only record their arguments, which are parsed, and once with a `skr` that
runs them, all of a page in one folder, with the extractive model in place of a provider's. What is
not run says why in `NOT_RUN`. What a ```text block shows has to be printed. Links are followed as
GitHub follows them, to files of the repository and to headings.
"""

from __future__ import annotations

import ast
import asyncio
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer
from reportlab.pdfgen.canvas import Canvas

from skr_app.country import write_country
from skr_app.main import app, main
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
RUNNING = """
exec 3>&2 2>/dev/null 4<&0 0</dev/null
skr() {
    printf '%s\\037' "${SKR_MODEL-}" "${SKR_STORE-}" "$@" >&3
    printf '\\n' >&3
    read -r code <&4
    /bin/cat told
    return "$code"
}
"""
"""A `skr` that tells the test its words by one pipe, and learns by another how they ended. What
else a block calls (pip, langgraph, python) is not found."""
INSTEAD = {
    "openai:gpt-4.1-mini": "extractive:skr-demo/memory.jsonl",
    "sentence-transformers/all-MiniLM-L6-v2": "hashing",
}
"""What needs a key or a download, and what the same command is run with here."""
NOT_RUN = {
    "demo --out": "takes a minute; the folder has its files: tests/skr_app/test_commands.py",
    "serve": "serves until it is stopped: tests/skr_app/web and tests/skr_store",
    "--store http://": "asks a server of a store: tests/skr_store/test_chroma_server.py",
    "--base-url": "asks a server of the reader's own",
    "--engine ray": "starts workers: tests/test_examples.py runs examples/19_ray.py",
    "questions make": "a model that quotes writes no questions: tests/skr_learn/test_questions.py",
    "--judge": "a model that quotes does not judge: tests/skr_app/test_evaluate.py",
    "--cross-fit": "calibrates five routers: tests/skr_app/test_evaluate.py",
    "adarague": "takes more than ten seconds; `make results` runs it and writes its table",
    "realtimeqa": "the same",
    "evaluate $SKR_DATA": "the same",
}
"""Words of commands that are parsed alone, and why."""
NOT_PRINTED = {
    "200 questions: 400 to": "of all questions, with --prices: tests/skr_app/test_beforehand.py",
    "answers     accuracy": "of recorded answers, over more than ten seconds",
}
"""Beginnings of ```text blocks that the commands of their page do not print here, and why."""
# Blocks that name what only the reader has, each with its reason in words.
LEFT_OUT: dict[str, str] = dict.fromkeys(
    ("from langgraph_sdk", "output = client.", "thread = client."),
    "serving.md's client asks the server of tests/integration/test_langgraph_dev.py",
)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RUN = [page for page in PAGES if re.search(r"^skr ", page.read_text("utf-8"), re.MULTILINE)]
LAB = ROOT / "lab"
OF_THE_LAB = [
    LAB / "README.md",
    LAB / "benchmarks" / "README.md",
    *sorted((LAB / "docs").glob("*.md")),
]
BESIDE = ("CHANGELOG", "CONTRIBUTING", "SECURITY", "examples/README", "packaging/README")
LINKING = [*PAGES, *OF_THE_LAB, *(ROOT / f"{name}.md" for name in BESIDE)]
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
TEXT = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
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


def write_files(folder: Path) -> None:
    """Write what the pages' commands are given: what a reader brings, and the country's files."""
    write_country(folder / "skr-demo")
    asked = folder / "skr-demo" / "questions.jsonl"
    lines = asked.read_text(encoding="utf-8").splitlines(keepends=True)
    asked.write_text("".join(lines[::16]), encoding="utf-8")  # in seconds
    (folder / "held-out.jsonl").write_text("".join(lines[5::30]), encoding="utf-8")
    review = "".join(
        f"## {row['id']}\nQuestion: {row['question']}\nAnswer: {row['answers'][0]}\n\n"
        for row in map(json.loads, lines[::16])
    )
    (folder / "review.md").write_text(review, encoding="utf-8")
    (folder / "docs").mkdir()
    (folder / "docs" / "old.md").write_text("# The harbour\n\nThe board keeps the books.\n")
    canvas = Canvas(str(folder / "notes.pdf"))
    canvas.drawString(72, 720, "The lighthouse is 31 metres tall.")
    canvas.save()
    (folder / "app.py").write_text(
        "from langchain_core.documents import Document\n"
        "from langchain_core.language_models import FakeListChatModel\n"
        "from langchain_core.runnables import RunnableLambda\n"
        "retriever = RunnableLambda(lambda query: [Document('The board keeps the books.')])\n"
        "model = FakeListChatModel(responses=['The board [1].'])\n"
    )


Call = Callable[..., tuple[int, str]]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run `skr` in this process; what it ends with, and all that it printed."""

    def called(model: str, store: str, *words: str) -> tuple[int, str]:
        with monkeypatch.context() as patch:
            patch.setattr("sys.argv", ["skr", *(INSTEAD.get(each, each) for each in words)])
            patch.setenv("COLUMNS", "100")
            for name, value in (("SKR_MODEL", INSTEAD.get(model, model)), ("SKR_STORE", store)):
                patch.setenv(name, value) if value else patch.delenv(name, raising=False)
            try:
                main()
            except SystemExit as end:
                return int(end.code or 0), "".join(capsys.readouterr())
        return 0, "".join(capsys.readouterr())

    return called


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("prepared")


@pytest.fixture
def workshop(prepared: Path, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the commands of one page find from those of another: a store, records."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    if not any(prepared.iterdir()):
        monkeypatch.chdir(prepared)
        write_files(prepared)
        model = INSTEAD["openai:gpt-4.1-mini"]
        for line in (
            "ingest skr-demo/corpus.jsonl --store store",
            "questions accept review.md --out questions.jsonl",
            "collect questions.jsonl --out self-knowledge.jsonl --store store",
            "collect held-out.jsonl --out others.jsonl --store store",
            "calibrate self-knowledge.jsonl --out router --router ladder --anyway",
        ):
            code, told = call(model, "", *line.split())
            assert code == 0, told
        shutil.copy("others.jsonl", "other-records.jsonl")
        rows = [*map(json.loads, Path("self-knowledge.jsonl").read_text("utf-8").splitlines())]
        for number, row in enumerate(rows):
            row["extra"] = {**row.get("extra", {}), "dataset": f"set {number % 2}"}
        packed = "".join(json.dumps(row) + "\n" for row in rows).encode()
        Path("records.jsonl.gz").write_bytes(gzip.compress(packed))
        Path("others.jsonl.gz").write_bytes(gzip.compress(Path("others.jsonl").read_bytes()))
    folder = tmp_path / "workshop"
    shutil.copytree(prepared, folder)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "app", raising=False)
    return folder


def run_blocks(script: str, folder: Path, call: Call) -> Iterator[tuple[list[str], int, str]]:
    """Run blocks in a shell: the words of each `skr`, what it ended with, and what it printed."""
    data = os.environ.get("SKR_DATA", "")
    shell = subprocess.Popen(
        ["/bin/sh", "-c", RUNNING + script],
        cwd=folder, env={"PATH": "", "SKR_DATA": data or "$SKR_DATA"},
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert shell.stdin
    assert shell.stderr
    with shell:
        for line in shell.stderr:
            model, store, *words = line.removesuffix("\x1f\n").split("\x1f")
            named = " ".join(words).replace(data or "$SKR_DATA", "$SKR_DATA")
            known = next((why for part, why in NOT_RUN.items() if part in named), "")
            if not data and "$SKR_DATA" in named:
                known = "there is no recorded data"
            code, told = (0, "") if known else call(model, store, *words)
            (folder / "told").write_text(told, encoding="utf-8")
            yield ([] if known else words), code, told
            shell.stdin.write(f"{code}\n")
            shell.stdin.flush()


@pytest.mark.integration
@pytest.mark.usefixtures("few_trees")
@pytest.mark.parametrize("page", RUN, ids=of_the_project)
def test_commands_of_a_page_run(page: Path, workshop: Path, call: Call) -> None:
    text = page.read_text(encoding="utf-8")
    printed = ""
    script = "\n".join(each[1] for each in SHELL.finditer(text))
    for words, code, told in run_blocks(script, workshop, call):
        assert code == 0, (words, told)
        printed += told
    for block in TEXT.findall(text):
        if not block.startswith(tuple(NOT_PRINTED)):
            for line in block.splitlines():
                assert " ".join(line.split()) in " ".join(printed.split())


def test_what_is_not_run_stands_on_a_page() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in RUN)
    shell = "\n".join(each[1] for each in SHELL.finditer(text))
    assert [part for part in NOT_RUN if part not in shell] == []
    assert [part for part in NOT_PRINTED if f"```text\n{part}" not in text] == []


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


def test_each_promise_names_a_test_that_is_there() -> None:
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    there = {
        (file.name, name)
        for file in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(
            r"^ *(?:async )?def (test_\w+)", file.read_text("utf-8"), re.MULTILINE
        )
    }
    promises = re.findall(r"^\| .+[.] \| (.+) \|$", page, re.MULTILINE)
    assert len(promises) >= 30
    assert not [each for each in promises if not re.fullmatch(r"`test_\w+\.py::test_\w+`", each)]
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", page)
    assert [each for each in named if each not in there] == []


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
