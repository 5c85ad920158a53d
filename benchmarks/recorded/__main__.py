"""The experiments over recorded data, by name.

Each prints its tables as Markdown, line by line. The data is found in the folder SKR_DATA, else in
../shared/data beside the repository; without it an experiment is left out, in words, with exit code
3.

Usage: python -m benchmarks.recorded NAME [OPTIONS]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from benchmarks.rows import LEFT_OUT, LeftOut

EXPERIMENTS = ("routing", "ladder", "embedders", "recall")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run an experiment, with its own options.

    Args:
        arguments: Of the command; those of this process where None.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.recorded", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("name", metavar="NAME", choices=EXPERIMENTS, help=", ".join(EXPERIMENTS))
    parser.add_argument(
        "options", nargs=argparse.REMAINDER, metavar="OPTIONS", help="of the experiment"
    )
    given = parser.parse_args(arguments)
    experiment = import_module(f"benchmarks.recorded.{given.name}")
    own = argparse.ArgumentParser(
        prog=f"{parser.prog} {given.name}", description=experiment.__doc__.splitlines()[0]
    )
    experiment.add_options(own)
    try:
        experiment.run(own.parse_args(given.options))
    except LeftOut as error:
        print(f"{given.name} is left out: {error}", file=sys.stderr)
        return LEFT_OUT
    return 0


if __name__ == "__main__":
    sys.exit(main())
