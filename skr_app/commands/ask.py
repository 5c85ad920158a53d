"""``skr ask``: one question, answered in front of your eyes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from skr_app import render
from skr_app.options import (
    DEFAULT_STORE,
    BaseUrlOption,
    EmbedderOption,
    JsonOption,
    MaxRoundsOption,
    ModelOption,
    Search,
    SearchOption,
    StoreOption,
    make_model,
    open_router,
    open_store,
)
from skr_app.output import console, messages, print_json
from skr_core.budget import Budget
from skr_core.prompts.templates import checked_question

Question = Annotated[str, typer.Argument(help="What you want to know.", show_default=False)]
Stream = Annotated[
    bool, typer.Option("--stream", help="Show queries, drafts and tokens as they come.")
]
RouterFolder = Annotated[
    Path | None,
    typer.Option("--router", help="Folder of a router, made by `skr calibrate`. Always, without."),
]
Abstain = Annotated[
    bool, typer.Option("--abstain", help="Rather say nothing than answer from too little.")
]


def ask(
    question: Question,
    store: StoreOption = DEFAULT_STORE,
    model: ModelOption = "extractive",
    base_url: BaseUrlOption = None,
    embedder: EmbedderOption = "hashing",
    search: SearchOption = Search.hybrid,
    max_rounds: MaxRoundsOption = 3,
    max_calls: Annotated[int | None, typer.Option(min=1, help="Calls of the model.")] = None,
    router: RouterFolder = None,
    abstain: Abstain = False,
    stream: Stream = False,
    json: JsonOption = False,
) -> None:
    """Ask a question; watch it retrieve, reflect and retrieve again until it suffices."""
    from langchain_skr.graph import create_skr_graph
    from skr_graphs import answer_of

    question = checked_question(question)
    language_model = make_model(model, base_url)
    with open_store(store, embedder, search) as opened:
        graph = create_skr_graph(
            language_model,
            opened,
            router=open_router(router, language_model, embedder, retriever=opened)
            if router
            else None,
            budget=Budget(max_rounds=max_rounds, max_calls=max_calls),
            abstain=abstain,
        )
        if stream:
            output = _stream(graph, question, json=json)
        else:
            with messages.status("Thinking"):
                output = graph.invoke({"question": question})
    if json:
        print_json(output)
    else:
        render.answer(console, answer_of(output), model, answered=stream)


def _stream(graph: Any, question: str, *, json: bool) -> Any:
    """Run the graph and show its events; on standard error when the result goes out as JSON."""
    from skr_graphs import SKRContext

    shown = messages if json else console
    output: Any = None
    eager = SKRContext(stream=True)
    modes = ["custom", "values"]
    for mode, event in graph.stream({"question": question}, context=eager, stream_mode=modes):
        if mode == "values":
            output = event
        else:
            render.event(shown, event)
    return output
