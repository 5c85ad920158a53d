"""What each extra weighs beside the framework alone.

Each is installed into a fresh environment of its own, with byte code, by uv or else pip; hard links
into a cache count. The peer is what its user has installed anyway, and where that is no single
package, skr-rag without an extra.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from benchmarks.rows import ROOT, LeftOut, Row

BARE = "skr-rag"
BESIDE = {
    "": "langgraph",
    "langchain": "langchain",
    "openai": "langchain-openai",
    "llamaindex": "llama-index-core",
    "llamaindex-openai": "llama-index-llms-openai-like",
    "store": "tantivy",
    "chroma": "chromadb",
    "documents": BARE,
    "learning": "scikit-learn",
    "plots": "matplotlib",
    "cli": BARE,
    "cli,learning": BARE,
    "ray": "ray",
    "all": BARE,
}
"""By extra; `cli,learning` is what the demonstration takes. Without `local` and `server`, most of
which is torch and langgraph-cli."""


def rows(quick: bool) -> Iterator[Row]:
    """Megabytes and packages of each extra."""
    for extra in ("",) if quick else BESIDE:
        told, peer = f"{BARE}[{extra}]" if extra else BARE, BESIDE[extra]
        ours = weigh(f"{ROOT}[{extra}]" if extra else str(ROOT))
        theirs = weigh(str(ROOT) if peer == BARE else peer)
        for unit, one, other in zip(("MB", "packages"), ours, theirs, strict=True):
            yield Row(f"`{told}`", one, unit, f"`{peer}`", other)


@cache
def weigh(requirement: str) -> tuple[float, float]:
    """Megabytes and packages."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            install(requirement, folder)
        except subprocess.CalledProcessError as error:
            problem = " ".join(str(error.stderr).split())
            raise LeftOut(f"{requirement} cannot be installed: {problem}") from error
        site = next(Path(folder).glob("lib/python*/site-packages"))
        packages = len(list(site.glob("*.dist-info")))
        size = sum(path.lstat().st_blocks * 512 for path in site.rglob("*") if path.is_file())
        return size / 2**20, packages


def install(requirement: str, folder: str) -> None:
    """Into an environment in the folder, with what this project's constraints pin."""
    pinned = ("-c", str(ROOT / "constraints.txt"))
    if uv := shutil.which("uv"):
        python = f"{folder}/bin/python"
        run(uv, "venv", "-q", "--python", sys.executable, "--clear", folder)
        into = (uv, "pip", "install", "-q", "--compile-bytecode", "--python", python)
        run(*into, *pinned, requirement)
    else:
        run(sys.executable, "-m", "venv", "--without-pip", folder)
        into = (sys.executable, "-m", "pip", "--python", f"{folder}/bin/python", "install", "-q")
        run(*into, *pinned, requirement)


def run(*command: str) -> None:
    subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True)
