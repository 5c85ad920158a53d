"""The start of the ``skr`` command: without its extra, one line says how to install it."""

from __future__ import annotations

import sys

from skr_core.errors import MissingDependency, extra


def main() -> None:
    """Run the command."""
    try:
        with extra("cli"):
            from skr_app.main import main as run
    except MissingDependency as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
    except KeyboardInterrupt:  # Ctrl-C while it is still being imported
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
