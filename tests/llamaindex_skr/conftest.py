"""The fixture of this folder's tests for LlamaIndex's global settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from llama_index.core import Settings
from llama_index.core.llms import LLM, MockLLM


@pytest.fixture
def use_default() -> Iterator[Callable[[LLM], None]]:
    """Sets ``Settings.llm``; afterwards it is a mock."""

    def use(llm: LLM) -> None:
        Settings.llm = llm

    yield use
    Settings.llm = MockLLM()
