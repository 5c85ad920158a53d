"""``skr monitor``: what a router serves beside what was expected when it was calibrated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from json import JSONDecoder
from pathlib import Path
from typing import Annotated, Any

import typer

from skr_app.options import Json
from skr_app.output import console, escape, print_json
from skr_core.errors import DataError
from skr_core.files import read_whole
from skr_core.plain import to_plain

_FURTHER = re.compile(r"\S")


def monitor(
    log: Annotated[
        Path,
        typer.Argument(
            help="The answers that were given (also .gz): what `skr ask --json` printed, one after "
            "the other, each perhaps with `right`: true or false. Or runs.jsonl in the folder of "
            "`skr serve`, with the votes beside it.",
            show_default=False,
        ),
    ],
    router: Annotated[
        Path, typer.Option("--router", help="The file that `skr calibrate` made.")
    ] = Path("router.skr"),
    json: Json = False,
) -> None:
    """Compare the answers you give with what was expected at calibration.

    The exit code is 1 where something has surely changed.
    """
    from skr_learn import monitor as compare

    answers, right = served_in(log)
    found = compare(answers, router, right)
    if json:
        told = {"alarm": found.alarm, "verdict": found.verdict, "sentences": found.sentences}
        print_json({**told, **to_plain(found)})
    else:
        console.print(escape(str(found)), highlight=False, soft_wrap=True)
        console.print()
        for sentence in found.sentences[1:]:
            console.print(escape(sentence), highlight=False, soft_wrap=True)
    if found.alarm:
        raise typer.Exit(1)


def served_in(log: Path) -> tuple[list[Any], list[bool | None]]:
    """Read what was served, and what somebody says of each; None where nobody does.

    What a person wanted answered in one way was not routed, and is left out.

    Raises:
        InputError: There is no such file.
        DataError: It holds something else than JSON objects.
    """
    votes: dict[Any, Any] = {}
    beside = log.with_name("votes.jsonl")
    if log.name == "runs.jsonl" and beside.is_file():
        votes = {str(row.get("key")): row.get("right") for row in _objects(beside)}
    answers, right = [], []
    for row in _objects(log):
        output = row.get("output", row)
        if output is not row and row.get("action") is not None:
            continue
        answers.append(output)
        right.append(votes.get(str(row.get("key")), row.get("right")))
    return answers, right


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file, on a line each or on several."""
    text, decoder, place = read_whole(path).decode(errors="replace"), JSONDecoder(), 0
    while match := _FURTHER.search(text, place):
        place = match.start()
        try:
            row, place = decoder.raw_decode(text, place)
            if not isinstance(row, dict):
                raise ValueError("this is no object")
        except (ValueError, RecursionError) as error:
            line = text.count("\n", 0, place) + 1
            raise DataError(path, line, f"an output in JSON is wanted: {error}") from error
        yield row
