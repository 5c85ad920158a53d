"""``skr ask``: one question, answered in front of your eyes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from skr_app import render
from skr_app.configured import make_settings
from skr_app.limits import DeadlineOption, MaxSpendOption, PricesOption
from skr_app.opening import make_model, open_likelihoods, open_store, store_embedder
from skr_app.options import (
    DEFAULT_STORE,
    BaseUrlOption,
    DecomposeOption,
    DemonstrationsOption,
    EmbedderOption,
    ForceOption,
    JsonOption,
    LikelihoodsOption,
    MaxRoundsOption,
    ModelOption,
    SearchMode,
    SearchOption,
    StoreOption,
    TemplatesOption,
    WhenInsufficient,
    WhenInsufficientOption,
)
from skr_app.output import console, messages, print_json
from skr_app.reflecting import ReflectorOption, open_reflector
from skr_core.budget import tokens_by_length
from skr_core.prompts.asking import checked_question

QuestionArgument = Annotated[str, typer.Argument(help="What you want to know.", show_default=False)]
Stream = Annotated[
    bool, typer.Option("--stream", help="Show queries, drafts and tokens as they come.")
]
RouterFolder = Annotated[
    Path | None,
    typer.Option("--router", help="Folder of a router, made by `skr calibrate`. Always, without."),
]


def ask(
    question: QuestionArgument,
    store: StoreOption = DEFAULT_STORE,
    model: ModelOption = "extractive",
    base_url: BaseUrlOption = None,
    deadline: DeadlineOption = None,
    max_spend: MaxSpendOption = None,
    prices: PricesOption = None,
    embedder: EmbedderOption = "hashing",
    search: SearchOption = SearchMode.hybrid,
    max_rounds: MaxRoundsOption = 3,
    max_calls: Annotated[int | None, typer.Option(min=1, help="Calls of the model.")] = None,
    router: RouterFolder = None,
    force: ForceOption = False,
    templates: TemplatesOption = None,
    demonstrations: DemonstrationsOption = None,
    when_insufficient: WhenInsufficientOption = WhenInsufficient.best_draft,
    reflector: ReflectorOption = "refusal",
    likelihoods: LikelihoodsOption = False,
    decompose: DecomposeOption = False,
    stream: Stream = False,
    json: JsonOption = False,
) -> None:
    """Ask a question; watch it retrieve, reflect and retrieve again until it suffices."""
    from skr_graphs import answer_of, create_self_completion_graph, without_messages

    question = checked_question(question)
    language_model = make_model(model, base_url, tokens_by_length)
    with open_store(store, store_embedder(embedder), search.value) as opened:
        settings = make_settings(
            language_model,
            opened,
            router=router,
            force=force,
            reflector=open_reflector(
                reflector, language_model, opened, base_url=base_url, force=force
            ),
            likelihoods=open_likelihoods(model, base_url) if likelihoods else None,
            max_rounds=max_rounds,
            max_calls=max_calls,
            when_insufficient=when_insufficient.value,
            decompose=decompose,
            templates=templates,
            demonstrations=demonstrations,
        )
        graph = create_self_completion_graph(**vars(settings)).compile(name="skr")
        if stream:
            output = _stream(graph, question, json=json)
        else:
            with messages.status("Thinking"):
                output = graph.invoke({"question": question})
    if json:
        print_json(without_messages(output))
    else:
        render.answer(console, answer_of(output), model, answered=stream)


def _stream(graph: Any, question: str, *, json: bool) -> Any:
    """Run the graph and show its events; on standard error when the result goes out as JSON."""
    from skr_graphs import SKRContext

    shown = messages if json else console
    output: Any = None
    answering = False
    eager = SKRContext(stream=True)
    modes = ["custom", "values"]
    for mode, event in graph.stream({"question": question}, context=eager, stream_mode=modes):
        if mode == "values":
            output = event
            continue
        kind = event["type"]
        # The last tokens may come behind what the loop says of them, which is told at the end too.
        if not answering or kind in ("token", "retract", "answer"):
            render.event(shown, event)
        answering = kind == "token" or (answering and kind not in ("retract", "answer"))
    return output
