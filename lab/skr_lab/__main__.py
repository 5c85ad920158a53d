"""Where the ``skr-lab`` command begins."""

from __future__ import annotations

from skr_lab.command import app
from skr_lab.opening import run_command


def main() -> None:
    """Run the command."""
    run_command(lambda: app)


if __name__ == "__main__":
    main()
