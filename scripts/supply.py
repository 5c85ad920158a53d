"""What the test environment is made of: its pins, and its licences.

Both are read off the metadata of what is installed, beginning with `skr-rag[dev]`, so that what
somebody has installed beside it counts for nothing.

Usage: python scripts/supply.py pins > constraints.txt
       python scripts/supply.py licences > docs/licences.md
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping, Sequence
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
PROJECT = "skr-rag"
PARTS = ("all", "local", "server", "ray", "dev")
"""Extras, each after those that it should not be charged with."""

PINS_HEAD = """\
# The test environment, package by package, for Python 3.11 on Linux: written by `make lock`.
# Unpinned, torch resolves to builds that bring several gigabytes of CUDA packages.
"""
LICENCES_HEAD = """\
# Licences

skr-rag is Apache-2.0. This is what the packages that it brings say of theirs, in the versions of
`constraints.txt`, by what brings them. Written by `make lock`.

`skr-rag[server]` is for `langgraph dev` alone. Two of its packages, `langgraph-api` and
`langgraph-runtime-inmem`, are under the Elastic License 2.0, which is no open-source licence: it
forbids, among other things, to offer them to others as a service. Nothing else needs them.
"""
TITLES = {
    "all": "`skr-rag`, `skr-rag[all]` and the extras in it",
    "local": "`skr-rag[local]`",
    "server": "`skr-rag[server]`",
    "ray": "`skr-rag[ray]`",
    "dev": "Development alone",
}
SPELLED = {
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache": "Apache-2.0",
    "apache 2.0 license": "Apache-2.0",
    "bsd license": "BSD",
    "3-clause bsd license": "BSD-3-Clause",
    "bsd 3-clause": "BSD-3-Clause",
    "new bsd": "BSD-3-Clause",
    "copyright © 2025, karen petrosyan.": "BSD-3-Clause",  # a text whose first line is no name
    "mit license": "MIT",
    "the mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
    "isc license (iscl)": "ISC",
    "the unlicense (unlicense)": "Unlicense",
    "gnu lesser general public license v3 (lgplv3)": "LGPL-3.0",
}


def installed() -> dict[str, Distribution]:
    """The distributions of this environment, by name."""
    return {canonicalize_name(each.metadata["Name"]): each for each in distributions()}


def brought_by(requirement: str, there: Mapping[str, Distribution]) -> list[str]:
    """The names of what a requirement brings, itself included, installed or not."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras: dict[str, set[str]] = {}
    waiting = [Requirement(requirement)]
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        new = {"", *wanted.extras} - extras.get(name, set())
        if not new:
            continue
        extras[name] = extras.get(name, set()) | new
        needs: Sequence[str] = ()
        if name == PROJECT:  # what is installed of it may be of an earlier pyproject.toml
            needs = [each for one in new for each in requirements(declared, one)]
        elif name in there:
            needs = there[name].requires or ()
        waiting += [
            each
            for each in map(Requirement, needs)
            if each.marker is None or any(each.marker.evaluate({"extra": one}) for one in new)
        ]
    return sorted(extras.keys() - {PROJECT})


def requirements(declared: Mapping[str, Any], extra: str) -> Sequence[str]:
    """What a project asks for, or one of its extras."""
    found: Sequence[str] = (
        declared["optional-dependencies"][extra] if extra else declared["dependencies"]
    )
    return found


def pins() -> str:
    """Each package of the test environment with its version."""
    there = installed()
    # A build's local part, such as the +cpu of torch's, is its index's own.
    lines = [
        f"{name}=={Version(there[name].version).public}\n"
        for name in brought_by(f"{PROJECT}[dev]", there)
    ]
    return PINS_HEAD + "".join(lines)


def licences() -> str:
    """A page: what each package says of its licence, by what brings it."""
    there = installed()
    told: set[str] = set()
    page = [LICENCES_HEAD]
    for part in PARTS:
        names = brought_by(f"{PROJECT}[{part}]", there)
        page += [f"\n## {TITLES[part]}\n\n| licence | packages |\n|---|---|\n"]
        by_licence: dict[str, list[str]] = {}
        for name in names:
            if name not in told:
                by_licence.setdefault(licence_of(there[name]), []).append(name)
        for licence, several in sorted(by_licence.items()):
            page.append(f"| {licence} | {', '.join(several)} |\n")
        told.update(names)
    return "".join(page)


def licence_of(package: Distribution) -> str:
    """As its metadata say: an expression, else classifiers, else one line, else its licence's."""
    about = package.metadata
    if said := about.get("License-Expression"):
        return str(said)
    classifiers = [
        each.rpartition(" :: ")[2]
        for each in about.get_all("Classifier") or ()
        if each.startswith("License :: ") and not each.endswith("OSI Approved")
    ]
    named = about.get("License") or package.read_text("licenses/LICENSE") or "not said"
    line, *_ = str(named).strip().splitlines()
    said_so = classifiers or [line]
    return " or ".join(sorted({SPELLED.get(each.lower(), each) for each in said_so}))


def main(arguments: Sequence[str]) -> None:
    pages = {"pins": pins, "licences": licences}
    if len(arguments) != 1 or arguments[0] not in pages:
        sys.exit(__doc__)
    try:
        sys.stdout.write(pages[arguments[0]]())
    except KeyError as error:
        sys.exit(f"{error.args[0]} is not installed: run  make typecheck, which brings it")


if __name__ == "__main__":
    main(sys.argv[1:])
