"""``skr demo``: a small corpus and a question that needs two of its documents."""

from __future__ import annotations

from typing import Any

from skr_app import render
from skr_app.demo_corpus import QUESTION, demo_store
from skr_app.opening import make_model
from skr_app.options import JsonOption
from skr_app.output import console, print_json, progress


def demo(json: JsonOption = False) -> None:
    """Ingest a small corpus that ships with the package and ask it a two-hop question."""
    from langchain_skr import create_skr_graph
    from skr_graphs import answer_of
    from skr_graphs.state import without_messages

    with progress("Ingesting") as advance:
        store = demo_store(advance)
    with store:
        graph = create_skr_graph(make_model("extractive", None), store)
        output: Any = graph.invoke({"question": QUESTION})
    if json:
        print_json(without_messages(output))
        return
    console.print(f"[bold]Question[/bold]: {QUESTION}\n")
    render.answer(console, answer_of(output), "extractive")
    console.print("\nNow yours:  [bold]skr ingest FILES[/bold]  and  [bold]skr ask QUESTION[/bold]")
