"""A router's file names its embedder and can build it; other parts are refused in one line."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from skr_core import HashingEmbedder, SentenceTransformerEmbedder, load_router, names_of
from skr_core.errors import InputError, StampMismatch
from skr_core.routers.saving import SavedRouter
from skr_learn.routers import KNNRouter
from skr_learn.routers.registry import ASKING, FITTED, ROUTERS, entry_of, titles
from tests.skr_learn.routers.facts import firm, records

ROOT = Path(__file__).resolve().parents[3]


class Own:
    """An embedder that only the user can make."""

    name = "own"

    def embed(self, texts):
        return HashingEmbedder().embed(texts)

    async def aembed(self, texts):
        return self.embed(texts)


def edited(path: Path, **embedder: str) -> None:
    saved = SavedRouter.read(path)
    replace(saved, embedder={**saved.embedder, **embedder}).write(path)


def test_hashing_is_built_again(tmp_path: Path):
    KNNRouter.fit(records(6)).save(tmp_path / "router")
    saved = SavedRouter.read(tmp_path / "router")
    assert saved.embedder == {"name": "hashing-1024-v1"}
    assert load_router(tmp_path / "router").decide(firm("Omega")).retrieve


def test_a_sentence_transformers_model_is_built_from_its_source(tmp_path: Path):
    KNNRouter.fit(records(6), embedder=Own()).save(tmp_path / "router")
    edited(tmp_path / "router", name="sentence-transformers:mini", source=str(tmp_path / "mini"))
    router = load_router(tmp_path / "router")
    assert isinstance(router.embedder, SentenceTransformerEmbedder)
    assert router.embedder.source == str(tmp_path / "mini")


def test_the_users_own_has_to_be_given(tmp_path: Path):
    KNNRouter.fit(records(6), embedder=Own()).save(tmp_path / "router")
    with pytest.raises(InputError, match="give embedder=") as caught:
        load_router(tmp_path / "router")
    assert "\n" not in str(caught.value)
    assert load_router(tmp_path / "router", embedder=Own()).decide(firm("Omega")).retrieve
    with pytest.raises(StampMismatch, match="'own', not 'hashing-1024-v1'"):
        load_router(tmp_path / "router", embedder=HashingEmbedder())


def test_every_entry_names_a_class_of_its_kind():
    assert {entry.kind for entry in ROUTERS.values()} <= set(names_of("routers"))
    for entry in ROUTERS.values():
        assert entry.load_class().kind == entry.kind
    assert set(FITTED) | set(ASKING) | {"encoder", "always", "never"} == set(ROUTERS)
    with pytest.raises(InputError, match="no router 'paper:x'"):
        entry_of("paper:x")


def test_the_page_and_the_help_name_every_router():
    page = (ROOT / "docs" / "routing.md").read_text(encoding="utf-8")
    for entry in ROUTERS.values():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{entry.title}` |"))
        assert entry.load_class().__name__ in row
        assert entry.looks_at in row
        assert f"| {entry.calls} |" in row
    shown = subprocess.run(
        [sys.executable, "-m", "skr_app.main", "calibrate", "--help"],
        capture_output=True, text=True, check=True, cwd=ROOT, env={"COLUMNS": "300", "PATH": "",
                                                               "PYTHONPATH": ":".join(sys.path)},
    ).stdout  # fmt: skip
    words = " ".join(shown.replace("│", " ").split())
    for title in titles().split(", "):
        assert title in words


def test_importing_routers_loads_nothing_heavy():
    code = (
        "import sys, skr_core.routers, skr_learn.routers.knn, skr_learn.routers.classifier, "
        "skr_learn.routers.encoder, skr_learn.routers.in_context\n"
        "print([m for m in ('sklearn', 'scipy.optimize', 'scipy.sparse', 'matplotlib', 'torch') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
