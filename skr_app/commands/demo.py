"""``skr demo``: both halves in a minute, over an invented country, without key or network."""

from __future__ import annotations

import asyncio
import shlex
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from skr_app.country import (
    KINDS,
    QUESTION,
    ROUTED,
    UNANSWERABLE,
    Country,
    Kind,
    country_store,
    load_country,
    write_country,
)
from skr_app.options import Json
from skr_app.output import (
    STOP_REASONS,
    console,
    counted,
    escape,
    print_json,
    print_table,
    progress,
)
from skr_app.sources import print_indented, print_sources
from skr_core.cleaning import cleaned
from skr_core.errors import InputError
from skr_core.files import replace_file
from skr_core.types import ACTIONS

if TYPE_CHECKING:
    from skr_core.types import Action, Answer
    from skr_graphs import GraphAnswerer
    from skr_learn import Calibration, Record, Records, RoutingCurve

WIDTH, HEIGHT = 56, 8
"""The characters that the curve takes."""
ABOUT = (
    "[bold]Varnland[/bold] does not exist: {passages} passages and {questions} questions about an "
    "invented country come with skr-rag. The model that answers is a stand-in without weights: it "
    "quotes a sentence of what it is shown, or of what it remembers, some of which is out of date. "
    "So nothing is downloaded, and nothing costs money."
)
IN_WORDS: dict[Kind, str] = {
    "known": "in its memory",
    "outdated": "in its memory, out of date",
    "unknown": "in one passage",
    "two hops": "in two passages together",
    "unanswerable": "nowhere: right is to say so",
}
"""Where the answer to a question of each kind is, for people."""
ALWAYS: dict[Action, str] = {
    "direct": "always from memory",
    "single": "always one search",
    "loop": "always the loop",
}
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
  skr calibrate self-knowledge.jsonl                  does it pay to search for some of them only?
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
    """Show in a minute what searching again and searching only where needed bring.

    Over an invented country, with a model without weights: a question that
    takes two searches, one that must be refused, and 200 that are answered
    from memory, after one search and in the loop.
    """
    from skr_core import Settings
    from skr_graphs import GraphAnswerer

    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file: give --out a folder")
    country = load_country()
    write_country(out)
    with country_store() as store:
        system = GraphAnswerer(Settings.of(country.model(), store))
        once, loop = (system.answer(QUESTION, action) for action in ("single", "loop"))
        refused = system.answer(UNANSWERABLE, "loop")
        if not json:
            passages, questions = len(country.corpus), len(country.questions)
            console.print(ABOUT.format(passages=passages, questions=questions))
            _print_loop(once, loop, refused)
        records = collect_records(country, system, out)
        if not json:
            _print_records(country, records)
        found = calibrate_records(records, out)
        picture = _draw(found, out)
        if not json:
            _print_verdict(found, picture)
        routed = GraphAnswerer(system.settings.but(router=found.router))
        answers = [routed.answer(question) for question in ROUTED]
    if json:
        print_json(
            {
                "single": once,
                "two_hops": loop,
                "unanswerable": refused,
                "accuracy_by_kind": _by_kind(country, records),
                "verdict": found.summary.verdict,
                "sentences": found.summary.sentences,
                "curve": found.curve,
                "routed": answers,
                "out": str(out),
            }
        )
        return
    _print_routed(answers)
    folder = escape(shlex.quote(str(out)))
    console.print(NEXT.format(out=folder, question=QUESTION), soft_wrap=True)


def _print_loop(once: Answer, loop: Answer, refused: Answer) -> None:
    """The question that takes two searches, by one and by two, and the one that is refused."""
    _heading("1. One search finds half of the answer; the loop searches on")
    console.print(f"[bold]{QUESTION}[/bold]\n")
    console.print("[cyan]One search[/cyan]")
    _said(once.text)
    console.print("[cyan]The loop[/cyan]")
    for number, each in enumerate(loop.rounds, start=1):
        suffices = each.reflection is not None and each.reflection.sufficient
        end = "these suffice" if suffices else "not enough yet"
        queries = " · ".join(map(escape, each.queries))
        console.print(f"  search {number}: {queries}")
        console.print(f"    {len(each.found)} new passages, {end}")
    _said(loop.text)
    print_sources(console, loop)
    _heading("2. What no passage says is refused")
    console.print(f"[bold]{UNANSWERABLE}[/bold]\n")
    console.print("[cyan]The loop[/cyan]")
    _said(refused.text)
    console.print(f"  [dim]{_how(refused)}[/dim]")


