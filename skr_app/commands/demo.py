"""``skr demo``: both halves in a minute, over an invented country, without key or network."""

from __future__ import annotations

import asyncio
import shlex
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skr_app import render
from skr_app.demo_corpus import QUESTION, ROUTED, demo_store
from skr_app.drawing import curve_in_characters
from skr_app.options import JsonOption
from skr_app.output import console, escape, print_json, print_table, progress
from skr_core.errors import InputError
from skr_core.files import replace_file

if TYPE_CHECKING:
    from skr_app.sample import Sample
    from skr_core.types import Answer
    from skr_learn.calibration import Calibration
    from skr_learn.self_knowledge import SelfKnowledge
    from skr_store.chroma_store import ChromaStore

Out = Annotated[
    Path,
    typer.Option(
        "--out",
        help="Folder for the demonstration's files: passages, questions, router and curve. "
        "Files of the same names are replaced.",
    ),
]
NEXT = """\
[bold]The same, step by step[/bold], with the files that are now in {out}
  export SKR_MODEL=extractive:{out}/memory.jsonl SKR_STORE={out}/store
  skr ingest {out}/corpus.jsonl
  skr collect {out}/questions.jsonl --out records.jsonl
  skr calibrate records.jsonl --out router
  skr ask "{question}" --router router

[bold]Then yours[/bold], after  unset SKR_MODEL SKR_STORE
  skr ingest FILES                                    your documents
  skr ask "..." --model openai:gpt-4.1-mini           your model, or --base-url of your server
  skr collect questions.jsonl --model ...             some hundred questions with right answers
  skr calibrate self-knowledge.jsonl --out router     does routing pay for you?
  skr ask "..." --model ... --router router"""


def demo(out: Out = Path("skr-demo"), json: JsonOption = False) -> None:
    """Show the loop and the routing in a minute, over an invented country that ships.

    A question that takes two searches; what a model without weights knows of
    200 questions; whether routing pays, and choosing between two answers; and
    two questions that are routed differently.
    """
    from skr_app.sample import load_sample
    from skr_app.sample.reading import write_sample
    from skr_graphs import answer_of, without_messages

    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file: give --out a folder")
    sample = load_sample()
    write_sample(out)
    with progress("Ingesting") as advance:
        store = demo_store(advance)
    with store:
        output = _two_hops(sample, store)
        if not json:
            _heading("A question that takes two searches")
            console.print(f"[bold]Question[/bold]: {QUESTION}\n")
            render.answer(console, answer_of(output), "extractive")
            _heading("What does the model know by itself?")
        records = _collect(sample, store, out)
        if not json:
            _print_records(sample, records)
            _heading("Does it pay to retrieve only where it does not know?")
        found = _calibrate(sample, records, out)
        picture = _draw(found, out)
        if not json:
            console.print(curve_in_characters(found.curve), highlight=False)
            console.print(f"\n{escape(found.curve.sentence)}")
            for each in (found.arbitration, found.climbing):
                if each is not None:
                    console.print(f"\n{escape(each.sentence)}")
            if picture:
                console.print(f"\nThe curve is drawn in {escape(str(picture))}.")
            _heading("Two questions, routed")
        answers = _routed(sample, store, found)
    if json:
        print_json(
            {
                "two_hops": without_messages(output),
                "accuracy_by_kind": _by_kind(sample, records),
                "sentence": found.curve.sentence,
                "curve": found.curve,
                "arbiter": found.arbitration.sentence if found.arbitration else None,
                "ladder": found.climbing.sentence if found.climbing else None,
                "routed": answers,
                "out": str(out),
            }
        )
        return
    for answer in answers:
        console.print(f"[bold]Question[/bold]: {escape(answer.question)}")
        action = render.DECIDED[answer.decision.action]
        console.print(f"[bold]{action}[/bold]: {escape(answer.decision.reason)}")
        console.print(escape(answer.text))
        if answer.verdict:
            console.print(f"[dim]Served: {escape(answer.verdict.reason)}[/dim]")
        console.print()
    folder = escape(shlex.quote(str(out)))
    console.print(NEXT.format(out=folder, question=QUESTION), soft_wrap=True)


def _two_hops(sample: Sample, store: ChromaStore) -> Any:
    from langchain_skr import create_skr_graph

    return create_skr_graph(sample.model(), store).invoke({"question": QUESTION})


def _collect(sample: Sample, store: ChromaStore, out: Path) -> list[SelfKnowledge]:
    """Each question by each action, of the system that is served; always anew."""
    from skr_core import Settings
    from skr_graphs import GraphAnswerer
    from skr_learn.self_knowledge import acollect

    with TemporaryDirectory() as folder, progress("Collecting") as advance:
        file = Path(folder) / "records.jsonl"
        records = asyncio.run(
            acollect(
                sample.questions,
                GraphAnswerer(Settings.of(sample.model(), store)),
                out=file,
                corpus="sample",
                on_progress=lambda told: advance(told.done, told.total),
            )
        )
        replace_file(out / "self-knowledge.jsonl", file.read_bytes())
    return records


def _calibrate(sample: Sample, records: list[SelfKnowledge], out: Path) -> Calibration:
    """The router that looks at question and answer, an arbiter where it pays; both are kept."""
    from skr_learn.calibration import calibrate

    with progress("Calibrating") as advance:
        found = calibrate(
            records,
            model=sample.model(),
            routers=["combined"],
            on_progress=advance,
        )
    found.save(out / "router")
    return found


def _draw(found: Calibration, out: Path) -> Path | None:
    """The curve as a picture, where there is something to draw it with."""
    if find_spec("matplotlib") is None:
        return None
    path = out / "curve.png"
    found.curve.plot(path)
    return path


def _routed(sample: Sample, store: ChromaStore, found: Calibration) -> list[Answer]:
    from skr_core import Settings
    from skr_graphs import GraphAnswerer

    answerer = GraphAnswerer(
        Settings.of(sample.model(), store, router=found.router, arbiter=found.arbiter)
    )
    return [answerer.answer(question) for question in ROUTED]


def _by_kind(sample: Sample, records: list[SelfKnowledge]) -> dict[str, dict[str, float]]:
    """Accuracy of each action on each kind of question."""
    from skr_app.sample.reading import KINDS

    kinds = {each.question: each.types[0] for each in sample.questions}
    return {
        kind: {
            action: fmean(
                [
                    record.outcomes[action].score
                    for record in records
                    if kinds[record.question] == kind
                ]
            )
            for action in ("direct", "single", "loop")
        }
        for kind in KINDS
    }


def _print_records(sample: Sample, records: list[SelfKnowledge]) -> None:
    whole = {
        action: fmean([record.outcomes[action].score for record in records])
        for action in ("direct", "single", "loop")
    }
    rows = [*_by_kind(sample, records).items(), ("all 200", whole)]
    print_table(
        ["questions whose answer is", "from memory", "one search", "the loop"],
        [[kind, *(f"{each:.2f}" for each in right.values())] for kind, right in rows],
    )


def _heading(text: str) -> None:
    console.print()
    console.rule(f"[bold]{text}[/bold]", align="left")
    console.print()
