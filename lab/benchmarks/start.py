"""Starting beside the frameworks.

The import of a plug-in stands beside that of what its user imports of the framework anyway, in
seconds of the processor; both take turns in fresh processes, and the smallest is taken, for
whatever else the machine does only adds. All of it is compiled already, as what pip installs is.
`skr ask` takes seconds of the processor too, from its start to the first byte of the answer of the
extractive model from a store of 100 passages; its peer is a script of the same parts, which
searches the same passages and shows the first that it finds.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.rows import ROOT, Row

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
"""What is imported of each plug-in, and of its framework anyway."""
NAMES = {"langchain": "LangGraph and LangChain's bases", "llamaindex": "llama_index.core"}
PEER = """
import sqlite3
import sys
from typing import TypedDict

import numpy
import tantivy
import typer
from langgraph.graph import END, START, StateGraph
from rich.console import Console


class State(TypedDict):
    question: str
    answer: str


def search(state: State) -> dict[str, str]:
    index = tantivy.Index.open(sys.argv[1])
    query = index.parse_query(state["question"].strip("?"), ["text"])
    (_, first), *_ = index.searcher().search(query, 10).hits
    return {"answer": index.searcher().doc(first)["text"][0]}


def ask(folder: str, question: str) -> None:
    graph = StateGraph(State).add_node("search", search)
    graph = graph.add_edge(START, "search").add_edge("search", END).compile()
    Console().print(graph.invoke({"question": question})["answer"])


typer.run(ask)
"""


def rows(quick: bool) -> Iterator[Row]:
    """Imports, and the command."""
    turns = 1 if quick else 10
    for framework, (plug_in, beside) in FRAMEWORKS.items():
        seconds: dict[str, list[float]] = {plug_in: [], beside: []}
        for _ in range(turns + 1):
            for code, each in seconds.items():
                each.append(spent(code))
        ours, theirs = (min(each[1:]) for each in seconds.values())
        what = f"`import {plug_in.split()[1]}`"
        yield Row(what, ours, "s", NAMES[framework], theirs)
    yield from command(turns)


def command(turns: int) -> Iterator[Row]:
    """`skr ask` to its first byte."""
    import tantivy

    from benchmarks.store import passages
    from skr_core.types import Reference
    from skr_store import Store

    with tempfile.TemporaryDirectory() as folder:
        with Store.open(folder) as store:
            store.add([Reference.of(text) for text in passages(100)])
        Path(folder, "words").mkdir()
        schema = tantivy.SchemaBuilder().add_text_field("text", stored=True).build()
        writer = (index := tantivy.Index(schema, path=f"{folder}/words")).writer()
        for text in passages(100):
            writer.add_document(tantivy.Document(text=text))
        writer.commit()
        index.reload()
        ask = ["-m", "skr_app", "ask", "What is word7?", "--store", folder]
        ask += ["--model", "extractive"]
        ours, theirs = [], []
        for _ in range(turns + 1):
            ours.append(first_byte(*ask))
            theirs.append(first_byte("-c", PEER, f"{folder}/words", "What is word7?"))
    told = "a script of the same parts"
    yield Row("`skr ask` to its first byte", min(ours[1:]), "s", told, min(theirs[1:]))


def compiling() -> dict[str, str]:
    """Variables with which the first run, which does not count, leaves what it has compiled."""
    return {name: kept for name, kept in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def first_byte(*arguments: str) -> float:
    """Seconds of the processor until a command has written."""
    import psutil

    with subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=compiling(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        if not process.stdout.read(1):
            raise RuntimeError(f"nothing was written by {arguments}")
        used = psutil.Process(process.pid).cpu_times()
        process.stdout.read()
    if process.returncode:
        raise RuntimeError(f"{arguments} ended with {process.returncode}")
    return float(used.user + used.system)


def spent(code: str) -> float:
    """Seconds of the processor that a program takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=compiling(), check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
