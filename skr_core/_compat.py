"""What other libraries offer no public way to; `tests/skr_core/test_compat.py` watches it."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

# tiktoken names the file of an encoding by the SHA-1 of its address (tiktoken 0.14, load.py).
O200K_BASE = "fb374d419588a4632f3f557e76b4b70aebbca790"


def folder_of_encodings() -> Path | None:
    """Return the first folder that already holds tiktoken's data; looking never downloads.

    Beside the folder that ``TIKTOKEN_CACHE_DIR`` names, it is the copy inside llama-index-core.
    """
    folder = os.environ.get("TIKTOKEN_CACHE_DIR")
    candidates = [Path(folder)] if folder else []
    package = find_spec("llama_index")
    for root in (package.submodule_search_locations or []) if package else []:
        candidates.append(Path(root) / "core" / "_static" / "tiktoken_cache")
    return next((each for each in candidates if (each / O200K_BASE).is_file()), None)
