"""A router's folder names its embedder and can build it; other parts are refused in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from skr_core import HashingEmbedder, SentenceTransformerEmbedder, load_router, names_of
from skr_core.errors import DataError, InputError, StampMismatch
from skr_core.routers.saving import ROUTER_FILE
from skr_core.types import Stamp
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


def edited(folder: Path, **stamp: str) -> None:
    file = folder / ROUTER_FILE
    row = orjson.loads(file.read_bytes())
    row["stamp"] |= stamp
    file.write_bytes(orjson.dumps(row))


def test_hashing_is_built_again(tmp_path: Path):
    KNNRouter.fit(records(6)).save(tmp_path)
    row = orjson.loads((tmp_path / ROUTER_FILE).read_bytes())
    assert row["stamp"]["embedder"] == "hashing-1024-v1"
    assert row["stamp"]["embedder_form"] == "ngrams-17-v1"
    assert load_router(tmp_path).decide(firm("Omega")).retrieve


def test_another_version_of_the_sparse_form_is_refused(tmp_path: Path):
    KNNRouter.fit(records(6)).save(tmp_path)
    edited(tmp_path, embedder_form="ngrams-17-v0")
    with pytest.raises(StampMismatch, match="ngrams-17-v0") as caught:
        load_router(tmp_path)
    assert "\n" not in str(caught.value)
    assert load_router(tmp_path, force=True).decide(firm("Omega")).retrieve


def test_a_sentence_transformers_model_is_built_from_its_source(tmp_path: Path):
    KNNRouter.fit(records(6), embedder=Own()).save(tmp_path)
    edited(tmp_path, embedder="sentence-transformers:mini", embedder_source=str(tmp_path / "mini"))
    router = load_router(tmp_path)
    assert isinstance(router.embedder, SentenceTransformerEmbedder)
    assert router.embedder.source == str(tmp_path / "mini")


def test_the_users_own_has_to_be_given(tmp_path: Path):
    KNNRouter.fit(records(6), embedder=Own()).save(tmp_path)
    with pytest.raises(InputError, match="give embedder=") as caught:
        load_router(tmp_path)
    assert "\n" not in str(caught.value)
    assert load_router(tmp_path, embedder=Own()).decide(firm("Omega")).retrieve
    with pytest.raises(StampMismatch, match="'own', not 'hashing-1024-v1'"):
        load_router(tmp_path, embedder=HashingEmbedder())


def test_the_old_format_is_refused_in_one_line(tmp_path: Path):
    KNNRouter.fit(records(6)).save(tmp_path)
    file = tmp_path / ROUTER_FILE
    file.write_bytes(file.read_bytes().replace(b'"version": 2', b'"version": 1'))
    with pytest.raises(DataError, match=r"format 1 .* skr calibrate") as caught:
        load_router(tmp_path)
    assert "\n" not in str(caught.value)


def test_retrieving_is_the_best_retrieving_action_of_the_records():
    assert KNNRouter.fit(records(6)).decide(firm("Omega")).max_rounds == 1
    assert Stamp() == Stamp()


def test_every_entry_names_a_class_of_its_kind():
    assert {entry.kind for entry in ROUTERS.values()} <= set(names_of("routers"))
    for entry in ROUTERS.values():
        assert entry.load_class().kind == entry.kind
    assert set(FITTED) | set(ASKING) | {"encoder", "ladder", "always", "never"} == set(ROUTERS)
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
        "import sys, skr_core.routers, skr_learn.routers.combined, skr_learn.routers.knn, "
        "skr_learn.calibration.calibrating, skr_learn.calibration.replaying\n"
        "print([m for m in ('sklearn', 'scipy.optimize', 'scipy.sparse', 'matplotlib', 'torch') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
