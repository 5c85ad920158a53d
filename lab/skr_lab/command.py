"""``skr-lab``: run an experiment, list them, report runs, and make key-facts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from pydantic.fields import FieldInfo

from skr_core.bounds import Bounds, bounded
from skr_core.errors import InputError, ModelError
from skr_core.files import AppendOnlyFile, make_folder, replace_file
from skr_core.flow import arun
from skr_core.questions import Question
from skr_core.texts import encodable
from skr_lab.experiment import Asking, Bench, Experiment, read_values
from skr_lab.experiments import EXPERIMENTS
from skr_lab.key_facts import (
    HEADER,
    WorkedSteps,
    accept,
    freeze,
    make_key_facts,
    read_review,
    read_worked_steps,
    review_block,
)
from skr_lab.opening import (
    ExtractiveModel,
    console,
    escape,
    messages,
    print_json,
    progress,
    read_section,
    report_page,
    show_result,
)

app = typer.Typer(
    name="skr-lab",
    help="The experiments of the papers, on your data and your model.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
key_facts = typer.Typer(
    help="Key-facts (RaLLM §3): make them with your model, review them, freeze them.",
    no_args_is_help=True,
)
app.add_typer(key_facts, name="key-facts")

SettingsOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FIELD=VALUE", help="The value of a field; may be repeated."),
]
OutOption = Annotated[
    Path | None,
    typer.Option("--out", help="The folder of the run: the same command again goes on in it."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]


@app.command("run")
def run_experiment(
    experiment: Annotated[
        str,
        typer.Argument(metavar="NAME|FILE.toml", help="An experiment, or a file of its fields."),
    ],
    settings: SettingsOption = None,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Run an experiment: `skr-lab list` names them and their fields."""
    name, values = read_values(experiment, settings or [])
    found_type = _type_of(name)
    chosen = found_type.of(values)
    with ExitStack() as stack:
        chosen.limits(stack)
        bench = Bench(out, stack)
        found = asyncio.run(chosen.run(bench))
        bench.folder.write(found.result, found.judged)
    show_result(found.result, out, json=json, more=found.more)


