"""The wheels of `dist/`, each installed by its name into an empty environment and tried there.

What stands in the folder is found there, and all else on the package index. The standard suites of
both frameworks run against what was installed, in a folder that holds the tests and no sources.

Usage: python scripts/wheels.py [NAME ...]
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
SUITE = ("hypothesis", "pytest", "pytest-asyncio", "pytest-timeout", "scikit-learn")
"""What the tests themselves import."""
OURS = tuple(
    f"--reinstall-package={name}"
    for name in ("skr-rag", "skr-lab", "langchain-skr", "llama-index-query-engines-skr")
)
"""Of an earlier build of the same version nothing is taken from a cache."""
OPTIONS = (
    *("-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto"),
    *("--import-mode=importlib", "-o", "markers=integration\ndata\nsoak", "-o", "pythonpath=."),
)


@dataclass(frozen=True)
class Wheel:
    """What is installed, and how it is tried.

    Attributes:
        name: The requirement.
        smoke: A command or a program that has to end well in the environment.
        beside: What its tests need beside.
        tests: The files of the standard suites.
    """

    name: str
    smoke: Sequence[str]
    beside: Sequence[str] = ()
    tests: Sequence[str] = ()


WHEELS = (
    Wheel(
        "langchain-skr",
        ("python", "-c", "from langchain_skr import create_skr_chain, SKRMiddleware"),
        ("langchain-tests", *SUITE),
        ("tests/langchain_skr/test_retriever.py", "tests/langchain_skr/test_tool.py"),
    ),
    Wheel(
        "llama-index-query-engines-skr",
        ("python", "-c", "from llamaindex_skr import SKRQueryEngine, SKRChatEngine"),
        SUITE,
        ("tests/llamaindex_skr/test_standard.py",),
    ),
    Wheel("skr-rag[cli]", ("skr", "ask", "--help")),
    Wheel("skr-rag[cli,learning]", ("skr", "demo", "--json")),
    Wheel("skr-lab", ("skr-lab", "list")),
)


def tried(wheel: Wheel, folder: Path) -> str:
    """A line of what was found; what fails ends the program."""
    environment = folder / "environment"
    python = environment / "bin" / "python"
    run("uv", "venv", "-q", "--python", sys.executable, str(environment))
    begin = time.perf_counter()
    install(python, wheel.name)
    seconds = time.perf_counter() - begin
    megabytes = sum(
        path.lstat().st_blocks * 512
        for path in (environment / "lib").rglob("*")
        if path.is_file() and not path.is_symlink()
    )
    told = f"{wheel.name}: {megabytes / 2**20:.0f} MB, installed in {seconds:.0f} s"
    begin = time.perf_counter()
    program, *arguments = wheel.smoke
    run(str(environment / "bin" / program), *arguments, cwd=folder)
    told += f", tried in {time.perf_counter() - begin:.0f} s"
    if wheel.tests:
        install(python, wheel.name, *wheel.beside)
        shutil.copytree(ROOT / "tests", folder / "tests")
        said = run(str(python), "-m", "pytest", *OPTIONS, *wheel.tests, cwd=folder)
        told += f"; {said.strip().splitlines()[-1]}"
    return told


def install(python: Path, *requirements: str) -> None:
    """Install by name, what is built here from here."""
    into = ("uv", "pip", "install", "-q", "--compile-bytecode", "--python", str(python))
    found = ("--find-links", str(DIST), "-c", str(ROOT / "constraints.txt"))
    run(*into, *found, *OURS, *requirements)


def run(*command: str, cwd: Path = ROOT) -> str:
    """Run a command, and end with what it said where it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def main(names: Sequence[str]) -> None:
    if not list(DIST.glob("*.whl")):
        sys.exit("there are no wheels: run  make dist")
    for wheel in WHEELS:
        if not names or wheel.name in names:
            with tempfile.TemporaryDirectory(prefix="wheel-") as folder:
                sys.stdout.write(f"{tried(wheel, Path(folder))}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
