"""The page of the benchmarks: a section for each part, from what was measured."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.rows import FEWEST_SIZES, Row, growth

HEAD = """\
# Benchmarks

Written by `make bench`; do not edit it. Each figure stands beside that of a peer, which did the
same in the same run, in turn with ours, after a turn that warms up; medians are compared. Of
seconds and megabytes less is better, and a ratio is ours over the peer's. Seconds depend on the
machine and on what else it does, ratios much less: they are what counts. In the folder `lab`,
`python -m benchmarks NAME` measures one part again, and `python -m benchmarks --quick` takes a
first look at all of them, at small sizes. The parts are listed in
[benchmarks/README.md](../benchmarks/README.md).
"""
RATIOS = ("calls_ratio", "usd_ratio")


def page(measured: Mapping[str, Any]) -> str:
    """Markdown.

    Args:
        measured: The machine, and the parts by name with their rows.
    """
    machine = "\n".join(f"- {name}: {told}" for name, told in measured["machine"].items())
    sections = [section(name, part) for name, part in measured["parts"].items()]
    return "\n".join([HEAD, machine, *sections])


def section(name: str, part: Mapping[str, Any]) -> str:
    """What a module says of itself, and its rows."""
    source = Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    title, _, text = (ast.get_docstring(ast.parse(source)) or "").partition("\n\n")
    title = " ".join(title.split()).rstrip(".")
    measured = f"Measured {part['measured']}, at a load of {part['load']:.1f}."
    lines = ["", f"## {title}", "", *filter(None, [text.strip()]), "", measured, ""]
    return "\n".join([*lines, *table(part["rows"]), ""])


def table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The rows, and how fast what has several sizes grows; or what is spent on answers."""
    if "answers" in rows[0]:
        yield from answers(rows)
        return
    if "way" in rows[0]:
        yield from ways(rows)
        return
    if "system" in rows[0]:
        yield from costs(rows)
        return
    if "agent" in rows[0]:
        yield from agents(rows)
        return
    each = [Row(**row) for row in rows]
    yield "| | size | ours | peer's | peer | ratio |"
    yield "|---|---:|---:|---:|---|---:|"
    for row in each:
        size = f"{row.size:,} {row.of}".strip() if row.size else ""
        figures = f"{_figure(row.ours)} {row.unit} | {_figure(row.theirs)} {row.unit}"
        yield f"| {row.what} | {size} | {figures} | {row.peer} | **{row.ratio:.2f}** |"
    grown = list(_growths(each))
    if grown:
        yield from ["", "| grows with the size to the power of | ours | peer's | peer |"]
        yield from ["|---|---:|---:|---|", *grown]


def _growths(rows: Sequence[Row]) -> Iterator[str]:
    for what, peer in dict.fromkeys((row.what, row.peer) for row in rows):
        some = [row for row in rows if (row.what, row.peer) == (what, peer) and row.size]
        sizes = [float(row.size or 0) for row in some]
        if len(sizes) >= FEWEST_SIZES:
            ours = growth(sizes, [row.ours for row in some])
            theirs = growth(sizes, [row.theirs for row in some])
            yield f"| {what} | {ours:.2f} | {theirs:.2f} | {peer} |"


def ways(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Calls and tokens of each way for each question; struck where it answers wrongly."""
    asked = list(rows[0]["costs"])
    yield f"| calls · prompt tokens | {' | '.join(asked)} |"
    yield f"|---|{'---:|' * len(asked)}"
    for row in rows:
        yield f"| {row['way']} | {' | '.join(_cells(row['costs']))} |"


def answers(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What each way answers rightly and spends, in all and for each question."""
    asked = list(rows[0]["answers"])
    yield f"| calls · tokens | right | calls | tokens | {' | '.join(asked)} |"
    yield f"|---|{'---:|' * (len(asked) + 3)}"
    for row in rows:
        each = row["answers"].values()
        right, calls, tokens = (sum(c[key] for c in each) for key in ("right", "calls", "tokens"))
        told = f"{right} of {len(each)} | {calls} | {tokens:,}"
        yield f"| {row['way']} | {told} | {' | '.join(_cells(row['answers']))} |"


def _cells(costs: Mapping[str, Mapping[str, Any]]) -> list[str]:
    told = [(f"{c['calls']} · {c['tokens']:,}", c["right"]) for c in costs.values()]
    return [cell if right else f"~~{cell}~~" for cell, right in told]


def costs(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What systems cost, and ours beside each."""
    yield (
        "| set | system | right | searches | calls | tokens sent | received | USD for 1,000 | "
        "right, ours less this | calls, ours / this | money, ours / this |"
    )
    yield "|---|---|---:|---:|---:|---:|---:|---:|---|---|---|"
    for row in rows:
        spent = f"{row['sent']:,.0f} | {row['received']:,.0f} | {row['usd']:.2f}"
        gain = "{:+.2f} ({:+.2f} to {:+.2f})".format(*row["gain"])
        ratios = ["{:.2f} ({:.2f} to {:.2f})".format(*row[key]) for key in RATIOS]
        asked = f"{row['searches']:.2f} | {row['calls']:.2f}"
        yield (
            f"| {row['dataset']}, n {row['n']} | {row['system']} | {row['right']:.2f} | "
            f"{asked} | {spent} | {gain} | {' | '.join(ratios)} |"
        )


def agents(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What agents answer rightly and cost, each with its interval."""
    yield f"| agent, n {rows[0]['n']} | right | less the first | calls | prompt tokens |"
    yield "|---|---|---|---|---|"
    for row in rows:
        cells = [
            pattern.format(*row[key])
            for key, pattern in (
                ("right", "{:.3f} ({:.3f} to {:.3f})"),
                ("gain", "{:+.3f} ({:+.3f} to {:+.3f})"),
                ("calls", "{:.2f} ({:.2f} to {:.2f})"),
                ("tokens", "{:,.0f} ({:,.0f} to {:,.0f})"),
            )
        ]
        yield f"| {row['agent']} | {' | '.join(cells)} |"


def _figure(value: float) -> str:
    """Three digits that count.

    Example:
        >>> _figure(0.012345), _figure(12345.6)
        ('0.0123', '12,346')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
