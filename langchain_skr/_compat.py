"""The one module that relies on how LangChain works inside: langchain 1.x's `init_chat_model`.

`tests/langchain_skr/test_naming.py` fails where another version works otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def default_model(model: object) -> tuple[object | None, Mapping[str, Any]]:
    """Return what ``init_chat_model`` with configurable fields makes by default, and of what.

    Returns:
        The model, None where it cannot be made yet, as without a key; and its settings, empty
        where the model is none of these.
    """
    settings: Mapping[str, Any] = getattr(model, "__dict__", {}).get("_default_config") or {}
    if not settings:
        return None, {}
    try:
        return model._model(), settings  # type: ignore[attr-defined]
    except Exception:  # whatever a provider's client says of a missing key or package
        return None, settings