def collect_records(country: Country, system: GraphAnswerer, out: Path) -> Records:
    """Answer each question by each action, always anew.

    Args:
        country: The country, whose questions are asked.
        system: The system that answers them.
        out: The folder that ``self-knowledge.jsonl`` is written to.
    """
    from skr_learn import acollect

    with TemporaryDirectory() as folder, progress("Collecting") as advance:
        file = Path(folder) / "records.jsonl"
        records = asyncio.run(
            acollect(
                country.questions,
                system,
                out=file,
                corpus="sample",
                on_progress=lambda each: advance(each.done, each.total),
            )
        )
        replace_file(out / "self-knowledge.jsonl", file.read_bytes())
    return records


def calibrate_records(records: Sequence[Record], out: Path) -> Calibration:
    """Find what serves the records best.

    Args:
        records: The records.
        out: The folder that ``router.skr`` is written to.
    """
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


def _by_kind(country: Country, records: Records) -> dict[Kind, dict[str, float]]:
    """Accuracy of each action on each kind of question."""
    kinds = {each.question: each.types[0] for each in country.questions}
    return {
        kind: _right([each for each in records if kinds[each.question] == kind]) for kind in KINDS
    }


def _right(records: Sequence[Record]) -> dict[str, float]:
    return {
        action: fmean([record.outcomes[action].score for record in records]) for action in ACTIONS
    }


def _print_records(country: Country, records: Records) -> None:
    _heading("3. When is searching worth it? Right answers of each kind of question")
    counts = Counter(each.types[0] for each in country.questions)
    rows = [
        (IN_WORDS[kind], counts[kind], right) for kind, right in _by_kind(country, records).items()
    ]
    rows.append(("all", len(records), _right(records)))
    print_table(
        ["where the answer is", "questions", "from memory", "one search", "loop"],
        [
            [kind, str(number), *(f"{each:.0%}" for each in right.values())]
            for kind, number, right in rows
        ],
    )


def _print_verdict(found: Calibration, picture: Path | None) -> None:
    _heading("4. Search only where it helps")
    summary = found.summary
    if summary.state == "pays":
        n, before = summary.n, summary.constants[summary.baseline]
        console.print(
            f"[bold]Routed: {round(n * summary.promised.accuracy.mean)} of {n} right "
            f"({ALWAYS[summary.baseline]}: {round(n * before.accuracy.mean)}), for "
            f"{summary.saved:.0%} fewer tokens.[/bold]"
        )
        low, high = round(n * summary.gain.low), round(n * summary.gain.high)
        console.print(f"[dim]On other questions of the kind likely {low:+d} to {high:+d}.[/dim]\n")
    else:
        console.print(f"[bold]{escape(summary.verdict)}[/bold]\n")
    console.print(curve_in_characters(found.curve), highlight=False)
    if picture:
        console.print(f"The curve is drawn in {escape(str(picture))}.")


def _print_routed(answers: Sequence[Answer]) -> None:
    _heading("5. So each question gets what it needs")
    for answer in answers:
        console.print(f"[bold]{escape(answer.question)}[/bold]")
        _said(answer.text)
        calls = counted(answer.total_usage.calls, "call")
        console.print(f"  [dim]{_how(answer)} · {calls} of the model[/dim]\n")


def _said(text: str) -> None:
    print_indented(console, Text(cleaned(text)), 2)


def _how(answer: Answer) -> str:
    number = len(answer.rounds)
    searches = f"{number} search{'' if number == 1 else 'es'}"
    return f"{searches}, {STOP_REASONS[answer.stop_reason]}"


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
