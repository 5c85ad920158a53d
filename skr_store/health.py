"""Whether an index can be trusted: its seal, and a search by another process.

A clean close seals the index with the checksums of the files that hold its vectors; the first
addition breaks the seal. A sealed index is as it was closed. One that is not sealed was left by a
process that was killed, and damage in it may end the process that searches it, because Chroma's
library does not check what it reads: another process tries it first.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import orjson

from skr_core.errors import extra
from skr_core.files import replace_file

SEAL_NAME = "index.seal"
REFERENCES = "references"
TRIED = 100
"""Vectors that are searched, spread over all."""
PAGE = 1_000
SECONDS = 900
_BLOCK = 1 << 20


def seal(folder: Path, index: Path, references: int) -> None:
    """Say that an index was closed cleanly.

    Args:
        folder: Of the store.
        index: The index, which nobody has open.
        references: How many the journal holds; so many are in the index.
    """
    said = {**_checksums(index), REFERENCES: references}
    replace_file(folder / SEAL_NAME, orjson.dumps(said))


def break_seal(folder: Path) -> None:
    """Say that an index is being written to."""
    (folder / SEAL_NAME).unlink(missing_ok=True)


def is_sealed(folder: Path, index: Path) -> bool | None:
    """Whether an index is as it was closed; None where it was not closed cleanly."""
    try:
        said = orjson.loads((folder / SEAL_NAME).read_bytes())
    except FileNotFoundError:
        return None
    except orjson.JSONDecodeError:
        return False
    if not isinstance(said, dict):
        return False
    said.pop(REFERENCES, None)  # which an earlier version has not said
    return bool(said == _checksums(index))


def sealed_references(folder: Path) -> int | None:
    """How many references a sealed index was closed with; None where nobody has said."""
    references = orjson.loads((folder / SEAL_NAME).read_bytes()).get(REFERENCES)
    return references if isinstance(references, int) else None


def can_be_searched(index: Path, collection: str) -> bool:
    """Have another process read every vector of an index and search for some of them.

    Whatever happens to that process, a segmentation fault too, is the answer no.
    """
    paths = os.pathsep.join(filter(None, sys.path))
    try:
        tried = subprocess.run(
            [sys.executable, "-m", __name__, str(index), collection],
            env={**os.environ, "PYTHONPATH": paths},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return tried.returncode == 0


def _checksums(index: Path) -> dict[str, list[int]]:
    """Size and checksum of each file of vectors and links; Chroma's database checks itself."""
    # An index without vectors has no such list, and Chroma fills its files anew at each opening.
    held = [path.parent for path in index.glob("*/index_metadata.pickle")]
    files = sorted(file for folder in held for file in folder.iterdir() if file.is_file())
    return {str(file.relative_to(index)): [file.stat().st_size, _checksum(file)] for file in files}


def _checksum(path: Path) -> int:
    value = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            value = zlib.crc32(block, value)
    return value


def _try(index: str, name: str) -> None:
    with extra("chroma"):
        import chromadb
        from chromadb.config import Settings

    from skr_store.connection import SILENT

    client: Any = chromadb.PersistentClient(index, Settings(**SILENT))
    collection = client.get_collection(name, embedding_function=None)
    ids = collection.get(include=[])["ids"]
    every = max(1, len(ids) // TRIED)
    for start in range(0, len(ids), PAGE):
        # Fails where the database has a reference whose vector the index has not.
        rows = collection.get(ids=ids[start : start + PAGE], include=["embeddings"])
        if some := list(rows["embeddings"])[::every]:
            collection.query(query_embeddings=some, n_results=min(10, len(ids)))


if __name__ == "__main__":
    _try(sys.argv[1], sys.argv[2])
