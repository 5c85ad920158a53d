"""The tutorials, which are notebooks with their outputs, as pages of the site.

Each ``tutorials/NAME.ipynb`` becomes a page, with its pictures beside it, in the part of the
navigation that begins with ``tutorials/README.md``. Nothing is run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from mkdocs.structure.files import File, Files
from nbconvert import MarkdownExporter

FOLDER = "tutorials"
ON_GITHUB = "https://github.com/skr-rag/skr-rag/blob/main/docs/"


def on_config(config: Any) -> Any:
    """Called by MkDocs: puts the pages into the navigation, behind the one that lists them."""
    found = sorted(Path(config.docs_dir, FOLDER).glob("*.ipynb"))
    pages = [f"{FOLDER}/{notebook.stem}.md" for notebook in found]
    for part in config.nav:
        (inside,) = part.values()
        if f"{FOLDER}/README.md" in inside:
            inside += pages
    return config


def on_files(files: Files, *, config: Any) -> Files:
    """Called by MkDocs: puts a page and its pictures in the place of each notebook."""
    for file in [file for file in files if file.src_uri.endswith(".ipynb")]:
        files.remove(file)
        name = Path(file.src_uri).with_suffix("")
        notebook = nbformat.reads(file.content_string, as_version=4)
        text, found = MarkdownExporter().from_notebook_node(
            notebook, resources={"output_files_dir": f"{name.name}_files"}
        )
        whole = f"{text}\n\n[This page as a notebook]({ON_GITHUB}{file.src_uri})\n"
        files.append(File.generated(config, f"{name.as_posix()}.md", content=whole))
        for picture, content in found["outputs"].items():
            place = f"{FOLDER}/{picture}"
            files.append(File.generated(config, place, content=content))
    return files
