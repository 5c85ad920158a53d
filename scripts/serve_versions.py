"""Lay the site of a version beside those of earlier ones, and list them for the reader to choose.

``latest/`` is the newest, and where the root leads; ``versions.json`` is what the theme reads.

Usage: python scripts/serve_versions.py SITE PAGES VERSION
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

TO_LATEST = '<!doctype html><meta http-equiv="refresh" content="0; url=latest/">\n'


def serve(site: Path, pages: Path, version: str) -> None:
    """Copy a site into a folder of versions.

    Args:
        site: The site, as it was built.
        pages: The folder that is served.
        version: The version of the site, which is the newest from now on.
    """
    for name in (version, "latest"):
        shutil.rmtree(pages / name, ignore_errors=True)
        shutil.copytree(site, pages / name)
    listed = pages / "versions.json"
    known = json.loads(listed.read_text(encoding="utf-8")) if listed.exists() else []
    earlier = [each["version"] for each in known if each["version"] != version]
    rows = [{"version": each, "title": each, "aliases": []} for each in [version, *earlier]]
    rows[0]["aliases"] = ["latest"]
    listed.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    (pages / "index.html").write_text(TO_LATEST, encoding="utf-8")
    (pages / ".nojekyll").touch()


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    serve(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
