"""The version, which stands in several files: written into all of them, or compared with a tag.

Usage: python scripts/versions.py 0.2.0            writes it
       python scripts/versions.py --check v0.2.0   fails unless all files say what the tag says
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACES = (
    "pyproject.toml",
    "lab/pyproject.toml",
    "packaging/langchain-skr/pyproject.toml",
    "packaging/llama-index-query-engines-skr/pyproject.toml",
    "CITATION.cff",
)
"""The files that hold the version, or bring skr-rag in it."""
VERSION = re.compile(
    r'^(?:version(?: = "|: )|dependencies = \["skr-rag\[[\w,]+\]==)([\w.]+)', re.MULTILINE
)


def found() -> Iterator[tuple[str, str]]:
    """Each place's file, and the version that stands there."""
    for name in PLACES:
        text = (ROOT / name).read_text(encoding="utf-8")
        yield from ((name, match[1]) for match in VERSION.finditer(text))


def write(version: str) -> None:
    """Write a version into each place."""
    for path in (ROOT / name for name in PLACES):
        text = path.read_text(encoding="utf-8")
        new = VERSION.sub(lambda match: match[0].removesuffix(match[1]) + version, text)
        path.write_text(new, encoding="utf-8")


def main(arguments: Sequence[str]) -> None:
    match list(arguments):
        case ["--check", tag]:
            other = {name: version for name, version in found() if f"v{version}" != tag}
            if other:
                sys.exit(f"the tag is {tag}, and these say otherwise: {other}")
        case [version] if re.fullmatch(r"\d+\.\d+\.\d+\w*", version):
            write(version)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
