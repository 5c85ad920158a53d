"""``skr ask``: one question, answered in front of your eyes."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from skr_app.choosing import check_model
from skr_app.models import Models
from skr_app.opening import open_retriever, open_settings
from skr_app.options import AskOptions, Json, Question
from skr_app.output import console, messages, print_json, show_answer, show_event
from skr_app.sources import sources_of
from skr_app.spreading import spread
from skr_core.budget import tokens_by_length
from skr_core.prompts.asking import checked_question


@spread
def ask(
    question: Question,
    options: AskOptions,
    stream: Annotated[
        bool, typer.Option("--stream", help="Show searches, drafts and the answer as they come.")
    ] = False,
    json: Json = False,
) -> None:
    """Answer a question from your documents, searching again until enough was found."""
    from skr_graphs import answer_of, create_self_completion_graph, without_messages

    question = checked_question(question)
    check_model(options)
    models = Models.of(options, tokens_by_length)
    with open_retriever(options) as retriever:
        settings = open_settings(
            options,
            models,
            retriever,
            router=options.router,
            force=options.force,
            max_calls=options.max_calls,
            abstain_below=options.abstain_below,
        )
        graph = create_self_completion_graph(**vars(settings)).compile(name="skr")
        if stream:
            output = _stream(graph, question, json=json)
        else:
            with messages.status("Thinking"):
                output = graph.invoke({"question": question})
    if json:
        print_json(without_messages(output) | {"sources": sources_of(answer_of(output))})
    else:
        show_answer(console, answer_of(output), options.model, streamed=stream)


def _stream(graph: Any, question: str, *, json: bool) -> Any:
    """Run the graph and show its events; on standard error when the result goes out as JSON."""
    from skr_graphs import SKRContext

    shown = messages if json else console
    output: Any = None
    answering = False
    modes = ["custom", "values"]
    events = graph.stream(
        {"question": question}, context=SKRContext(stream=True), stream_mode=modes
    )
    for mode, event in events:
        if mode == "values":
            output = event
            continue
        kind = event["type"]
        # The last tokens may come after other events of the loop, which are shown at the end too.
        if not answering or kind in ("token", "retract", "answer"):
            show_event(shown, event)
        answering = kind == "token" or (answering and kind not in ("retract", "answer"))
    return output
