"""The page of all commands, written from their help and from the types of what they print.

Usage: python -m scripts.commands
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from inspect import getdoc
from pathlib import Path
from typing import Any

import typer
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from skr_app.helping import PANELS, paragraphs, sections
from skr_app.main import app
from skr_app.printed import PRINTED

PAGE = Path(__file__).resolve().parents[1] / "docs" / "commands.md"
HEAD = """\
# All commands

What each command does, what its options are, and what it prints with `--json`. `make docs` writes
this page from the help; do not edit it.

**In a terminal** tables are folded to its width. **In a pipe** each row is one
line with tabs between its cells, and nothing is folded: `skr store ls | cut -f1` lists the names of
the documents. Progress and remarks go to standard error. **The exit code** is 0, 1 where a model, a
retriever or a check failed, and 2 where what was given cannot be used.

`skr --install-completion` lets your shell complete commands, options, stores and routers.
"""
_ATTRIBUTE = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
_NONE = re.compile(r"\bNone\b")
_SINGLE_BACKTICKS = re.compile(r"``([^`]+)``")


MANY = 3
"""The commands from which on an option that they share is told once, for all of them."""


def page() -> str:
    """The page, as it is kept."""
    contexts = dict(_contexts())
    told = {name: _options(context) for name, context in contexts.items()}
    users = Counter(record for records in told.values() for _, record in records)
    shared = {record for record, count in users.items() if count >= MANY}
    lines, schemas = [HEAD, "## Options that several commands have", ""], dict[str, Any]()
    lines += _groups([each for records in told.values() for each in records if each[1] in shared])
    for name, context in contexts.items():
        lines += [f"## skr {name}", "", *map(_prose, paragraphs(context.command.help)), ""]
        pieces = " ".join(context.command.collect_usage_pieces(context))
        lines += [f"`{context.info_name} {pieces}`", ""]
        lines += _groups([each for each in told[name] if each[1] not in shared])
        if names := [record[0].split()[0] for _, record in told[name] if record in shared]:
            lines += [f"And {', '.join(map(_code, names))}.", ""]
        if name in PRINTED:
            lines += _printed(PRINTED[name], schemas)
    lines += ["## The types in the JSON", ""]
    for name in sorted(schemas):
        lines += [f"### {name}", "", *_table(schemas[name], schemas[name]["description"]), ""]
    return "\n".join(lines).rstrip() + "\n"


Option = tuple[str, tuple[str, str]]
"""The group that an option stands in, its names, and its help."""


def _options(context: Any) -> list[Option]:
    return [
        (heading, record)
        for heading, records in sections(context)
        for record in records
        if record[0] != "--help"
    ]


def _groups(options: Iterable[Option]) -> Iterator[str]:
    """A table of options, in their groups."""
    rows = list(dict.fromkeys(options))
    if not rows:
        return
    yield from ("| | | |", "|---|---|---|")
    before = ""
    places = {name: place for place, name in enumerate(["Arguments", *PANELS])}
    for heading, (names, about) in sorted(rows, key=lambda each: places.get(each[0], len(places))):
        yield f"| {'' if heading == before else heading} | {_code(names)} | {_cell(about)} |"
        before = heading
    yield ""


def _contexts() -> Iterator[tuple[str, Any]]:
    """Each command that does something, by its name."""
    root = typer.main.get_command(app)
    with root.make_context("skr", [], resilient_parsing=True) as above:
        for name in root.list_commands(above):
            command = root.commands[name]
            inner = getattr(command, "commands", {})
            for each, within in inner.items() or [("", command)]:
                whole = f"{name} {each}".strip()
                yield whole, typer.Context(within, info_name=f"skr {whole}")


class Whole(GenerateJsonSchema):
    """Knows that a dataclass is printed with all of its fields, whatever defaults they have."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        return field["type"] == "dataclass-field" or super().field_is_required(field, total)


def _printed(kind: Any, schemas: dict[str, Any]) -> list[str]:
    """The keys of what a command prints; the types within are added to `schemas`."""
    schema = TypeAdapter(kind).json_schema(mode="serialization", schema_generator=Whole)
    inner = schema.pop("$defs", {})
    schemas |= inner
    if schema.get("type") == "array":
        return [f"**JSON**: {_type(schema)}", ""]
    bases = [each for each in getattr(kind, "__mro__", (kind,)) if each.__module__ != "builtins"]
    described = "\n".join(getdoc(each) or "" for each in (*bases, kind))
    return ["**JSON**", "", *_table(schema, described), ""]


def _table(schema: Mapping[str, Any], description: str) -> list[str]:
    meanings = {name: " ".join(text.split()) for name, text in _ATTRIBUTE.findall(description)}
    needed = schema.get("required", ())
    rows = ["| key | type | what it is |", "|---|---|---|"]
    for name, each in schema["properties"].items():
        kind = _type(each) + ("" if name in needed else ", may be missing")
        meaning = _NONE.sub("null", _cell(meanings.get(name, "")))
        rows.append(f"| `{name}` | {kind} | {meaning} |")
    return rows


def _type(schema: Mapping[str, Any]) -> str:
    """A JSON Schema in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(map(_type, schema["anyOf"]))
    if "enum" in schema:
        return " or ".join(f'"{each}"' for each in schema["enum"])
    match schema.get("type"):
        case "array":
            return f"list of {_type(schema['items'])}" if schema.get("items") else "list"
        case "object":
            values = schema.get("additionalProperties")
            return f"object of {_type(values)}" if isinstance(values, dict) else "object"
        case None:
            return "anything"
        case kind:
            return str(kind)


def _prose(text: str) -> str:
    return _SINGLE_BACKTICKS.sub(r"`\1`", text)


def _cell(text: str) -> str:
    return _prose(text).replace("|", "\\|").replace("<", "\\<")


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
