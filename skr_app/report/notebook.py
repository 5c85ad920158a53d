"""The report as a Jupyter notebook: the verdict, the pictures, the tables, and a cell to go on in.

A notebook is JSON, so that writing one needs no further package.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import orjson

from skr_app.report.blocks import Block, Section, Table
from skr_app.report.tables import capital, in_words
from skr_core.cleaning import cleaned

_SPECIAL = re.compile(r"[\\`*_\[\]<>#|&~$!]")


def report_notebook(section: Section, code: str) -> bytes:
    """A section as a notebook of version 4.5.

    Args:
        section: The section.
        code: Python that reads again what the report was made of; the cell is not run.

    Raises:
        MissingDependency: matplotlib is not installed.

    Example:
        >>> found = Section("records.jsonl", "calibrate", "Does it pay?", ["98 of 100 right."])
        >>> [cell["cell_type"] for cell in orjson.loads(report_notebook(found, "1 + 1"))["cells"]]
        ['markdown', 'markdown', 'code']
    """
    verdict, *further = [*map(_text, section.findings), ""]
    head = [f"# {_text(section.title)}", f"{_text(section.kind)} · {_text(section.name)}"]
    first = [block for block in section.blocks if block.first]
    more = [block for block in section.blocks if not block.first]
    said = [*filter(None, further), *map(_text, section.notes)]
    judged = [
        f"- {_text(in_words(name))}: {_text(each)}" for name, each in section.settings.items()
    ]
    cells = [
        _markdown([*head, f"## {verdict}"] if verdict else head),
        *map(_of_block, first),
        *([_markdown(said)] if said else []),
        _markdown(["## What was judged on what", "\n".join(judged), "The next cell reads it."]),
        {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [],
         "source": code},
        *([_markdown(["## Details"])] if more else []),
        *map(_of_block, more),
    ]  # fmt: skip
    return orjson.dumps(
        {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {
                "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
                "language_info": {"name": "python"},
            },
            "cells": [{"id": f"cell-{place}", **cell} for place, cell in enumerate(cells)],
        },
        option=orjson.OPT_INDENT_2,
    )


def _of_block(block: Block) -> dict[str, Any]:
    parts, pictures = [f"### {_text(block.title)}"], {}
    for place, chart in enumerate(block.charts):
        name = f"{place}.png"
        pictures[name] = {"image/png": b64encode(chart.png).decode()}
        told = _text(chart.told or f"{block.title} {chart.title}")
        parts += [f"**{_text(capital(in_words(chart.title)))}**"] if chart.title else []
        parts.append(f"![{told}](attachment:{name})")
    parts += [_text(block.remark), *map(_of_table, block.tables)]
    return _markdown(list(filter(None, parts)), **({"attachments": pictures} if pictures else {}))


def _of_table(table: Table) -> str:
    rows = [table.headings, ["---", *["---:"] * (len(table.headings) - 1)], *table.rows]
    cells = [[cell if row is rows[1] else _text(cell) for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def _markdown(paragraphs: Sequence[str], **more: Any) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, **more, "source": "\n\n".join(paragraphs)}


def _text(text: object) -> str:
    """Somebody else's text on one line, with nothing in it that Markdown takes for its own."""
    return _SPECIAL.sub(r"\\\g<0>", " ".join(cleaned(str(text)).split()))
