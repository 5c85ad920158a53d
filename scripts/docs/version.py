"""The version that the pages describe: at their foot, and in a list where several are served.

The list is the theme's own, which asks the server for ``../versions.json``: it is left out unless
the variable ``SITE_VERSIONS`` is set, as it is where a release is served beside earlier ones.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


def on_config(config: Any) -> Any:
    """Called by MkDocs."""
    version = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["version"]
    config.copyright = f"{config.site_name} {version}, Apache-2.0"
    if os.environ.get("SITE_VERSIONS"):
        config.extra["version"] = {"provider": "mike"}
    return config
