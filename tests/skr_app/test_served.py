"""The served graph: what the environment says."""

from __future__ import annotations

from pathlib import Path

import pytest

from skr_app import served
from skr_app.options import SearchMode
from skr_core.errors import InputError
from skr_store.chroma_store import ChromaStore


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """What the graph would be made of."""
    calls: list[tuple[object, ...]] = []

    def note(what: str, result: object) -> object:
        return lambda *given: calls.append((what, *given)) or result

    store = ChromaStore.ephemeral()
    monkeypatch.setattr(served, "open_store", note("store", store))
    monkeypatch.setattr(served, "demo_store", note("demo", store))
    make_model = served.make_model
    extractive = make_model("extractive", None)
    monkeypatch.setattr(served, "make_model", note("model", extractive))
    for name in ("STORE", "MODEL", "BASE_URL", "EMBEDDER", "SEARCH"):
        monkeypatch.delenv(f"SKR_{name}", raising=False)
    return calls


def build() -> None:
    served._build.__wrapped__()


def test_the_environment_is_read(
    opened: list[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SKR_MODEL", "qwen3:8b")
    monkeypatch.setenv("SKR_BASE_URL", "http://localhost:11434/v1")
    monkeypatch.setenv("SKR_STORE", str(tmp_path))
    monkeypatch.setenv("SKR_SEARCH", "dense")
    build()
    assert opened == [
        ("model", "qwen3:8b", "http://localhost:11434/v1"),
        ("store", str(tmp_path), None, SearchMode.dense),
    ]


def test_what_is_empty_counts_as_unset(
    opened: list[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("STORE", "MODEL", "BASE_URL", "EMBEDDER", "SEARCH"):
        monkeypatch.setenv(f"SKR_{name}", "")
    build()
    assert opened == [("model", "extractive", None), ("demo",)]


def test_an_unknown_search_is_refused(
    opened: list[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKR_STORE", "somewhere")
    monkeypatch.setenv("SKR_SEARCH", "fuzzy")
    with pytest.raises(InputError, match="hybrid, dense, bm25"):
        build()
