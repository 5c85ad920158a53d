"""Canaries: what is known of other libraries' insides still holds, as of tiktoken 0.14."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from pathlib import Path

import pytest

from skr_core import _compat
from skr_core.budget import count_tokens

ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The one folder that is looked into."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(_compat, "find_spec", lambda _: None)
    return tmp_path


def test_tiktoken_names_its_data_by_the_hash_of_its_address() -> None:
    source = pytest.importorskip("tiktoken_ext.openai_public").__file__
    assert ADDRESS in Path(source).read_text(encoding="utf-8"), version("tiktoken")
    assert hashlib.sha1(ADDRESS.encode()).hexdigest() == _compat.O200K_BASE


def test_llama_index_brings_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llama_index.core")
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    assert _compat.folder_of_encodings() is not None, version("llama-index-core")


def test_a_folder_of_one_s_own_comes_first(only: Path) -> None:
    (only / _compat.O200K_BASE).touch()
    assert _compat.folder_of_encodings() == only


def test_without_data_nothing_is_found_and_tokens_are_estimated(only: Path) -> None:
    from skr_core import budget

    budget._encoder.cache_clear()
    assert _compat.folder_of_encodings() is None
    assert count_tokens("Paris").estimated
    budget._encoder.cache_clear()
