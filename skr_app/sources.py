"""The documents that an answer cites: where each passage stands, and what it says."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.style import Style
from rich.text import Text

from skr_core.cleaning import cleaned
from skr_core.references.citations import by_document, document_of, place_of, quotes_of
from skr_core.types import Answer

EXCERPT = 160
"""The characters of a passage that are shown where none of its sentences supports the answer."""

_ADDRESS = re.compile(r"https?://[^\s\x00-\x1f\x7f]{1,2000}", re.ASCII)


def sources_of(answer: Answer) -> list[dict[str, Any]]:
    """The documents that an answer cites, as plain values.

    Returns:
        For each document its name, and its passages in the order of their markers: the ``marker``,
        the ``reference_id``, the ``place`` in the document (its heading and page, where they are
        known) and the ``quotes``, the sentences that support the answer.
    """
    markers = {each.id: number for number, each in enumerate(answer.references, start=1)}
    quotes = quotes_of(answer)
    return [
        {
            "document": document,
            "passages": [
                {
                    "marker": markers[each.id],
                    "reference_id": each.id,
                    "place": place_of(each),
                    "quotes": quotes.get(each.id, ()),
                }
                for each in passages
            ],
        }
        for document, passages in groupby(by_document(answer.cited_references), document_of)
    ]


def print_sources(console: Console, answer: Answer) -> None:
    """Print the documents that an answer cites, with a link to each where the terminal has links.

    Args:
        console: The console to print to.
        answer: The answer.
    """
    texts = {each.id: each.text for each in answer.references}
    for source in sources_of(answer):
        document, passages = source["document"], source["passages"]
        has_name = any(each["place"] != document for each in passages)
        if has_name and document:
            shown = Text(_near(document), Style(bold=True, link=_address(document)))
            console.print(shown, soft_wrap=True)
        for each in passages:
            named = f"[{each['marker']}] {cleaned(each['place'])}".rstrip()
            print_indented(console, Text(named, "" if has_name else "bold"), 1)
            quotes = [f'"{_on_a_line(quote)}"' for quote in each["quotes"]]
            for said in quotes or [_beginning(texts[each["reference_id"]])]:
                print_indented(console, Text(said, "dim"), 5)


def print_indented(console: Console, text: Text, by: int) -> None:
    """Print a text that is folded within its indentation, or in a pipe on one line.

    Args:
        console: The console to print to.
        text: The text.
        by: The number of blanks before each line.
    """
    if console.is_terminal:
        console.print(Padding(text, (0, 0, 0, by), expand=False))
    else:
        console.print(Text(" " * by).append_text(text), soft_wrap=True)


def _beginning(text: str) -> str:
    return f"{_on_a_line(text[:EXCERPT])}{' …' if len(text) > EXCERPT else ''}"


def _on_a_line(text: str) -> str:
    return " ".join(cleaned(text).split())


def _near(document: str) -> str:
    """A file as it is found from here; anything else as it is."""
    path = Path(document)
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        document = str(path.relative_to(Path.cwd()))
    return cleaned(document)


def _address(document: str) -> str | None:
    """The address of a document that a terminal can open; None where it has none."""
    if _ADDRESS.fullmatch(document):
        return document
    path = Path(document)
    try:
        return path.absolute().as_uri() if path.is_file() else None
    except (OSError, ValueError):  # a name that no file can have
        return None