@app.command("list")
def list_experiments(
    name: Annotated[
        str | None, typer.Argument(help="An experiment whose fields are shown.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the experiments, what each reproduces, and the fields of each."""
    chosen = EXPERIMENTS if name is None else {name: _type_of(name)}
    if json:
        print_json({each.name: _described(each) for each in chosen.values()})
        return
    if name is None:
        for each in chosen.values():
            console.print(f"{each.name:<26}{escape(each.reproduces)}", soft_wrap=True)
        console.print("Fields:  [bold]skr-lab list NAME[/bold]", style="dim")
        return
    described = _described(chosen[name])
    console.print(f"{escape(described['about'])}\n{escape(described['reproduces'])}\n")
    for field, each in described["fields"].items():
        default = "needed" if each["needed"] else each["default"]
        console.print(f"[bold]{field}[/bold] ({escape(default)}): {escape(each['help'])}")


@app.command("report")
def report(
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="Folders that runs wrote with --out, and files of what evaluate, calibrate, "
            "replay and skr-lab run printed with --json.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="The page.")] = Path("report.html"),
    title: Annotated[str, typer.Option("--title", help="The title of the page.")] = "skr report",
    json: JsonOption = False,
) -> None:
    """Make one page of runs: what was found, curves, gains, cost and the worst questions."""
    sections = []
    with progress("Drawing") as advance:
        for run in runs:
            sections.append(read_section(run))
            advance(len(sections), len(runs))
    page = report_page(sections, title)
    try:
        make_folder(out.parent)
        replace_file(out, encodable(page).encode())
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error}") from error
    if json:
        found = [
            {"run": str(run), "title": each.title, "findings": each.findings}
            for run, each in zip(runs, sections, strict=True)
        ]
        print_json({"out": str(out), "title": title, "runs": found})
        return
    noun = "run" if len(runs) == 1 else "runs"
    console.print(f"{escape(str(out))}: {len(runs)} {noun}, {len(page) // 1024:,} KB")


class MakingKeyFacts(Asking):
    """The making of key-facts: reasoning steps, then the facts in them; two calls a question."""

    name: ClassVar[str] = "key-facts make"
    reproduces: ClassVar[str] = "RaLLM §3"

    demonstrations: Path | None = None
    """JSON Lines with question, answer, reasoning and perhaps contexts, shown before each."""
    concurrency: int = 4
    """Questions under way at a time."""

    async def make(
        self, wanted: Sequence[Question], worked: Sequence[WorkedSteps], file: AppendOnlyFile
    ) -> list[str]:
        """Make them side by side; each is in the file as soon as it is made.

        Returns:
            The failures, in words.
        """
        slots, done, failures = asyncio.Semaphore(self.concurrency), count(1), list[str]()
        with progress("Making key-facts") as advance:

            async def one(question: Question) -> None:
                async with slots:
                    try:
                        making = make_key_facts(self.language_model, question, worked)
                        made = await arun(bounded(making, Bounds.within(self.deadline)))
                    except ModelError as error:
                        failures.append(" ".join(str(error).split()))
                    else:
                        file.append(f"\n{encodable(review_block(made))}".encode())
                advance(next(done), len(wanted))

            await asyncio.gather(*(one(question) for question in wanted))
        return failures


@key_facts.command("make")
def make(
    settings: SettingsOption = None,
    out: Annotated[
        Path, typer.Option("--out", help="The review file; what is in it already is kept.")
    ] = Path("key-facts.md"),
    json: JsonOption = False,
) -> None:
    """Ask a model for the reasoning steps and the key-facts in them; write them for review.

    A model that refuses is a failure, which the same command asks again.
    """
    _, values = read_values(MakingKeyFacts.name, settings or [])
    making = MakingKeyFacts.of(values)
    with ExitStack() as stack:
        making.limits(stack)
        if isinstance(making.language_model, ExtractiveModel):
            raise InputError(
                "key-facts are written, and the extractive model only quotes: give --set model=..."
            )
        review = AppendOnlyFile(out)
        stack.callback(review.close)
        there = {each.id for each in read_review(out)}
        if not out.stat().st_size:
            review.append(HEADER.encode())
        wanted = [each for each in making.read() if " ".join(each.id.split()) not in there]
        worked = read_worked_steps(making.demonstrations) if making.demonstrations else []
        failures = asyncio.run(making.make(wanted, worked, review)) if wanted else []
    if wanted and len(failures) == len(wanted):
        raise ModelError(f"every question failed; the last: {failures[-1]}")
    if failures:
        messages.print(
            f"[yellow]{len(failures)} questions failed[/yellow]; run it again to ask them again. "
            f"The last: {escape(failures[-1])}"
        )
    made = len(wanted) - len(failures)
    if json:
        print_json({"out": str(out), "made": made, "kept": len(there), "failed": len(failures)})
        return
    file = escape(str(out))
    console.print(f"{made} questions added to {file}, {len(there)} were there already")
    console.print(
        f"Edit it, then:  [bold]skr-lab key-facts accept {file} --out frozen.jsonl[/bold]"
    )


@key_facts.command("accept")
def accept_review(
    review: Annotated[Path, typer.Argument(help="The review file, as you left it.")],
    out: Annotated[Path, typer.Option("--out", help="Written once.")] = Path("key-facts.jsonl"),
    json: JsonOption = False,
) -> None:
    """Check a review file (2 to 4 facts a question, none empty, none twice) and freeze it."""
    accepted = accept(review)
    freeze(out, accepted)
    facts = sum(len(each.facts) for each in accepted)
    if json:
        print_json({"out": str(out), "questions": len(accepted), "key_facts": facts})
        return
    console.print(f"{facts} key-facts of {len(accepted)} questions in {escape(str(out))}")


def _type_of(name: str) -> type[Experiment]:
    if name not in EXPERIMENTS:
        raise InputError(f"no experiment {name!r}: known are {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]


def _described(experiment: type[Experiment]) -> dict[str, Any]:
    """An experiment in words: what it is about, what it reproduces, its fields."""
    fields = {
        name: {
            "help": field.description or "",
            "needed": field.is_required(),
            "default": None if field.is_required() else _shown(field),
        }
        for name, field in experiment.model_fields.items()
    }
    about = (experiment.__doc__ or "").partition("\n")[0]
    return {"about": about, "reproduces": experiment.reproduces, "fields": fields}


def _shown(field: FieldInfo) -> str:
    """The default of a field, as ``--set`` takes it."""
    default = field.get_default(call_default_factory=True)
    if isinstance(default, tuple):
        return ",".join(map(str, default))
    return "none" if default is None else str(default)
