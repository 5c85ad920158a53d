"""Where the ``skr-lab`` command begins."""

from __future__ import annotations

from skr_app.main import run
from skr_lab.commands import make_app


def main() -> None:
    """Run the command."""
    run(make_app)


if __name__ == "__main__":
    main()
