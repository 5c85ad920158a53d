"""The served graph: what the environment says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skr_app import langgraph_dev, models
from skr_core.errors import InputError
from skr_store import Store


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """What the graph would be made of."""
    calls: list[tuple[object, ...]] = []

    def note(what: str, result: object) -> Any:
        return lambda *given: calls.append((what, *given)) or result

    store = Store.ephemeral()
    monkeypatch.setattr(langgraph_dev, "open_store", note("store", store))
    monkeypatch.setattr(langgraph_dev, "country_store", note("demo", store))
    extractive = models.make_model("extractive")
    made = note("model", extractive)
    monkeypatch.setattr(models, "make_model", lambda name, url, _: made(name, url))
    for name in ("STORE", "MODEL", "BASE_URL", "EMBEDDER", "SEARCH"):
        monkeypatch.delenv(f"SKR_{name}", raising=False)
    return calls


def build() -> None:
    langgraph_dev._build.__wrapped__()


def test_the_environment_is_read(
    opened: list[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SKR_MODEL", "qwen3:8b")
    monkeypatch.setenv("SKR_BASE_URL", "http://localhost:11434/v1")
    monkeypatch.setenv("SKR_STORE", str(tmp_path))
    monkeypatch.setenv("SKR_SEARCH", "dense")
    build()
    assert opened == [
        ("store", str(tmp_path), None, "dense"),
        ("model", "qwen3:8b", "http://localhost:11434/v1"),
    ]


def test_what_is_empty_counts_as_unset(
    opened: list[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("STORE", "MODEL", "BASE_URL", "EMBEDDER", "SEARCH"):
        monkeypatch.setenv(f"SKR_{name}", "")
    build()
    assert opened == [("demo",), ("model", "extractive", None)]


def test_an_unknown_search_is_refused(
    opened: list[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKR_STORE", "somewhere")
    monkeypatch.setenv("SKR_SEARCH", "fuzzy")
    with pytest.raises(InputError, match="hybrid, dense, bm25"):
        build()
