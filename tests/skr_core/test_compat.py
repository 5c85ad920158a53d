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


class Tool:
    """Whatever of a user's holds a client."""

    def __init__(self, client: object) -> None:
        self.search = [lambda query: client]


@pytest.mark.parametrize("kind", ["Client", "AsyncClient"])
def test_httpx_keeps_its_connections_in_pools_that_are_found_and_emptied(kind: str) -> None:
    httpx = pytest.importorskip("httpx")
    client = getattr(httpx, kind)(mounts={"http://": None})
    [pool] = _compat.pools_within(Tool(client))
    said = version("httpcore")
    for name in ("_connections", "_requests", "_optional_thread_lock"):
        assert name in vars(pool), said
    pool._connections, before = [object()], pool._optional_thread_lock
    _compat.forget_connections(pool)
    assert (pool._connections, pool._requests) == ([], []), said
    assert pool._optional_thread_lock is not before


def test_a_container_of_much_is_not_searched() -> None:
    httpx = pytest.importorskip("httpx")
    few, many = [httpx.Client()] * 2, [httpx.Client()] * (_compat.LARGEST_PART + 1)
    assert len([*_compat.pools_within([few])]) == 1
    assert [*_compat.pools_within([many])] == []
