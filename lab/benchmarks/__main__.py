"""All benchmarks, one part after the other, each in a process of its own.

What was measured goes into lab/docs/benchmarks.json and from there into lab/docs/benchmarks.md; a
part that is measured again takes the place of what was there, and one that fails leaves nothing.
With --quick sizes are small and nothing is written; with --json what was measured is printed as
JSON, a part on each line, in place of its table. Parts that need recorded data find it in the
folder SKR_DATA, else in ../shared/data beside the repository; a part that cannot be measured here
is left out, in words. Ends with 1 when one of them failed.

Usage, in the folder lab: python -m benchmarks [--quick] [--json] [NAME ...]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

from benchmarks import page
from benchmarks.rows import LAB, LEFT_OUT, LeftOut, describe, load, telling

PARTS = (
    *("store", "deciding", "calibration"),
    *("loop", "start", "memory", "weight", "served", "cost", "kinds", "multihop", "agents"),
)
MEASURED = LAB / "docs" / "benchmarks.json"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="NAME", help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="small sizes; nothing is written")
    parser.add_argument("--json", action="store_true", help="rows as JSON in place of tables")
    parser.add_argument("--in-this-process", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := sorted({*options.parts} - {*PARTS}):
        parser.error(f"no part {unknown[0]!r}: known are {', '.join(PARTS)}")
    if options.in_this_process:
        return tell(options.parts[0], quick=options.quick)
    known = json.loads(MEASURED.read_text()) if MEASURED.is_file() else {"parts": {}}
    known["parts"] = {name: part for name, part in known["parts"].items() if name in PARTS}
    failed = False
    for name in options.parts or PARTS:
        part, code = measure(name, quick=options.quick)
        failed |= code not in (0, LEFT_OUT)
        known["parts"].pop(name, None)
        if part is not None:
            known["parts"][name] = part
            told = json.dumps({name: part}) if options.json else page.section(name, part)
            print(told, flush=True)
        if not options.quick:
            write(known)
    return int(failed)


def measure(name: str, *, quick: bool) -> tuple[dict[str, Any] | None, int]:
    """A part's rows, or None; and the exit code of its process."""
    busy, begin = load(), time.perf_counter()
    command = [sys.executable, "-m", "benchmarks", "--in-this-process", name]
    with subprocess.Popen(
        [*command, *(["--quick"] if quick else [])], cwd=LAB, stdout=subprocess.PIPE, text=True
    ) as part:
        assert part.stdout is not None
        rows = [json.loads(line) for line in telling(name, part.stdout) if line.startswith("{")]
    print(f"{name}: {time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)
    if part.returncode:
        return None, part.returncode
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return {"measured": now, "load": busy, "rows": rows}, 0


def tell(name: str, *, quick: bool) -> int:
    """Measure a part here; a row is a line of JSON."""
    try:
        for row in import_module(f"benchmarks.{name}").rows(quick):
            print(json.dumps(vars(row)), flush=True)
    except LeftOut as error:
        print(f"{name} is left out: {error}", file=sys.stderr)
        return LEFT_OUT
    return 0


def write(known: dict[str, Any]) -> None:
    """Both files, parts in their order."""
    known["machine"] = describe()
    known["parts"] = {name: known["parts"][name] for name in PARTS if name in known["parts"]}
    MEASURED.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    MEASURED.with_suffix(".md").write_text(page.page(known), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
