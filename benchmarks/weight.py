"""What each extra weighs once it is installed, and what importing a plug-in takes.

Each is installed into a fresh environment of its own, with byte code, by uv or else pip. The
import of a plug-in is measured beside its framework's, in processes of their own that take turns;
the smallest times are compared, for whatever else the machine does only adds to them.

Usage: python benchmarks/weight.py [--turns 10] [EXTRA ...]
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BESIDE = ["langgraph", "llama-index-core"]
EXTRAS = (
    "langchain openai llamaindex llamaindex-openai chroma documents learning plots cli web ray all"
)
FRAMEWORKS = {
    "langchain": (
        "from langchain_skr import create_skr_chain, create_skr_graph, SKRRetriever",
        "from langgraph.graph import StateGraph\n"
        "from langchain_core.documents import Document\n"
        "from langchain_core.language_models import BaseChatModel\n"
        "from langchain_core.retrievers import BaseRetriever\n"
        "from langchain_core.runnables import Runnable\n"
        "from langchain_core.tools import BaseTool",
    ),
    "llamaindex": (
        "from llamaindex_skr import SKRQueryEngine, SKRRetriever",
        "import llama_index.core",
    ),
}
"""By extra: what is imported of the plug-in, and of its framework anyway."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("extras", nargs="*", default=EXTRAS.split(), metavar="EXTRA")
    parser.add_argument("--turns", type=int, default=10, help="imports of each")
    options = parser.parse_args()
    for name in BESIDE:
        show(name, *weigh(name, 0))
    show("skr-rag", *weigh(str(ROOT), 0))
    for extra in options.extras:
        show(f"skr-rag[{extra}]", *weigh(f"{ROOT}[{extra}]", options.turns, extra))


def weigh(requirement: str, turns: int, extra: str = "") -> tuple[int, int, dict[str, float]]:
    """Megabytes, packages, and the seconds of imports where the extra is a framework's."""
    with tempfile.TemporaryDirectory() as folder:
        python = install(requirement, folder)
        site = next(Path(folder).glob("lib/python*/site-packages"))
        packages = len(list(site.glob("*.dist-info")))
        # Hard links into a cache count, as they do for `du`.
        size = sum(path.lstat().st_blocks * 512 for path in site.rglob("*") if path.is_file())
        seconds = compare(python, *FRAMEWORKS[extra], turns) if extra in FRAMEWORKS else {}
        return round(size / 2**20), packages, seconds


def install(requirement: str, folder: str) -> str:
    python = f"{folder}/bin/python"
    if uv := shutil.which("uv"):
        run(uv, "venv", "-q", "--python", sys.executable, "--clear", folder)
        run(uv, "pip", "install", "-q", "--compile-bytecode", "--python", python, requirement)
    else:
        run(sys.executable, "-m", "venv", "--without-pip", folder)
        run(sys.executable, "-m", "pip", "--python", python, "install", "-q", requirement)
    return python


def compare(python: str, plug_in: str, framework: str, turns: int) -> dict[str, float]:
    """Seconds of the processor that each import takes, and their ratio."""
    beside: list[float] = []
    ours: list[float] = []
    for _ in range(turns):
        beside.append(spent(python, framework))
        ours.append(spent(python, plug_in))
    seconds = {"framework_s": min(beside), "plug_in_s": min(ours)}
    return {**seconds, "ratio": min(ours) / min(beside)}


def spent(python: str, code: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(python, "-c", code)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run(*command: str) -> None:
    subprocess.run(command, check=True)


def show(name: str, megabytes: int, packages: int, seconds: dict[str, float]) -> None:
    rounded = {key: round(value, 3) for key, value in seconds.items()}
    print(json.dumps({"installed": name, "mb": megabytes, "packages": packages, **rounded}))


if __name__ == "__main__":
    main()
