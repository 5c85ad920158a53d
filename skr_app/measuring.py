"""What the commands that measure share: options, what they open, asking, judging, printing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from skr_core.engines.engine import Engine

from skr_app.limits import in_time
from skr_app.opening import make_model, through
from skr_app.output import console, escape, messages, print_json, print_table, progress
from skr_app.report.folder import RunFolder
from skr_app.report.tables import Result, capital, in_words, shown
from skr_core.budget import Price, price_of, read_prices
from skr_core.errors import InputError, ModelError
from skr_core.flow import arun
from skr_core.questions import Question, read_questions
from skr_core.registry import registered
from skr_learn.evaluation.asking import Answers, System, ask_all
from skr_learn.evaluation.measuring import Judged, judge_all

if TYPE_CHECKING:
    from skr_core.ports import EntailmentModel, LanguageModel
    from skr_core.types import Reference
    from skr_learn.metrics.statistics import Interval
    from skr_learn.reply_cache import ReplyCache

OutOption = Annotated[
    Path | None,
    typer.Option("--out", help="Folder of the run: the same command again goes on in it."),
]
EntailmentOption = Annotated[
    str | None,
    typer.Option(
        "--entailment",
        help="Judges key-facts and self-consistency: `lexical` (a baseline), `nli:NAME` (a "
        "cross-encoder, name or folder), `true:NAME` (a T5 that says 1 or 0, such as the papers' "
        "google/t5_xxl_true_nli_mixture) or `judge:MODEL`.",
    ),
]


@dataclass(frozen=True)
class Judging:
    """What answers are judged with."""

    entailment: EntailmentModel | None = None
    price: Price | None = None


def load_questions(
    path: Path,
    dataset: str | None,
    *,
    limit: int | None,
    skip_bad: bool,
) -> list[Question]:
    """Read questions in whatever form."""
    if dataset is None:
        return read_questions(path, limit=limit, skip_bad=skip_bad)
    read: list[Question] = registered("questions", dataset)(path, limit=limit, skip_bad=skip_bad)
    return read


def make_judging(
    entailment: str | None,
    prices: Path | None,
    model: LanguageModel,
    base_url: str | None,
    cache: ReplyCache | None = None,
) -> Judging:
    """What the options name."""
    return Judging(
        None if entailment is None else make_entailment(entailment, base_url, cache),
        None if prices is None else price_of(read_prices(prices), model.name),
    )


def make_entailment(
    entailment: str, base_url: str | None, cache: ReplyCache | None = None
) -> EntailmentModel:
    """Make the entailment model that an option names.

    Raises:
        InputError: It names none.
    """
    kind, _, name = entailment.partition(":")
    if kind == "lexical" and not name:
        from skr_app.extractive import LexicalEntailment

        return LexicalEntailment()
    if kind == "nli" and name:
        from skr_core.models.cross_encoder import CrossEncoderEntailment

        return CrossEncoderEntailment(name)
    if kind == "true" and name:
        made: EntailmentModel = registered("entailment", kind)(name)
        return made
    if kind == "judge" and name:
        from skr_core.reflectors import JudgeEntailment

        return JudgeEntailment(through(cache, make_model(name, base_url)))
    raise InputError(
        f"no entailment model is {entailment!r}: give lexical, nli:NAME, true:NAME or judge:MODEL"
    )


async def ask_and_judge(
    systems: Sequence[System],
    questions: Sequence[Question],
    folder: RunFolder,
    judging: Judging,
    concurrency: int,
    *,
    may_fail: bool = False,
    engine: Engine | None = None,
    make: Callable[[], Mapping[str, System]] | None = None,
) -> tuple[dict[str, Answers], dict[str, list[Judged]]]:
    """Ask every system every question, going on where an earlier run stopped; judge the answers.

    Args:
        systems: What is asked, one after the other.
        questions: What they are asked.
        folder: Holds what was answered before, and gets what is answered now.
        judging: What answers are judged with.
        concurrency: Questions under way at a time.
        may_fail: Go on where a system after the first answers nothing at all, as a model may in
            one way of asking.
        engine: Where the questions are asked.
        make: As in `ask_all`.

    Raises:
        ModelError: A system answered nothing at all.
    """
    from skr_learn.evaluation.remembering import RememberingEntailment

    answers: dict[str, Answers] = {}
    judged: dict[str, list[Judged]] = {}
    for system in systems:
        label = system.name.replace("_", " ")
        with progress(f"Asking ({label})") as advance:
            asked = await arun(
                ask_all(
                    in_time(system),
                    questions,
                    folder.answers,
                    concurrency=concurrency,
                    on_progress=advance,
                    engine=engine,
                    make=make,
                )
            )
        if asked.n_failed == len(questions) and not (may_fail and answers):
            raise ModelError(f"every question failed ({label}); the last: {asked.last_failure}")
        if asked.n_failed:
            messages.print(
                f"[yellow]{asked.n_failed} questions failed ({escape(label)})[/yellow]; run it "
                f"again to ask them again. The last: {escape(asked.last_failure)}"
            )
        answers[system.name] = asked
        if judging.entailment is None:
            judged[system.name] = await arun(judge_all(asked, price=judging.price))
            continue
        with progress(f"Judging ({label})") as advance:
            remembering = RememberingEntailment(judging.entailment, folder.judgements, advance)
            judged[system.name] = await arun(
                judge_all(asked, entailment=remembering, price=judging.price)
            )
    return answers, judged


def show_result(
    result: Result,
    out: Path | None,
    *,
    json: bool,
    more: Mapping[str, Any],
    labels: Mapping[str, str] | None = None,
) -> None:
    """Print a result for people, or as JSON together with what else belongs to it.

    Args:
        result: The result.
        out: Where it was written.
        json: Print JSON.
        more: What goes out in the JSON besides.
        labels: Names of measures for people, where they differ.
    """
    if json:
        print_json({**more, "result": result})
        return
    settings = ", ".join(
        f"{in_words(name)} {value}" if value.isdecimal() else value
        for name, value in result.settings.items()
        if value
    )
    measures = result.measures
    headings = ["", *((labels or {}).get(each, each) for each in measures), "n", "n_failed"]
    rows = []
    for row in result.rows:
        n, n_failed = (
            max((getattr(cell, count) for cell in row.cells.values()), default=0)
            for count in ("n", "n_failed")
        )
        cells = (_of(row.cells.get(measure), n) for measure in measures)
        rows.append([row.name, *cells, str(n), str(n_failed)])
    print_table(headings, rows, title=f"{capital(result.title)} {settings}")
    for each in result.comparisons:
        plotted = [name for name in result.plotted if name in each.cells]
        for name in plotted[:1]:
            difference = shown(each.cells[name], signed=True)
            console.print(escape(f"{each.name} − {each.against}: {name} {difference}, paired"))
    for note in result.notes:
        console.print(f"[dim]{escape(note)}[/dim]")
    if out is not None:
        files = ("result.json", "result.md", "result.png")  # the last needs the extra `plots`
        written = ", ".join(name for name in files if (out / name).is_file())
        console.print(f"Written to {escape(str(out))}: {written}")


def _of(cell: Interval | None, n: int) -> str:
    """A figure, and its own n where it is not that of its row."""
    return f"{shown(cell)}, n {cell.n}" if cell and 0 < cell.n < n else shown(cell)


def collect_references(corpus: Path, *, skip_bad: bool) -> list[Reference]:
    """The passages of a corpus file, as ingestion cuts them."""
    from skr_store.ingestion import ingest

    collected = _Collected()
    ingest([corpus], collected, skip_bad=skip_bad)
    return list(collected.references.values())


def digest_of(references: Sequence[Reference]) -> str:
    """A few digits that tell one corpus from another."""
    joined = "".join(sorted(reference.id for reference in references))
    return hashlib.blake2b(joined.encode(), digest_size=4).hexdigest()


class _Collected:
    """A store that only collects."""

    name = "collected"

    def __init__(self) -> None:
        self.references: dict[str, Reference] = {}

    def add(self, references: Sequence[Reference]) -> int:
        before = len(self.references)
        self.references |= {reference.id: reference for reference in references}
        return len(self.references) - before

    async def aadd(self, references: Sequence[Reference]) -> int:
        return self.add(references)

    def retrieve(self, query: str) -> Sequence[Reference]:
        return ()

    async def aretrieve(self, query: str) -> Sequence[Reference]:
        return ()
