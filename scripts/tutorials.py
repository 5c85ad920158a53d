"""Builds the tutorials: scripts of `tutorials/` become executed notebooks of `docs/tutorials/`.

A script is a notebook in jupytext's percent format. It is executed in a kernel and a folder of its
own, without keys and recorded data, so that everybody builds the same. The solutions of exercises,
which are folded into texts, are run behind the last cell, so that none of them is wrong. What a
notebook keeps is its cells and what they show: no times, no paths and no word about the machine.

Usage: python scripts/tutorials.py [--check] [NAME ...]

With --check nothing is written: where the cells of a kept notebook, or its texts when it is
executed again, are others, the difference is told and the exit code is 1.
"""

from __future__ import annotations

import os
import re
import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from difflib import unified_diff
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

import jupytext
import nbformat
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode, from_dict
from nbformat.v4 import new_code_cell

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = ROOT / "tutorials"
NOTEBOOKS = ROOT / "docs" / "tutorials"
# A kernel that has been told what to ask, or where recordings are, would show something else.
LEFT_OUT = ("SKR_", "LANGSMITH", "LANGCHAIN_")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
NOTHING: Mapping[str, str] = MappingProxyType({})
SECONDS = 120
"""Of one cell, at most; all notebooks together take less."""
SOLUTION = re.compile(r"<summary>Solution</summary>\n\n```python\n(.*?)^```$", re.S | re.M)


def main() -> None:
    parser = ArgumentParser(description="Build the tutorials, or check them.")
    parser.add_argument("--check", action="store_true", help="Tell differences; write nothing.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="Of scripts; by default all.")
    options = parser.parse_args()
    scripts = [SCRIPTS / f"{name}.py" for name in options.names] or sorted(SCRIPTS.glob("*.py"))
    differ = False
    for script in scripts:
        kept = NOTEBOOKS / f"{script.stem}.ipynb"
        built = build(script)
        if options.check:
            told = differences(nbformat.read(kept, as_version=4), built)
            differ = differ or bool(told)
            sys.stdout.writelines(f"{line}\n" for line in told)
        else:
            NOTEBOOKS.mkdir(parents=True, exist_ok=True)
            kept.write_text(nbformat.writes(built) + "\n", encoding="utf-8")
    if differ:
        sys.exit("The kept notebooks are others: run  make tutorials  and read what it changes.")


def build(script: Path, told: Mapping[str, str] = NOTHING) -> NotebookNode:
    """A script as a notebook, executed; its kernel is also told these variables."""
    notebook = notebook_of(script)
    own = len(notebook.cells)
    notebook.cells += [new_code_cell(code) for code in solutions_of(notebook)]
    with TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            # Files in place of ports, so that nobody else on the machine can speak to the kernel.
            km=KernelManager(transport="ipc", connection_file=f"{folder}/kernel.json"),
            timeout=SECONDS,
            startup_timeout=SECONDS,
            # What a cell shows comes another way than the word that it has ended, and may be late.
            iopub_timeout=SECONDS,
            raise_on_iopub_timeout=True,
            resources={"metadata": {"path": folder}},
            record_timing=False,
        )
        client.execute(env={**environment(Path(folder)), **told}, cleanup_kc=True)
    del notebook.cells[own:]
    return tidied(notebook)


def solutions_of(notebook: NotebookNode) -> list[str]:
    """The code of each solution that is folded into a text, in order."""
    return [code for cell in notebook.cells for code in SOLUTION.findall(cell.source)]


def notebook_of(script: Path) -> NotebookNode:
    """A script as a notebook without outputs; each cell's id is its place."""
    notebook = jupytext.read(script, fmt="py:percent")
    notebook.metadata = from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for place, cell in enumerate(notebook.cells, start=1):
        cell.id = f"cell-{place}"
    return notebook


def environment(folder: Path) -> dict[str, str]:
    """What a kernel is told: this checkout, one thread, and a home of its own."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(LEFT_OUT) and "API_KEY" not in name
    }
    places = (ROOT, ROOT / "graphs", ROOT / "lab")
    paths = [*map(str, places), *filter(None, sys.path)]
    own = {"PYTHONPATH": os.pathsep.join(paths), "IPYTHONDIR": str(folder / ".ipython")}
    return kept | ONE_THREAD | own


def tidied(notebook: NotebookNode) -> NotebookNode:
    """Without what differs from run to run: what is written piece by piece becomes one output."""
    notebook.metadata = from_dict(METADATA)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.metadata = NotebookNode()
            cell.outputs = joined(cell.outputs)
    return notebook


def joined(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Outputs with neighbouring pieces of one stream put together."""
    whole: list[NotebookNode] = []
    for output in outputs:
        last = whole[-1] if whole else None
        both_streams = last is not None and {output.output_type, last.output_type} == {"stream"}
        if last is not None and both_streams and output.name == last.name:
            last.text += output.text
        else:
            whole.append(output)
    return whole


def differences(kept: NotebookNode, built: NotebookNode) -> list[str]:
    """Where the texts of two notebooks differ, as lines of a diff."""
    return [*unified_diff(lines(kept), lines(built), "kept", "built", lineterm="")]


def lines(notebook: NotebookNode) -> list[str]:
    """Every source and every text that a notebook shows; pictures by their kind alone."""
    told: list[str] = []
    for cell in notebook.cells:
        told += [f"# {cell.id} ({cell.cell_type})", *cell.source.splitlines()]
        for output in cell.get("outputs", ()):
            told += [f"# {output.output_type}", *text_of(output).splitlines()]
    return told


def text_of(output: NotebookNode) -> str:
    """What an output shows in words."""
    if output.output_type == "stream":
        return f"{output.name}: {output.text}"
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    data: dict[str, Any] = output.data
    shown = [data[kind] for kind in sorted(data) if kind.startswith("text/")]
    return "\n".join([*sorted(data), *shown])


if __name__ == "__main__":
    main()
