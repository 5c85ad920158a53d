"""``skr demo``: both halves in a minute, over an invented country, without key or network."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skr_app.country import (
    KINDS,
    QUESTION,
    ROUTED,
    Country,
    country_store,
    load_country,
    write_country,
)
from skr_app.options import Json
from skr_app.output import (
    DECIDED,
    console,
    escape,
    print_json,
    print_table,
    progress,
    show_answer,
)
from skr_core.errors import InputError
from skr_core.files import replace_file

if TYPE_CHECKING:
    from skr_core.types import Answer
    from skr_learn import Calibration, Records, RoutingCurve
    from skr_store import Store

WIDTH, HEIGHT = 56, 12
"""The characters that the curve takes."""
NEXT = """\
[bold]The same, step by step[/bold], with the files that are now in {out}
  export SKR_MODEL=extractive:{out}/memory.jsonl SKR_STORE={out}/store
  skr ingest {out}/corpus.jsonl
  skr collect {out}/questions.jsonl --out records.jsonl
  skr calibrate records.jsonl --out router.skr
  skr ask "{question}" --router router.skr

[bold]Then yours[/bold], after  unset SKR_MODEL SKR_STORE
  skr ingest FILES                                    your documents
  skr ask "..." --model openai:gpt-4.1-mini           your model, or --base-url of your server
  skr collect questions.jsonl --model ...             some hundred questions with right answers
  skr calibrate self-knowledge.jsonl                  does routing pay for you?
  skr ask "..." --model ... --router router.skr"""


def demo(
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            help="Folder for the demonstration's files: passages, questions, router and curve. "
            "Files of the same names are replaced.",
        ),
    ] = Path("skr-demo"),
    json: Json = False,
) -> None:
    """Show the loop and the routing in a minute, over an invented country that ships.

    A question that takes two searches; what a model without weights knows of
    200 questions; whether routing pays; and two questions that are routed
    differently.
    """
    from skr_graphs import answer_of, without_messages

    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file: give --out a folder")
    country = load_country()
    write_country(out)
    with progress("Ingesting") as advance:
        store = country_store(advance)
    with store:
        output = _two_hops(country, store)
        if not json:
            _heading("A question that takes two searches")
            console.print(f"[bold]Question[/bold]: {QUESTION}\n")
            show_answer(console, answer_of(output), "extractive")
            _heading("What does the model know by itself?")
        records = _collect(country, store, out)
        if not json:
            _print_records(country, records)
            _heading("Does it pay to retrieve only where it does not know?")
        found = _calibrate(records, out)
        picture = _draw(found, out)
        if not json:
            console.print(curve_in_characters(found.curve), highlight=False)
            for sentence in found.summary.sentences:
                console.print(f"\n{escape(sentence)}")
            if picture:
                console.print(f"\nThe curve is drawn in {escape(str(picture))}.")
            _heading("Two questions, routed")
        answers = _routed(country, store, found)
    if json:
        print_json(
            {
                "two_hops": without_messages(output),
                "accuracy_by_kind": _by_kind(country, records),
                "verdict": found.summary.verdict,
                "sentences": found.summary.sentences,
                "curve": found.curve,
                "routed": answers,
                "out": str(out),
            }
        )
        return
    for answer in answers:
        console.print(f"[bold]Question[/bold]: {escape(answer.question)}")
        action = DECIDED[answer.decision.action]
        console.print(f"[bold]{action}[/bold]: {escape(answer.decision.reason)}")
        console.print(escape(answer.text))
        if answer.verdict:
            console.print(f"[dim]Served: {escape(answer.verdict.reason)}[/dim]")
        console.print()
    folder = escape(shlex.quote(str(out)))
    console.print(NEXT.format(out=folder, question=QUESTION), soft_wrap=True)


def _two_hops(country: Country, store: Store) -> Any:
    from langchain_skr import create_skr_graph

    return create_skr_graph(country.model(), store).invoke({"question": QUESTION})


def _collect(country: Country, store: Store, out: Path) -> Records:
    """Each question by each action, of the system that is served; always anew."""
    from skr_core import Settings
    from skr_graphs import GraphAnswerer
    from skr_learn import acollect

    with TemporaryDirectory() as folder, progress("Collecting") as advance:
        file = Path(folder) / "records.jsonl"
        records = asyncio.run(
            acollect(
                country.questions,
                GraphAnswerer(Settings.of(country.model(), store)),
                out=file,
                corpus="sample",
                on_progress=lambda each: advance(each.done, each.total),
            )
        )
        replace_file(out / "self-knowledge.jsonl", file.read_bytes())
    return records


def _calibrate(records: Records, out: Path) -> Calibration:
    """What serves the records best, which is kept."""
    from skr_learn import calibrate

    with progress("Calibrating") as advance:
        found = calibrate(records, on_progress=advance)
    found.save(out / "router.skr")
    return found


def _draw(found: Calibration, out: Path) -> Path | None:
    """The curve as a picture, where there is something to draw it with."""
    if find_spec("matplotlib") is None:
        return None
    path = out / "curve.png"
    found.curve.plot(path)
    return path


def _routed(country: Country, store: Store, found: Calibration) -> list[Answer]:
    from skr_core import Settings
    from skr_graphs import GraphAnswerer

    answerer = GraphAnswerer(Settings.of(country.model(), store, router=found.router))
    return [answerer.answer(question) for question in ROUTED]


def _by_kind(country: Country, records: Records) -> dict[str, dict[str, float]]:
    """Accuracy of each action on each kind of question."""
    kinds = {each.question: each.types[0] for each in country.questions}
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


def _print_records(country: Country, records: Records) -> None:
    whole = {
        action: fmean([record.outcomes[action].score for record in records])
        for action in ("direct", "single", "loop")
    }
    rows = [*_by_kind(country, records).items(), ("all 200", whole)]
    print_table(
        ["questions whose answer is", "from memory", "one search", "the loop"],
        [[kind, *(f"{each:.2f}" for each in right.values())] for kind, right in rows],
    )


def _heading(text: str) -> None:
    console.print()
    console.rule(f"[bold]{text}[/bold]", align="left")
    console.print()


def curve_in_characters(curve: RoutingCurve) -> str:
    """Accuracy against cost: the router's curve, the constant policies, and what is chosen.

    Args:
        curve: The curve that calibration found.

    Returns:
        Lines of a chart with its axes and a legend below.
    """
    from skr_learn.curve import COST_LABELS

    constants = {
        action: (curve.constant_costs[action], each.mean)
        for action, each in curve.constants.items()
    }
    points = [*zip(curve.costs, curve.accuracy, strict=True), *constants.values()]
    grid = _Grid([cost for cost, _ in points], [accuracy for _, accuracy in points])
    for cost, accuracy in zip(curve.costs, curve.accuracy, strict=True):
        grid.put(cost, accuracy, "•")
    for action, (cost, accuracy) in constants.items():
        grid.put(cost, accuracy, action[0].upper())
    grid.put(curve.chosen_cost, curve.chosen.mean, "◆")
    named = "  ".join(f"{action[0].upper()} {action}" for action in constants)
    return "\n".join(
        [
            *grid.lines(COST_LABELS[curve.unit]),
            f"◆ chosen  • {curve.router}  {named}",
        ]
    )


class _Grid:
    """Characters at places given in costs and accuracies."""

    def __init__(self, costs: Sequence[float], accuracies: Sequence[float]) -> None:
        self._right = max(costs, default=0.0) or 1.0
        self._bottom, self._top = min(accuracies, default=0.0), max(accuracies, default=1.0)
        self._cells = [[" "] * WIDTH for _ in range(HEIGHT)]

    def put(self, cost: float, accuracy: float, mark: str) -> None:
        """Put a mark; what lies outside of the chart stands at its edge."""
        column = round(cost / self._right * (WIDTH - 1))
        height = (accuracy - self._bottom) / (self._top - self._bottom or 1.0)
        row = round((1 - height) * (HEIGHT - 1))
        self._cells[min(max(row, 0), HEIGHT - 1)][min(max(column, 0), WIDTH - 1)] = mark

    def lines(self, label: str) -> list[str]:
        """The chart, with accuracies to its left and costs below it."""
        edge = {0: f"{self._top:.2f}", HEIGHT - 1: f"{self._bottom:.2f}"}
        rows = [
            f"{edge.get(row, ''):>5} ┤{''.join(cells)}" for row, cells in enumerate(self._cells)
        ]
        end = f"{self._right:.2f} {label}"
        return [*rows, f"{'':>6}└{'─' * WIDTH}", f"{'':>7}0{end:>{WIDTH - 1}}"]
