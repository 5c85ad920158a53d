"""What tests of every layer share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Tests run side by side; threads of linear algebra and of torch would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from skr_learn import trees
from tests.servers import reserved_port


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of recorded data; its absence skips the test that asks for it."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("SKR_DATA") or beside)
    if not folder.is_dir():
        pytest.skip(f"no recorded data in {folder}; set SKR_DATA to their folder")
    return folder


# On a shared machine the time that an example takes says nothing, and a change is tried on the same
# examples wherever it is tried.
settings.register_profile(
    "shared", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("shared")


@pytest.fixture
def port() -> Iterator[int]:
    """Of a server that the test starts, or of none."""
    with reserved_port() as port:
        yield port


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let OpenAI's clients wait a hundredth of what they do before they ask again."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.005)


@pytest.fixture(scope="module")
def few_trees() -> Iterator[None]:
    """Few trees, where many would only take time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "TREES", 10)
        yield
